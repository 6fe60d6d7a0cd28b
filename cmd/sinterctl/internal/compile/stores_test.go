package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/agenttest"
)

// With routes of stores `synth`, `run` and the operator make one program, which names its table.
func TestRoutesOfAStoreAreATableForAllCommands(t *testing.T) {
	store := agenttest.NewStore(t)
	text := fmt.Sprintf(`apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: isp}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/8}
  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
  - {name: rt, router: {routesFrom: [{%s, port: inside}, {%s, port: outside}]}}
  path: [inside, rt, outside]
`, store.Put("a", []byte("10.1.0.0/16\n")), store.Put("b", []byte("198.18.0.0/15\n")))
	path := filepath.Join(t.TempDir(), "chain.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := Input{Paths: []string{path}}
	if _, err := Files(in); err == nil || !strings.Contains(err.Error(), "no stores may be read; name them by --store") || store.Asked.Load() > 0 {
		t.Errorf("without leave it says %v after %d requests", err, store.Asked.Load())
	}
	in.Stores = []string{store.URL + "/"}
	synth, err := Files(in)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(synth.Result.Tables); n != 1 || len(synth.Result.Program.GetFibs()[0].GetSource().GetTexts()) != 2 {
		t.Errorf("the program has %d tables: %v; want one of two texts", n, synth.Result.Program.GetFibs())
	}
	var s Session
	for range 2 {
		run, err := s.Files(in)
		if err != nil {
			t.Fatal(err)
		}
		if run.Hash != synth.Hash {
			t.Errorf("a session makes program %s, want %s", run.Hash, synth.Hash)
		}
	}
	if n := store.Asked.Load(); n != 4 {
		t.Errorf("the store was asked %d times, want twice for each text: what a session has read it does not read again", n)
	}
	store.Remove("b")
	if _, err := Files(in); err == nil {
		t.Error("a text that is not there is not missed")
	} else {
		want := path + ":9: spec.functions[0].router.routesFrom[1].store: "
		if got := err.Error(); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("it says %s, want %s…", got, want)
		}
	}
}
