package router

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/tables"
	"github.com/sinter-nfv/sinter/test/agenttest"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
)

const (
	rejects    = "  - {name: fw, firewall: {rules: [{protocol: udp, action: Accept}, {protocol: icmp, action: Accept}], default: Reject}}\n"
	translates = "  - {name: nat, napt: {pool: [198.51.100.16]}}\n"
)

// storedChains take routes from two texts. What is told of them elsewhere depends on routes: rejections find their way back by the router's, and
// interfaces of two realms know by them whose an address is.
var storedChains = map[string]struct{ functions, path string }{
	"a router":                       {"", "inside, rt, outside"},
	"behind a firewall that rejects": {rejects, "inside, fw, rt, outside"},
	"between a firewall and a NAPT":  {rejects + translates, "inside, fw, rt, nat, outside"},
}

func storedChain(functions, path, west, east string) string {
	return `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: stored}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.2/24}
  functions:
` + functions + `  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside, via: 198.51.100.1, bySource: [{from: [10.0.0.128/25, 10.3.0.0/16], port: outside, via: 198.51.100.4}]}
      - {prefix: 10.9.0.0/16, type: Discard, bySource: [{from: [10.0.0.64/26, 192.0.2.0/24], port: inside, via: 10.0.0.7}]}
      routesFrom:
      - {port: inside, via: 10.0.0.9, ` + west + `}
      - {port: outside, via: 198.51.100.3, ` + east + `}
  path: [` + path + "]\n"
}

// TestRoutesOfStoresDecideAsThoseOfFiles has the oracle follow lists of routes, and the engine the tables that the cluster makes of them.
func TestRoutesOfStoresDecideAsThoseOfFiles(t *testing.T) {
	rig.NeedHarness(t)
	var west, east bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&west, "10.%d.%d.0/24\n", 1+i/16, i%16*16)
		fmt.Fprintf(&east, "10.%d.%d.128/25\n", 1+i/16, i%16*16)
	}
	store := agenttest.NewStore(t)
	for name, c := range storedChains {
		t.Run(name, func(t *testing.T) {
			text := storedChain(c.functions, c.path, store.Put("west", west.Bytes()), store.Put("east", east.Bytes()))
			b, found := manifest.Options{Stores: &stores.Stores{}}.Parse("chain.yaml", []byte(text), os.ReadFile)
			if err := found.Err(); err != nil {
				t.Fatal(err)
			}
			build := func(memory *tables.Memory) *graph.Graph {
				g, found := graph.Build(b.Chains[0], graph.Inputs{Files: b.Files, Tables: memory})
				if err := found.Err(); err != nil {
					t.Fatal(err)
				}
				draw.Adapt(g)
				return g
			}
			r, err := rig.NewFrom(build(nil), build(&tables.Memory{}))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Result.Tables) == 0 || r.Result.Program.GetFibs()[0].GetSource() == nil {
				t.Error("the program has no table")
			}
			rig.DriveInTurn(t, r, rig.Scale(60_000, 6_000))
		})
	}
}
