package compile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// routed is a chain with a router that takes routes from two objects of a store.
func routed(t *testing.T, functions string) *v1alpha1.ServiceChain {
	t.Helper()
	object := func(name string) string {
		return fmt.Sprintf("store: {url: http://127.0.0.1:9/%s, sha256: %s}", name, strings.Repeat("0a", 32))
	}
	bundle, found := manifest.Parse("x.yaml", []byte(`apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: isp, namespace: nfv}
spec:
  interfaces:
  - {name: a, address: 10.0.0.1/24}
  - {name: b, address: 10.1.0.1/24}
  functions:
  - name: rt
    router:
      routes: [{prefix: 0.0.0.0/0, port: outside, via: 10.1.0.9}`+functions+`]
      routesFrom:
      - {`+object("one")+`, port: outside, via: 10.1.0.2}
      - {`+object("two")+`, port: inside, via: 10.0.0.2}
  path: [a, rt, b]
`), os.ReadFile)
	for _, f := range found { // the tests say what the objects have
		if !strings.HasSuffix(f.Field, ".store") {
			t.Fatal(f)
		}
	}
	return bundle.Chains[0]
}

func TestAStoresTextIsATableOfTheProgram(t *testing.T) {
	texts := map[string]string{"one": "100.64.0.0/10\n", "two": "198.18.0.0/15\n"}
	stored := func(o *v1alpha1.StoreObject) ([]byte, error) {
		name := o.URL[strings.LastIndex(o.URL, "/")+1:]
		if text, ok := texts[name]; ok {
			return []byte(text), nil
		}
		return nil, finding.Missing("the store answers 404 Not Found")
	}
	chain := routed(t, "")
	got := compile.Chain(chain, compile.Inputs{Stored: stored})
	if got.Program == nil || got.Program.TableMemoryMiB != 256 || got.Again || !strings.Contains(got.Message, "; tables of routes from stores: 1") {
		t.Fatalf("outcome %+v; want a program with a table", got)
	}
	unpacked, err := delivery.Unpack(&v1alpha1.ChainProgram{Spec: v1alpha1.ChainProgramSpec{
		Chain: "isp", Hash: got.Program.Hash, Schema: 2, Encoding: v1alpha1.EncodingGzip, Program: got.Program.Packed,
	}})
	if err != nil || len(unpacked.GetFibs()) != 1 || len(unpacked.GetFibs()[0].GetSource().GetTexts()) != 2 {
		t.Errorf("the program has tables %v (%v), want one of two texts", unpacked.GetFibs(), err)
	}

	delete(texts, "two")
	got = compile.Chain(chain, compile.Inputs{Stored: stored})
	want := `spec.functions[0].router.routesFrom[1].store: "http://127.0.0.1:9/two": the store answers 404 Not Found`
	if got.Program != nil || !got.Again || got.Reason != v1alpha1.ReasonInvalid || !strings.Contains(got.Message, want) {
		t.Errorf("outcome %+v; want no program, to be tried again: %s", got, want)
	}
	texts["two"] = "198.18.0.0/15\nabc\n"
	got = compile.Chain(chain, compile.Inputs{Stored: stored})
	want = `http://127.0.0.1:9/two:2: `
	if got.Program != nil || got.Again || !strings.Contains(got.Message, want) {
		t.Errorf("outcome %+v; want no program, for good: %s", got, want)
	}
	got = compile.Chain(chain, compile.Inputs{Stored: func(*v1alpha1.StoreObject) ([]byte, error) { return nil, errors.New("no stores may be read") }})
	if got.Program != nil || got.Again || !strings.Contains(got.Message, "no stores may be read") {
		t.Errorf("outcome %+v; want no program, for good", got)
	}
}

// An agent takes 290 MB for the Internet's 14 MB, and 1,010 MB for 60 MB.
func TestAgentsGetMemoryInProportionToTexts(t *testing.T) {
	chain := routed(t, "")
	for bytes, want := range map[int]int32{1: 256, 16 << 20: 256, 16<<20 + 1: 512, 32 << 20: 512, 64 << 20: 1024} {
		got := compile.Chain(chain, compile.Inputs{StoredBytes: bytes, Stored: func(*v1alpha1.StoreObject) ([]byte, error) { return nil, nil }})
		if got.Program == nil || got.Program.TableMemoryMiB != want {
			t.Errorf("%d bytes: %+v, want %d MiB", bytes, got.Program, want)
		}
	}
}

