package synth_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

var flows = element.Passing{
	Table: "ips", Max: 1000, Packets: 20,
	Timeouts: element.Timeouts{TCP: 5 * time.Second, TCPTransitory: 4 * time.Second, TCPClosing: 3 * time.Second, UDP: 2 * time.Second, ICMP: time.Second},
}

// past has flows from a side go past the stop of a graph.
func past(g *graph.Graph, outside bool) *graph.Graph {
	before := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { _, is := n.Element.(element.Bypass); return is })
	behind := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { _, is := n.Element.(element.Passed); return is })
	g.Nodes[before].Out[element.BypassPast] = g.Nodes[behind].Out[0]
	for _, n := range []*graph.Node{&g.Nodes[before], &g.Nodes[behind]} {
		switch n.Element.(type) {
		case element.Bypass:
			n.Element = element.Bypass{Passing: flows, FromOutside: outside}
		case element.Passed:
			n.Element = element.Passed{Passing: flows, FromOutside: outside}
		}
	}
	return g
}

// only lets the packets of a filter through.
func only(f headerspace.Filter) element.Classifier {
	return element.Classifier{Rules: []element.Rule{{Name: "r", Filters: []headerspace.Filter{f}, Out: 0}}, Default: 1, Outs: 2}
}

func TestOnlyPacketsThatTellAFlowMayGoPast(t *testing.T) {
	const through, either = "leave for stop2", "past the function or through it (bypass1)"
	whole := func(proto uint64) headerspace.Filter {
		return headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(0)).With(headerspace.Proto, headerspace.Of(proto))
	}
	tcp := func(flags uint64) headerspace.Filter {
		return whole(6).With(headerspace.TCPFlags, headerspace.Of(flags))
	}
	icmp := func(kind uint64) headerspace.Filter { return whole(1).With(headerspace.ICMPType, headerspace.Of(kind)) }
	for name, k := range map[string]struct {
		packets headerspace.Filter
		want    string
	}{
		"a datagram":               {whole(17), either},
		"a protocol without ports": {whole(47), either},
		"an ACK":                   {tcp(0x10), either},
		"a SYN ACK":                {tcp(0x12), either},
		"an RST":                   {tcp(0x04), either},
		"an echo request":          {icmp(8), either},
		"a timestamp reply":        {icmp(14), either},
		"a SYN":                    {tcp(0x02), through},
		"a SYN with ECN":           {tcp(0xc2), through},
		"an ICMP error":            {icmp(3), through},
		"a fragment":               {headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(2)), through},
	} {
		t.Run(name, func(t *testing.T) {
			for _, outside := range []bool{false, true} {
				got, r := testbed.LegsFrom(t, wired(past(testbed.Row(only(k.packets), element.Bypass{}, ips(), element.Passed{}), outside)))
				if !slices.Equal(got, []string{k.want, "drop end"}) && !slices.Equal(got, []string{"drop end", k.want}) {
					t.Errorf("classes do %q, want %q and the rest dropped", got, k.want)
				}
				for _, b := range bypassesOf(r) {
					if b.GetFromOutside() != outside {
						t.Errorf("the leg is %v, want from outside %t", b, outside)
					}
				}
			}
		})
	}
}

// bypassesOf are the legs of a program whose packets may go past a function.
func bypassesOf(r *walk.Result) (out []*programpb.Bypass) {
	for _, s := range r.Program.Segments {
		for _, c := range s.Classes {
			for _, l := range c.Legs {
				if l.GetBypass() != nil {
					out = append(out, l.GetBypass())
				}
			}
		}
	}
	return out
}

func TestWhatPassedTheFunctionCounts(t *testing.T) {
	_, r := testbed.LegsFrom(t, wired(past(testbed.Row(element.Bypass{}, ips(), element.Passed{}), false)))
	b := bypassesOf(r)
	if len(b) != 1 {
		t.Fatalf("%d legs end at the bypass, want one", len(b))
	}
	for name, k := range map[string]struct {
		segment uint32
		want    []string
	}{
		"through": {b[0].GetThrough(), []string{"leave for stop1"}},
		"past":    {b[0].GetPast(), []string{"output b"}},
		"behind":  {stopOf(t, r).GetSegment(), []string{"count for the flow (ips) → output b"}},
	} {
		if got := legsOf(r, k.segment); !slices.Equal(got, k.want) {
			t.Errorf("%s: classes do %q, want %q", name, got, k.want)
		}
	}
	if n := len(r.Program.Tables); n != 1 {
		t.Fatalf("there are %d tables, want one", n)
	}
	table := r.Program.Tables[0]
	want := &programpb.Passing{TcpMs: 5000, TcpTransitoryMs: 4000, TcpClosingMs: 3000, UdpMs: 2000, IcmpMs: 1000, Packets: 20}
	if table.GetName() != "ips" || table.GetMaxSessions() != 1000 || table.GetPassing().String() != want.String() {
		t.Errorf("the table is %v, want ips with 1000 flows and %v", table, want)
	}
	if untagged := legsOf(r, r.Program.Interfaces[3].Segment); strings.Contains(strings.Join(untagged, " "), "count for") {
		t.Errorf("what the function sends of its own does %q, want no flow counted", untagged)
	}
}
