package synth_test

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// ips is a stop that changes fields.
func ips(changes ...headerspace.Field) element.Stop {
	return element.Stop{Interfaces: [element.StopSides]string{"ips/inside", "ips/outside"}, Changes: changes}
}

// wired gives the stop of a graph its interfaces.
func wired(g *graph.Graph) *graph.Graph {
	stop := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { _, is := n.Element.(element.Stop); return is })
	g.AddWires(stop, [element.StopSides]netip.Addr{netip.MustParseAddr("192.168.0.1"), netip.MustParseAddr("192.168.1.1")})
	return g
}

func ask(f headerspace.Field, v uint64) element.Classifier {
	r := element.Rule{Name: "r", Filters: []headerspace.Filter{headerspace.Filter{}.With(f, headerspace.Of(v))}, Out: 0}
	return element.Classifier{Rules: []element.Rule{r}, Default: 1, Outs: 2}
}

// legsOf are those of a segment, in words.
func legsOf(r *walk.Result, segment uint32) (legs []string) {
	for _, c := range r.Segments[segment].Classes {
		for _, l := range c.Legs {
			s := l.String()
			if len(l.Counters) > 0 {
				s += ", counted by " + strings.Join(l.Counters, ", ")
			}
			legs = append(legs, s)
		}
	}
	return legs
}

// stopOf is the first stop in a program.
func stopOf(t *testing.T, r *walk.Result) *programpb.Stop {
	t.Helper()
	for _, s := range r.Program.Segments {
		for _, c := range s.Classes {
			for _, l := range c.Legs {
				if l.GetStop() != nil {
					return l.GetStop()
				}
			}
		}
	}
	t.Fatal("no leg ends at the stop")
	return nil
}

func TestWhatIsBeforeAStopIsDoneBeforeIt(t *testing.T) {
	via := netip.MustParseAddr("192.168.1.9")
	route := element.Lookup{Routes: []element.Route{{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Via: via}}, NoRoute: 1, Outs: 2}
	for name, k := range map[string]struct {
		chain        []element.Element
		want, behind []string
	}{
		"it alone": {
			[]element.Element{ips()}, []string{"leave for stop0"}, []string{"output b"},
		},
		"a class that is dropped never sees it": {
			[]element.Element{ask(headerspace.DPort, 53), ips()}, []string{"leave for stop1", "drop end"}, []string{"output b"},
		},
		"what is behind is looked up behind it": {
			[]element.Element{ips(), ask(headerspace.DPort, 53)}, []string{"leave for stop0"}, []string{"output b", "drop end"},
		},
		"the TTL is lowered": {
			[]element.Element{element.DecTTL{}, ips()}, []string{"ttl -1 → leave for stop1", "drop end"}, []string{"output b"},
		},
		"a next hop is noted": {
			[]element.Element{route, ips()}, []string{"via 192.168.1.9 → leave for stop1"}, []string{"output b"},
		},
		"a packet is counted on both sides": {
			[]element.Element{element.Counter{}, ips(), element.Counter{}},
			[]string{"leave for stop1, counted by counter0"},
			[]string{"output b, counted by counter2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, r := testbed.LegsFrom(t, wired(testbed.Row(k.chain...)))
			if !slices.Equal(got, k.want) {
				t.Errorf("before it classes do %q, want %q", got, k.want)
			}
			if got := legsOf(r, stopOf(t, r).Segment); !slices.Equal(got, k.behind) {
				t.Errorf("behind it classes do %q, want %q", got, k.behind)
			}
		})
	}
}

func TestAStopNamesItsSidesAndWhatItChanges(t *testing.T) {
	_, r := testbed.LegsFrom(t, wired(testbed.BothWays(ips(headerspace.Dst, headerspace.TTL))))
	for s, want := range map[uint32]*programpb.Stop{
		r.Program.Interfaces[0].Segment: {Out: 2, Back: 3, Writes: 1<<programpb.Field_DST | 1<<programpb.Field_TTL},
		r.Program.Interfaces[1].Segment: {Out: 3, Back: 2, Writes: 1<<programpb.Field_DST | 1<<programpb.Field_TTL},
	} {
		got := r.Program.Segments[s].Classes[0].Legs[0].GetStop()
		if got.GetOut() != want.Out || got.GetBack() != want.Back || got.GetWrites() != want.Writes {
			t.Errorf("packets of segment %d take %v, want %v", s, got, want)
		}
		if end := legsOf(r, got.GetSegment()); len(end) != 1 || !strings.HasPrefix(end[0], "output ") {
			t.Errorf("behind it classes do %q, want an output", end)
		}
	}
}

