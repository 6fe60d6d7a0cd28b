package dispatch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

var update = flag.Bool("update", false, "write golden files")

// able is a device that can do everything.
func able(rules int) Capabilities {
	c := Capabilities{
		Rules: rules, Priorities: 1 << 16, Untagged: true, DstMAC: true, Fragments: FragmentsTold,
		Drop: true, Count: true, Queue: true, MarkBits: 24, Queues: 8,
		RSS: RSSCapabilities{Key: true, Buckets: 128, Ports: true},
	}
	for f := range c.Fields {
		c.Fields[f] = Masked
	}
	return c
}

// row is a box of a test program: a destination port range, a source range, and what becomes of it.
type row struct {
	dport, src span
	drop       string // reason; empty: goes out, as class
	class      int
}

var (
	anyPort = span{0, 65536}
	anySrc  = span{0, ^uint32(0)}
)

// chain is a program of one interface with the rows in order; what none holds goes out.
func chain(rows ...row) *programpb.Program {
	rows = append(rows, row{dport: anyPort, src: anySrc})
	s := &programpb.Segment{Name: "in", WholeOnly: true, Table: &programpb.Table{Dims: []programpb.Field{programpb.Field_DPORT, programpb.Field_SRC}}}
	p := &programpb.Program{
		Schema: program.SchemaVersion, LongestWay: 4, Chain: "test", Segments: []*programpb.Segment{s},
		Interfaces: []*programpb.Interface{{Name: "in", Mtu: 1500}},
	}
	classes := map[string]uint32{}
	for _, r := range rows {
		name := fmt.Sprint(r.drop, r.class)
		if _, ok := classes[name]; !ok {
			classes[name] = uint32(len(s.Classes))
			leg := &programpb.Leg{Outcome: &programpb.Leg_Output{}}
			if r.drop != "" {
				leg.Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Chain{Chain: uint32(len(p.Reasons))}}}
				p.Reasons = append(p.Reasons, r.drop)
			}
			s.Classes = append(s.Classes, &programpb.Class{Legs: []*programpb.Leg{leg}})
		}
		s.Table.Bounds = append(s.Table.Bounds, r.dport.lo, r.dport.hi, r.src.lo, r.src.hi)
		s.Table.Classes = append(s.Table.Classes, classes[name])
	}
	s.Low = s.Table
	return p
}

