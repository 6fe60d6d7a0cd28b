package programs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestRoutesInTablesDecideAsThoseInLists runs random chains whose routes are in tables by content against the oracle, which has them in lists. Rules
// and routes change while flows run: the engine makes the new tables of the old ones, and each must have the hash that the compiler says.
func TestRoutesInTablesDecideAsThoseInLists(t *testing.T) {
	rig.NeedHarness(t)
	drawn := draw.Shapes
	drawn = append(slices.Clone(drawn), draw.Shape{Name: "networks"})
	for _, shape := range drawn {
		if shape.Exhausts {
			continue // which flows have ports is the engine's choice
		}
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			rig.Engines <- struct{}{}
			defer func() { <-rig.Engines }()
			swaps, tables := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				var g *graph.Graph
				if shape.Name == "networks" {
					g = draw.NewNetwork(rapid.Uint64Range(0, 1<<20).Draw(rt, "network")).Graph(t)
				} else {
					g = draw.Chain(rt, shape)
				}
				r, err := rig.NewInTables(g, true)
				if err != nil {
					rt.Fatal(err)
				}
				s := rig.Swapper{Rig: r, First: g, Loaded: g, Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
				if err := s.Drive(t.Context(), rig.Scale(8_000, 3_000)); err != nil {
					rt.Fatalf("after %d swaps: %v\n%s", s.Swaps, err, rig.Dump(r.Graph))
				}
				swaps, tables = swaps+s.Swaps, tables+len(r.Result.Tables)
			})
			t.Logf("%d swaps, %d tables", swaps, tables)
		})
	}
}

// twoHops is a table whose prefixes lead by turns to two next hops.
func twoHops(prefixes ...string) *fib.Table {
	var list []fib.Route
	for i, p := range prefixes {
		p := netip.MustParsePrefix(p)
		list = append(list, fib.Route{Addr: packets.Number(p.Addr()), Bits: uint8(p.Bits()), Origin: uint16(i % 2)})
	}
	return fib.NewRoutes([]uint16{1, 2}, list).Table()
}

// named is a program that drops all packets, and names a table.
func named(t *testing.T, table *fib.Table) (encoded []byte, hash string) {
	t.Helper()
	h := table.Hash()
	drop := &programpb.Leg{Outcome: &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: programpb.DropReason_DROP_LOCAL}}}}
	encoded, err := program.Encode(&programpb.Program{
		Schema: program.SchemaVersion, Chain: "named", LongestWay: 1, Fibs: []*programpb.Fib{{Hash: h[:], NextHops: 2}},
		Segments: []*programpb.Segment{{
			Name: "in", Fib: 1, Classes: []*programpb.Class{{Legs: []*programpb.Leg{drop}}}, Table: &programpb.Table{Classes: []uint32{0}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return encoded, program.Hash(encoded)
}

func TestAWrongChangeOfATableIsRefusedAndNothingChanges(t *testing.T) {
	rig.NeedHarness(t)
	h, err := rig.StartHarness(t.Context(), 1, rig.PartitionByHost, rig.ManyDecisions)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Kill()
	before, after := twoHops("10.0.0.0/8", "10.1.0.0/16"), twoHops("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24")
	encoded, hash := named(t, before)
	if _, err := h.LoadTables(t.Context(), encoded, hash, []*controlpb.FibChange{control.TableChange(nil, before)}); err != nil {
		t.Fatal(err)
	}
	stats, err := h.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	running := stats.GetHash()
	for says, spoil := range map[string]func(*controlpb.FibChange){
		"load: fibs[0]: the table is ": func(c *controlpb.FibChange) { c.Number[0] = 2 },
		"load: fibs[0]: from is table 00000000..., which the running program has not":      func(c *controlpb.FibChange) { c.From = make([]byte, 32) },
		"load: fibs[0]: from has 3 bytes, want 32 or none":                                 func(c *controlpb.FibChange) { c.From = make([]byte, 3) },
		"load: fibs[0]: hash has 0 bytes, want 32":                                         func(c *controlpb.FibChange) { c.Hash = nil },
		"load: fibs[0]: 1 first and 0 last addresses with 1 numbers, want as many of each": func(c *controlpb.FibChange) { c.Last = nil },
		"load: fibs[0]: range 0 is 0xa010300-0xa0102ff, want ascending, disjoint ranges":   func(c *controlpb.FibChange) { c.First[0] += 256 },
		"load: fibs[0]: range 0 has number 70000, want at most 65535":                      func(c *controlpb.FibChange) { c.Number[0] = 70000 },
		"fibs[0]: neither the running program nor what came with this one has the table ":  nil,
	} {
		encoded, hash := named(t, after)
		changes := []*controlpb.FibChange{control.TableChange(before, after)}
		if spoil == nil {
			changes = nil
		} else {
			spoil(changes[0])
		}
		_, err := h.LoadTables(t.Context(), encoded, hash, changes)
		var refused *control.EngineError
		if !errors.As(err, &refused) || !strings.Contains(refused.Message, says) {
			t.Errorf("got %v, want %q", err, says)
		}
		stats, err := h.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(stats.GetHash(), running) {
			t.Fatalf("program %x runs, want %x as before", stats.GetHash(), running)
		}
	}
	// A refused change left the table as it was: the right change of it is taken.
	encoded, hash = named(t, after)
	if _, err := h.LoadTables(t.Context(), encoded, hash, []*controlpb.FibChange{control.TableChange(before, after)}); err != nil {
		t.Error(err)
	}
}
