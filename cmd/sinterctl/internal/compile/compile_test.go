package compile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/fib"
)

const chainOfFiles = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: isp}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/8}
  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
  - name: fw
    firewall:
      rules: [{name: staff, from: Inside, source: [10.0.0.0/8], action: Accept}]
      rulesFrom: {file: acl, format: ClassBench, actions: OddAcceptEvenDrop}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}], routesFrom: [{file: routes, port: inside}]}}
  - {name: nat, napt: {pool: [203.0.113.64/28]}}
  path: [inside, fw, rt, nat, outside]
`

// Whatever is changed in the files, in which order, right or wrong: a session says and makes the same of them as who reads them for the first time.
func TestASessionCompilesFilesAsIfTheyWereNew(t *testing.T) {
	t.Run("routes in lists", func(t *testing.T) { compileAgain(t, 2000, Files) })
	t.Run("routes in a table", func(t *testing.T) {
		compileAgain(t, 6000, func(in Input) (*Chain, error) { return new(Session).Files(in) })
	})
}

func compileAgain(t *testing.T, routes int, compile func(Input) (*Chain, error)) {
	t.Helper()
	acl, err := os.ReadFile("../../../../test/data/classbench/acl1_251")
	if err != nil {
		t.Fatal(err)
	}
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	texts := map[string][]string{"acl": strings.SplitAfter(string(acl), "\n"), "chain.yaml": {chainOfFiles}}
	for i := range routes {
		texts["routes"] = append(texts["routes"], fmt.Sprintf("10.%d.%d.0/24\n", 1+i/256, i%256))
	}
	in := Input{Paths: []string{filepath.Join(dir, "chain.yaml")}}
	var s Session
	refused, tables := 0, map[fib.Hash]bool{}
	for range 24 {
		for name, lines := range texts {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, failed := s.Files(in)
		want, err := compile(in)
		if fmt.Sprint(failed) != fmt.Sprint(err) {
			t.Fatalf("the session says: %v; want: %v", failed, err)
		}
		if err != nil {
			refused++
		} else if !bytes.Equal(got.Encoded, want.Encoded) || !slices.Equal(got.Findings, want.Findings) || !slices.Equal(got.Files, want.Files) {
			t.Fatalf("the session makes program %s of %v with warnings %q, want %s of %v with %q", got.Hash, got.Files, got.Findings, want.Hash, want.Files, want.Findings)
		}
		if err == nil && len(want.Result.Tables) > 0 {
			tables[want.Result.Tables[0].Hash()] = true
		}
		changeLine(r, texts)
	}
	if inTable := len(tables) > 0; inTable != (routes > 4000) {
		t.Errorf("routes are in a table: %v", inTable)
	}
	if refused == 0 || refused > 18 {
		t.Errorf("%d of 24 versions were refused: want some of each", refused)
	}
}

// changeLine changes a line of the rules or routes; seldom to something wrong, or to one more or less. What is wrong is right the next time.
func changeLine(r *rand.Rand, texts map[string][]string) {
	for name, lines := range texts {
		texts[name] = slices.DeleteFunc(lines, func(line string) bool { return line == "wrong\n" })
	}
	name := []string{"acl", "acl", "routes"}[r.IntN(3)]
	lines := texts[name]
	at := r.IntN(len(lines))
	switch other := lines[r.IntN(len(lines))]; r.IntN(8) {
	case 0:
		lines = slices.Insert(lines, at, "wrong\n")
	case 1:
		lines = slices.Delete(lines, at, at+1)
	case 2:
		lines = slices.Insert(lines, at, other)
	default:
		lines[at] = other
	}
	texts[name] = lines
}