// An engine that lacks memory for its routes would be killed, with all of its sessions.
func TestTablesThatTheEngineHasNoRoomForAreRefused(t *testing.T) {
	var hosts strings.Builder // each in a /24 of its own
	for i := range 100_000 {
		fmt.Fprintf(&hosts, "%d.%d.%d.7/32\n", 20+i/65536, i/256%256, i%256)
	}
	stored := func(*v1alpha1.StoreObject) ([]byte, error) { return []byte(hosts.String()), nil }
	chain := routed(t, "")
	for memory, want := range map[string]string{
		"256Mi": `spec.resources.memory: "256Mi": an engine needs up to 353 MiB, 201 for tables of routes; give it 384Mi, leave it out, or`,
		"320Mi": `spec.resources.memory: "320Mi": an engine needs`,
		"384Mi": "",
		"":      "",
	} {
		chain.Spec.Resources.Memory = resource.Quantity{}
		if memory != "" {
			chain.Spec.Resources.Memory = resource.MustParse(memory)
		}
		got := compile.Chain(chain, compile.Inputs{Stored: stored})
		if (got.Program != nil) != (want == "") || !strings.Contains(got.Message, want) {
			t.Errorf("with %q: %s; want %q", memory, got.Message, want)
		}
		if p := got.Program; p != nil && p.EngineMemoryMiB+p.CoreMemoryMiB != 353 {
			t.Errorf("with %q: an engine of one core needs %d MiB and %d, want 353 together", memory, p.EngineMemoryMiB, p.CoreMemoryMiB)
		}
	}
	hosts.Reset()
	for i := range 600_000 {
		fmt.Fprintf(&hosts, "%d.%d.%d.7/32\n", 20+i/65536, i/256%256, i%256)
	}
	chain.Spec.Resources.Memory = resource.MustParse("64Gi")
	if got := compile.Chain(chain, compile.Inputs{Stored: stored}); got.Program != nil || !strings.Contains(got.Message, "a table of routes takes 590 MiB in an engine, and may take 512") {
		t.Errorf("600,000 hosts far from each other: %s; want a refusal", got.Message)
	}
}

func TestARouterWithStoresHasFewNextHops(t *testing.T) {
	var more strings.Builder
	for i := range 128 {
		fmt.Fprintf(&more, ", {prefix: 172.16.%d.0/24, port: outside, via: 10.1.0.3}", i)
	}
	got := compile.Chain(routed(t, more.String()), compile.Inputs{Stored: func(*v1alpha1.StoreObject) ([]byte, error) { return nil, nil }})
	want := "spec.functions[0].router.routesFrom: the router has 129 routes, 2 texts and 0 ports; where a text comes from a store, have at most 128 of these together"
	if !strings.Contains(got.Message, want) {
		t.Errorf("it says %s, want %s", got.Message, want)
	}
}

// Whatever changes in the texts: a session makes the same of them as who reads them for the first time.
func TestASessionMakesTheSameProgram(t *testing.T) {
	r, session := rand.New(rand.NewPCG(1, 2)), &compile.Session{}
	texts := map[string][]string{}
	for name, from := range map[string]int{"one": 0, "two": 1000} {
		for i := range 5000 {
			texts[name] = append(texts[name], fmt.Sprintf("100.%d.%d.0/24\n", 64+(from+i)/256, (from+i)%256))
		}
	}
	stored := func(o *v1alpha1.StoreObject) ([]byte, error) {
		return []byte(strings.Join(texts[o.URL[strings.LastIndex(o.URL, "/")+1:]], "")), nil
	}
	chain := routed(t, "")
	known := map[string]bool{}
	for range 12 {
		got, want := compile.Chain(chain, compile.Inputs{Stored: stored, Session: session}), compile.Chain(chain, compile.Inputs{Stored: stored})
		if fmt.Sprint(got.Findings) != fmt.Sprint(want.Findings) || (got.Program == nil) != (want.Program == nil) {
			t.Fatalf("the session says %v, want %v", got.Findings, want.Findings)
		}
		if want.Program != nil {
			if !bytes.Equal(got.Program.Packed, want.Program.Packed) {
				t.Fatalf("the session makes %s, want %s", got.Program.Hash, want.Program.Hash)
			}
			known[want.Program.Hash] = true
		}
		lines := texts[[]string{"one", "two"}[r.IntN(2)]]
		lines[r.IntN(len(lines))] = []string{"wrong\n", "", fmt.Sprintf("100.%d.0.0/16\n", 64+r.IntN(64)), fmt.Sprintf("198.18.%d.0/24\n", r.IntN(256))}[r.IntN(4)]
		for _, l := range texts {
			for i := range l {
				if l[i] == "wrong\n" && r.IntN(2) == 0 {
					l[i] = ""
				}
			}
		}
	}
	if len(known) < 5 {
		t.Errorf("%d versions made other programs, want 5 at least", len(known))
	}
}