func mustPlan(t *testing.T, in *Input) *Plan {
	t.Helper()
	if err := program.Validate(in.Program); err != nil {
		t.Fatal(err)
	}
	plan, err := MakePlan(in)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func lines(p *Plan) string {
	var s strings.Builder
	for _, r := range p.Rules {
		fmt.Fprintln(&s, r)
	}
	return s.String()
}

func hosts(n byte) span { return span{0x0a000000 | uint32(n)<<8, 0x0a0000ff | uint32(n)<<8} }

// TestNoRuleBelowOneThatCannotBeOffloadedTakesItsPackets is the example of Metron, section 8.1.3.3: of four rules of
// descending priority the third cannot be offloaded.
func TestNoRuleBelowOneThatCannotBeOffloadedTakesItsPackets(t *testing.T) {
	caps := able(100)
	caps.MarkBits = 0
	caps.Fields[hs.DPort] = Never
	rows := []row{
		{anyPort, hosts(1), "first", 0}, {anyPort, hosts(2), "second", 0}, {span{80, 80}, anySrc, "", 3}, {anyPort, hosts(4), "fourth", 0},
	}
	got := lines(mustPlan(t, &Input{Program: chain(rows...), Capabilities: caps}))
	// The third is about TCP and UDP, and that the device can see: so the fourth drops all else.
	want := `0.0 src=10.0.1.0/24 frag=0 → drop
0.0 src=10.0.2.0/24 frag=0 → drop
0.1 proto=6 frag=0 → pass
0.1 proto=17 frag=0 → pass
0.2 src=10.0.4.0/24 frag=0 → drop
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	caps.Fields[hs.Proto] = Never
	if got := lines(mustPlan(t, &Input{Program: chain(rows...), Capabilities: caps})); strings.Count(got, "→ drop") != 2 || strings.Contains(got, "10.0.4.0") {
		t.Errorf("the device cannot tell the third rule's packets at all: got\n%swant the first two only", got)
	}
}

func TestRoomGoesToWhatSavesMostPerRule(t *testing.T) {
	caps := able(2)
	caps.MarkBits = 0
	p := chain(
		row{anyPort, hosts(1), "rare", 0}, row{anyPort, hosts(2), "often", 0},
		row{anyPort, span{0x0a000301, 0x0a0003fe}, "most", 0}, // 14 prefixes
		row{anyPort, hosts(4), "sometimes", 0},
	)
	plan := mustPlan(t, &Input{Program: p, Capabilities: caps, Weights: []uint64{1, 500, 1000, 200, 0}})
	if got := lines(plan); strings.Count(got, "\n") != 2 || !strings.Contains(got, "10.0.2.0/24") || !strings.Contains(got, "10.0.4.0/24") {
		t.Errorf("got\n%swant what is dropped often and sometimes", got)
	}
	if want := 700.0 / 1701; plan.Dropped != want {
		t.Errorf("dropped share %v, want %v", plan.Dropped, want)
	}
	caps.Rules = 14
	if got := lines(mustPlan(t, &Input{Program: p, Capabilities: caps, Weights: []uint64{1, 5, 1000, 2, 0}})); strings.Count(got, "10.0.3.") != 14 {
		t.Errorf("got\n%swant 14 rules for what is dropped most", got)
	}
	caps.Rules = 3
	if got := lines(mustPlan(t, &Input{Program: p, Capabilities: caps, Weights: []uint64{0, 0, 1000, 0, 0}})); strings.Count(got, "10.0.3.") != 3 {
		t.Errorf("got\n%swant as many rules for what is dropped most as there is room for", got)
	}
}

func TestADefaultDropReplacesTheDropsAboveIt(t *testing.T) {
	p := chain(
		row{anyPort, hosts(1), "no", 0}, row{anyPort, hosts(2), "", 1}, row{anyPort, hosts(3), "no", 0}, row{anyPort, anySrc, "no", 0},
	)
	want := `0.0 src=10.0.2.0/24 frag=0 → pass mark 0x100002 (class 1)
0.1 frag=0 → drop
`
	if got := lines(mustPlan(t, &Input{Program: p, Capabilities: able(Unlimited), Generation: 1})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSiblingPrefixesAreOneRule(t *testing.T) {
	p := chain(row{anyPort, hosts(2), "no", 0}, row{anyPort, hosts(3), "no", 0})
	caps := able(Unlimited)
	caps.MarkBits = 0
	if got, want := lines(mustPlan(t, &Input{Program: p, Capabilities: caps})), "0.0 src=10.0.2.0/23 frag=0 → drop\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestADropThatSomebodyCountsStaysInSoftwareIfTheDeviceCannotCount(t *testing.T) {
	p := chain(row{anyPort, hosts(2), "counted", 0}, row{anyPort, hosts(3), "uncounted", 0})
	p.Counters = []string{"seen"}
	p.Segments[0].Classes[0].Legs[0].Counters = []uint32{0}
	caps := able(Unlimited)
	caps.Count, caps.MarkBits = false, 0
	if got, want := lines(mustPlan(t, &Input{Program: p, Capabilities: caps})), "0.0 src=10.0.3.0/24 frag=0 → drop\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestADropBehindAnOperationStaysInSoftware(t *testing.T) {
	p := chain(row{anyPort, hosts(1), "first", 0})
	p.Counters = []string{"seen"}
	p.Segments[0].Classes[0].Legs[0].Ops = []*programpb.Op{{Op: &programpb.Op_Count{}}}
	if got := lines(mustPlan(t, &Input{Program: p, Capabilities: able(100)})); strings.Contains(got, "drop") {
		t.Errorf("got\n%swant no drop: what is done to the packets before would not be done", got)
	}
}

func TestTagsAndShardsSendPacketsToTheirQueues(t *testing.T) {
	in := &Input{
		Program: chain(), Capabilities: able(100), Shards: Shards{Dispatcher: Flow, Bits: shard.Bits},
		Groups: []Group{{Tag: Tag{VLAN: 7}, Queues: []uint16{5}}, {Tag: Tag{DstMAC: MAC{2, 0, 0, 0, 0, 9}}, Queues: []uint16{6}}, {Queues: Spread(2, shard.Bits)}},
	}
	in.Capabilities.MarkBits = 0
	want := `0.0 dst-mac=020000000009 → queue 6
0.0 vlan=7 → queue 5
0.1 src=0x0/0x40 → queue 0
0.1 src=0x40/0x40 → queue 1
`
	if got := lines(mustPlan(t, in)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	in.Capabilities.Fields[hs.Src] = Prefix
	if _, err := MakePlan(in); err == nil || !strings.Contains(err.Error(), "match src by any bits, the device does it by prefix") {
		t.Errorf("a device with prefixes only: %v", err)
	}
}

func TestAFewPortsAreMatchedWholeWhereTheDeviceCannotMask(t *testing.T) {
	const first, last = 1024, 1535 // 8 shards of 64 ports
	p := edge(t)
	for _, table := range p.GetTables() {
		table.PortMin, table.PortMax = first, last
	}
	in := &Input{Program: p, Interface: 1, Capabilities: able(2000), Shards: Shards{Dispatcher: Flow, Bits: 3}, Groups: []Group{{Queues: []uint16{1, 0, 0, 0, 1, 1, 1, 1}}}}
	in.Capabilities.Fields[hs.DPort], in.Capabilities.Jump = Exact, true
	queues := map[[2]uint32]uint16{} // by protocol and port
	for _, r := range mustPlan(t, in).Rules {
		if r.Action.Kind != ToQueue {
			continue
		}
		if proto, port := r.Match.Conds[hs.Proto], r.Match.Conds[hs.DPort]; port.Mask == 0xffff {
			queues[[2]uint32{proto.Value, port.Value}] = r.Action.Queue
		} else {
			t.Errorf("%v: want whole ports", r)
		}
	}
	for _, proto := range []uint32{protoTCP, protoUDP} {
		for port := uint32(first); port <= last; port++ {
			want := in.Groups[0].Queues[port%(1<<in.Shards.Bits)]
			if got, ok := queues[[2]uint32{proto, port}]; !ok || got != want {
				t.Fatalf("protocol %d, port %d: queue %d (%v), want %d", proto, port, got, ok, want)
			}
		}
	}
	if len(queues) != 2*(last-first+1) {
		t.Errorf("%d ports, want %d", len(queues), 2*(last-first+1))
	}
	in.Capabilities.Rules = 1000
	if _, err := MakePlan(in); err == nil || !strings.Contains(err.Error(), "match dport by any bits, the device does it by whole value") {
		t.Errorf("with room for 1000 rules: %v", err)
	}
}

// TestThePlanOfTheEdgeChain shows a whole plan.
func TestThePlanOfTheEdgeChain(t *testing.T) {
	p := edge(t)
	var s strings.Builder
	for i, f := range p.GetInterfaces() {
		plan := mustPlan(t, &Input{Program: p, Interface: uint32(i), Capabilities: able(Unlimited), Generation: 1})
		fmt.Fprintf(&s, "%s\n%s\n", f.GetName(), lines(plan))
	}
	golden := filepath.Join("testdata", "edge.rules")
	if *update {
		if err := os.WriteFile(golden, []byte(s.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if s.String() != string(want) {
		t.Errorf("got\n%swant\n%s(go test -update rewrites it)", s.String(), want)
	}
}

// edge is the sample chain's program.
func edge(t *testing.T) *programpb.Program {
	t.Helper()
	bundle, findings := manifest.Load(filepath.Join("..", "..", "config", "samples", "edge.yaml"))
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	p, _, err := compiler.Compile(compiler.Sources{Chain: bundle.Chains[0], Functions: bundle.Functions, Files: bundle.Files})
	if err != nil {
		t.Fatal(err)
	}
	return p.Result.Program
}

func TestAMarkTellsClassAndGeneration(t *testing.T) {
	m := marksOf(24, 17)
	if c, ok := m.Class(m.of(41)); !ok || c != 41 {
		t.Errorf("class 41 came back as %d, %v", c, ok)
	}
	if _, ok := marksOf(24, 18).Class(m.of(41)); ok {
		t.Error("a mark of the program before was believed")
	}
	if _, ok := m.Class(0); ok {
		t.Error("a packet without a mark was believed to have one")
	}
	if n := marksOf(4, 0).classes(); n != 0 {
		t.Errorf("4 bits are for the generation alone, and had room for %d classes", n)
	}
}

// No device knows what a table of routes says of a packet.
// TestAWireHasNoRules: a device that drops a class would drop frames that go on elsewhere.
func TestAWireHasNoRules(t *testing.T) {
	p := chain(row{dport: span{53, 53}, src: anySrc, drop: "denied"})
	side := &programpb.Interface{Name: "side", Mtu: 1500}
	p.Interfaces = append(p.Interfaces, side)
	in := &Input{Program: p, Interface: 1, Capabilities: able(1000)}
	if plan := mustPlan(t, in); len(plan.Rules) == 0 {
		t.Fatal("there are no rules for the chain's drop, which this test is about")
	}
	side.Wire = true
	if plan := mustPlan(t, in); len(plan.Rules) != 0 {
		t.Errorf("a wire has rules: %v", plan.Rules)
	}
	choice := Choose(p, []Capabilities{able(1000), able(1000)}, 4, shard.Bits)
	if port := choice.Ports[1]; port.Dispatcher == Flow || !strings.Contains(port.Why, "no flow: the interface is a wire") {
		t.Errorf("a wire gets %v because %q, want no flow rules, and why", port.Dispatcher, port.Why)
	}
}

func TestClassesByRouteHaveNoRules(t *testing.T) {
	p := chain(row{dport: span{80, 80}, src: anySrc, drop: "web"})
	in := &Input{Program: p, Capabilities: able(100)}
	if len(mustPlan(t, in).Rules) == 0 {
		t.Fatal("there are no rules for a class of headers")
	}
	s := p.Segments[0]
	p.Fibs, s.Fib = []*programpb.Fib{{Hash: make([]byte, 32), NextHops: 3}}, 1
	s.Table.Bits = []*programpb.BitSet{{Field: programpb.Field_ROUTE, Ranges: []uint32{2, 3}}}
	s.Table.Required = []uint64{1, 0}
	if rules := mustPlan(t, in).Rules; len(rules) > 0 {
		t.Errorf("rules %v, want none", rules)
	}
}
