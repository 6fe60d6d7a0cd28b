package compiler_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

func TestSamplesCompileToAValidProgramTwiceTheSame(t *testing.T) {
	paths, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, path := range paths {
		bundle, found := manifest.Load(path)
		if found.HasErrors() {
			t.Fatal(found)
		}
		for _, chain := range bundle.Chains {
			sources := compiler.Sources{Chain: chain, Functions: bundle.Functions, Files: bundle.Files}
			one, found, err := compiler.Compile(sources)
			if err != nil || found.HasErrors() {
				t.Fatalf("%s: %v: %v", path, found, err)
			}
			if _, err := program.Decode(one.Encoded); err != nil || one.Hash != program.Hash(one.Encoded) {
				t.Errorf("%s: the program of %s with hash %s is refused: %v", path, chain.Name, one.Hash, err)
			}
			if other, _, err := compiler.Compile(sources); err != nil || other.Hash != one.Hash {
				t.Errorf("%s: %s compiles to another program the second time: %v", path, chain.Name, err)
			}
		}
	}
}

// parse reads a chain with one firewall.
func parse(t *testing.T, firewall string) compiler.Sources {
	t.Helper()
	bundle, found := manifest.Parse("x.yaml", []byte(`apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: guarded}
spec:
  interfaces:
  - {name: a, address: 10.0.0.1/24}
  - {name: b, address: 10.1.0.1/24}
  functions:
  - name: fw
    firewall: `+firewall+`
  path: [a, fw, b]
`), os.ReadFile)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return compiler.Sources{Chain: bundle.Chains[0], Functions: bundle.Functions, Files: bundle.Files}
}

func TestAWrongSourceIsAFindingAndAnError(t *testing.T) {
	sources := parse(t, "{rules: [{action: Accept}]}")
	sources.Chain.Spec.Path[1] = "fv"
	p, found, err := compiler.Compile(sources)
	if p != nil || !found.HasErrors() || err == nil || !strings.Contains(err.Error(), `spec.path[1]: "fv"`) {
		t.Errorf("program %v, findings %v, error %v; want no program, and both to name spec.path[1]", p, found, err)
	}
}

func TestWhatSynthesisWarnsOfIsAFindingAboutTheChain(t *testing.T) {
	p, found, err := compiler.Compile(parse(t, "{rules: [{name: all, action: Accept}, {name: some, action: Drop, protocol: tcp}]}"))
	if p == nil || err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Warnings() {
		if f.Object == (finding.Object{Kind: "ServiceChain", Name: "guarded"}) && strings.Contains(f.Message, "some") {
			return
		}
	}
	t.Errorf("findings %v, want a warning that rule some never decides", found)
}
