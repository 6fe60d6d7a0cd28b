package main

import (
	"os"
	"strings"
	"testing"
)

// faults are two chains that have a function in common, which has a fault, and one that is valid.
const faults = `apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: guard, namespace: lab}
spec:
  firewall:
    rules:
    - {name: web, source: [10.0.0.5/24], protocol: tcp, destinationPorts: ["90-80"], action: Accept}
---
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: first, namespace: lab}
spec:
  interfaces: &interfaces
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24}
  functions: [{name: fw, functionRef: {name: guard}}]
  path: [inside, fv, outside]
---
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: second, namespace: lab}
spec:
  interfaces: *interfaces
  functions: [{name: fw, functionRef: {name: guard}}]
  path: [inside, fw, outside]
---
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: third, namespace: lab}
spec:
  interfaces: *interfaces
  functions:
  - name: fw
    firewall:
      rules:
      - {name: everyone, source: [10.0.0.0/8], action: Accept}
      - {name: guests, source: [10.9.0.0/16], action: Drop}
  path: [inside, fw, outside]
`

// The JSON is an interface: a change of this file breaks the scripts of users.
func TestFindingsForScripts(t *testing.T) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("chain.yaml", []byte(faults), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := sinterctl(t, "validate", "chain.yaml", "-o", "json")
	if err == nil || err.Error() != "2 errors found" || stderr != "" {
		t.Errorf("it fails with %v, and has the words %q on standard error", err, stderr)
	}
	text, _, failed := sinterctl(t, "validate", "chain.yaml")
	if n := strings.Count(stdout, `"severity": "error"`); failed == nil || n != strings.Count(failed.Error(), "\n")+1 {
		t.Errorf("%d errors are listed; as text they are\n%v", n, failed)
	}
	if want := "chain third is valid: "; !strings.HasPrefix(text, want) {
		t.Errorf("as text it is %q, want %q…", text, want)
	}
	t.Chdir(folder)
	golden(t, "faults.json", stdout)
}

// An error of the files as a whole is a finding, too.
func TestErrorsWithoutAPlaceAreFindings(t *testing.T) {
	for want, args := range map[string][]string{
		`"message": "chain \"none\" is not in the files given; known: office"`: {office, "--chain", "none"},
		`"file": "testdata/none.yaml",`:                                        {"testdata/none.yaml"},
	} {
		stdout, _, err := sinterctl(t, append([]string{"validate", "-o", "json"}, args...)...)
		if err == nil || !strings.Contains(stdout, want) || !strings.Contains(stdout, `"chains": [],`) {
			t.Errorf("%v: it prints %s, and fails with %v; want %s", args, stdout, err, want)
		}
	}
}

// hungry is a chain whose sessions take more memory than it gives its engines.
const hungry = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: hungry}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24}
  functions:
  - name: nat
    napt: {pool: [203.0.113.10], maxSessions: 1000000}
  path: [inside, nat, outside]
  resources:
    memory: 128Mi
`

// A cluster refuses it. One machine that runs it has the memory that it has.
func TestWhatAClusterWouldRefuseIsFound(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("chain.yaml", []byte(hungry), 0o600); err != nil {
		t.Fatal(err)
	}
	want := `chain.yaml:13: spec.resources.memory: "128Mi": an engine needs up to `
	if stdout, _, err := sinterctl(t, "validate", "chain.yaml"); err == nil || !strings.HasPrefix(err.Error(), want) || stdout != "" {
		t.Errorf("it prints %q and fails with %v, want %s…", stdout, err, want)
	}
	if _, _, err := sinterctl(t, "synth", "chain.yaml"); err != nil {
		t.Errorf("the chain is not synthesized: %v", err)
	}
}
