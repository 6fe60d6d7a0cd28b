package synth

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// judge is an element that no function has: what it does to a packet, drop or mark it, is known at run time alone. All that
// the synthesizer has to know of it is in this file. It is written as a counter.
type judge struct {
	reads     []headerspace.Field
	forgetful bool // what it does is not done to packets that are dropped later
}

func (judge) Kind() string             { return "judge" }
func (judge) Ports() (in, out int)     { return 1, 1 }
func (j judge) Traits() element.Traits { return element.Traits{Reads: j.reads, Stateful: true} }

func init() { register(func(j judge) meaning { return judging{j} }) }

type judging struct{ judge }

func (judging) counters(node string) []string { return []string{node} }

func (j judging) walk(w *walker, t *tcu, at arrival) error {
	marks := map[headerspace.Field]headerspace.Set{headerspace.DSCP: headerspace.Full(headerspace.DSCP)}
	kind := opJudge
	if j.forgetful {
		kind = opGlance
	}
	if err := w.act(t, at.node, op{kind: kind, arg: int64(w.counters.of[at.node][0])}, j.reads, marks); err != nil {
		return err
	}
	return w.follow(t, at.node, 0, -1)
}

var opJudge = newOperation(operation{
	write: func(_ *emitter, _ *leg, o op, says *Leg) *programpb.Op {
		says.Ops = append(says.Ops, "judge")
		return &programpb.Op{Op: &programpb.Op_Count{Count: uint32(o.arg)}}
	},
	verdict: true, lasting: true,
})

var opGlance = newOperation(operation{write: operations[opJudge].write, verdict: true})

// row is a chain from interface a to b through elements in a row; output 1, if there is one, is a drop. Nothing comes in by b.
func row(elements ...element.Element) *graph.Graph {
	g := &graph.Graph{Chain: "row"}
	add := func(name string, e element.Element) int {
		_, outs := e.Ports()
		g.Nodes = append(g.Nodes, graph.Node{Name: name, Function: "f", Element: e, Out: slices.Repeat([]graph.Edge{{To: -1}}, outs)})
		return len(g.Nodes) - 1
	}
	end := add("end", element.Discard{Reason: "end"})
	for i, name := range []string{"a", "b"} {
		in, out := add(name+"/in", element.Input{Interface: name}), add(name+"/out", element.Output{Interface: name})
		g.Nodes[in].Out[0] = graph.Edge{To: end}
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(i), 1}), 24)
		g.Interfaces = append(g.Interfaces, graph.Interface{Name: name, Prefix: prefix, MTU: 1500, In: in, Out: out})
	}
	from, out := g.Interfaces[0].In, 0
	for i, e := range elements {
		n := add(fmt.Sprintf("%s%d", e.Kind(), i), e)
		for k := range g.Nodes[n].Out {
			g.Nodes[n].Out[k] = graph.Edge{To: end}
		}
		g.Nodes[from].Out[out] = graph.Edge{To: n}
		from, out = n, 0
		if element.TwoSided(e) {
			out = 1
		}
	}
	if _, outs := g.Nodes[from].Element.Ports(); outs > 0 {
		g.Nodes[from].Out[out] = graph.Edge{To: g.Interfaces[1].Out}
	}
	return g
}

// legsFrom are what a program does to packets from interface a, in words, class by class.
func legsFrom(t *testing.T, g *graph.Graph) (legs []string, r *Result) {
	t.Helper()
	r, err := Synthesize(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Segments[r.Program.Interfaces[0].Segment].Classes {
		for _, l := range c.Legs {
			s := l.String()
			if len(l.Counters) > 0 {
				s += ", counted by " + strings.Join(l.Counters, ", ")
			}
			legs = append(legs, s)
		}
	}
	return legs, r
}

func masquerade(pool string) element.NAPT {
	idle := element.Timeouts{TCP: time.Hour, TCPTransitory: time.Minute, UDP: time.Minute, ICMP: time.Minute}
	return element.NAPT{Pool: []netip.Addr{netip.MustParseAddr(pool)}, PortMin: 1024, PortMax: 65535, Timeouts: idle, MaxSessions: 1000}
}

func TestAnElementThatJudgesPacketsAtRunTime(t *testing.T) {
	src := []headerspace.Field{headerspace.Src}
	expedited := headerspace.Filter{}.With(headerspace.DSCP, headerspace.Of(46))
	byDSCP := element.Classifier{Rules: []element.Rule{{Name: "ef", Filters: []headerspace.Filter{expedited}, Out: 0}}, Default: 1, Outs: 2}
	for name, k := range map[string]struct {
		chain []element.Element
		want  []string
	}{
		"is asked about packets as they are there": {
			[]element.Element{element.SetField{Field: headerspace.TTL, Value: headerspace.V(7)}, judge{reads: src}},
			[]string{"ttl := 7, judge → output b"},
		},
		"is asked about packets that are dropped later": {
			[]element.Element{judge{reads: src}, element.SetField{Field: headerspace.TTL, Value: headerspace.V(7)}, element.Discard{Reason: "later"}},
			[]string{"judge → drop later"},
		},
		"decides what counters behind it count": {
			[]element.Element{element.Counter{}, judge{reads: src}, element.Counter{}},
			[]string{"judge → output b, counted by counter2, counter0"},
		},
		"has packets classified again whose mark is read": {
			[]element.Element{judge{reads: src}, byDSCP}, []string{"judge → classify again at classifier1"},
		},
		"is forgotten where its mark is written over": {
			[]element.Element{judge{reads: src}, element.SetField{Field: headerspace.DSCP, Value: headerspace.V(46)}, byDSCP},
			[]string{"judge, dscp := 46 → output b"},
		},
		"judges once what is copied then": {
			[]element.Element{judge{reads: src}, element.Tee{Outs: 2}}, []string{"judge → classify again at tee1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := legsFrom(t, row(k.chain...)); !slices.Equal(got, k.want) {
				t.Errorf("classes do %q, want %q", got, k.want)
			}
		})
	}
}

func TestNAPTsStayApartWhereAnElementBetweenThemMustActFirst(t *testing.T) {
	for name, k := range map[string]struct {
		judge judge
		apart bool
	}{
		"it reads the source that the first one chose": {judge{reads: []headerspace.Field{headerspace.Src}, forgetful: true}, true},
		"it reads the destination, which neither does": {judge{reads: []headerspace.Field{headerspace.Dst}, forgetful: true}, false},
		"what it does stays when the second one drops": {judge{reads: []headerspace.Field{headerspace.Dst}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := legsFrom(t, row(masquerade("192.0.2.1"), k.judge, masquerade("198.51.100.1")))
			joined := slices.ContainsFunc(r.Runs, func(r Run) bool { return len(r.NAPTs) > 1 })
			if joined == k.apart {
				t.Errorf("runs %v: NAPTs apart %t, want %t", r.Runs, !joined, k.apart)
			}
		})
	}
}