func TestAStopSaysWhatBecomesOfPacketsWhileItIsDown(t *testing.T) {
	at := func(list []string, name string) uint32 { return uint32(slices.Index(list, name)) }
	for when, want := range map[element.WhenDown]func(p *programpb.Program) *programpb.Stop{
		element.StopUnwatched: func(*programpb.Program) *programpb.Stop { return &programpb.Stop{} },
		element.StopClosed: func(p *programpb.Program) *programpb.Stop {
			return &programpb.Stop{Down: &programpb.Stop_Drop{Drop: at(p.Reasons, "stop1/down")}}
		},
		element.StopOpen: func(p *programpb.Program) *programpb.Stop {
			return &programpb.Stop{Down: &programpb.Stop_Bypass{Bypass: at(p.Counters, "stop1/bypassed")}}
		},
	} {
		t.Run(when.String(), func(t *testing.T) {
			e := ips()
			e.WhenDown = when
			g := wired(testbed.Row(element.Counter{}, e, element.Counter{}))
			_, r := testbed.LegsFrom(t, g)
			got := stopOf(t, r)
			if want := want(r.Program); !reflect.DeepEqual(got.Down, want.Down) {
				t.Errorf("down is %v, want %v; reasons are %q, counters %q", got.Down, want.Down, r.Program.Reasons, r.Program.Counters)
			}
			if named := slices.Contains(r.Program.Counters, "stop1/bypassed"); named != (when == element.StopOpen) {
				t.Errorf("counters are %q: only what goes past is counted", r.Program.Counters)
			}
			if named := slices.Contains(r.Program.Reasons, "stop1/down"); named != (when == element.StopClosed) {
				t.Errorf("reasons are %q: only a closed stop drops packets", r.Program.Reasons)
			}
			// In from a wire, and the answer to what is too big. What goes past the function comes in there, too.
			if r.Program.LongestWay != 2 {
				t.Errorf("the longest way has %d look-ups, want 2", r.Program.LongestWay)
			}
		})
	}
}

func TestAChangedFateOfPacketsIsTakenUp(t *testing.T) {
	var s walk.Session
	for _, when := range []element.WhenDown{element.StopUnwatched, element.StopClosed, element.StopOpen, element.StopClosed} {
		e := ips()
		e.WhenDown = when
		g := wired(testbed.Row(e))
		got, err := s.Synthesize(g, walk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := walk.Synthesize(g, walk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got.Program, want.Program) {
			t.Errorf("%s: got\n%v\nwant\n%v", when, got.Program, want.Program)
		}
	}
}

func TestWhatComesInFromAStopIsCountedAndGoesOnBehindIt(t *testing.T) {
	_, r := testbed.LegsFrom(t, wired(testbed.BothWays(ips())))
	for i, want := range map[int]string{
		2: "output a, counted by ips/inside/untagged",
		3: "output b, counted by ips/outside/untagged",
	} {
		n := r.Program.Interfaces[i]
		if got := legsOf(r, n.Segment); !slices.Equal(got, []string{want}) || !n.Wire {
			t.Errorf("packets from %s do %q, want %q; a wire: %t", n.Name, got, want, n.Wire)
		}
	}
}

func TestARoundThroughAStopHasToLowerTheTTL(t *testing.T) {
	g := testbed.Row(ips())
	stop := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == "stop0" })
	g.Nodes[stop].Out[element.StopOutside] = graph.Edge{To: stop, Port: element.StopInside}
	if _, err := walk.Synthesize(wired(g), walk.Options{}); err == nil || !strings.Contains(err.Error(), "the TTL is not lowered on the way") {
		t.Errorf("got %v, want it refused: packets would go round without end", err)
	}
}
