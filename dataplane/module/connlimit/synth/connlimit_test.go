package synth_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

// guard is a limiter with a table of a name.
func guard(table string) element.ConnLimit {
	return element.ConnLimit{
		Table: table, Max: 1000, Full: table + "/full", PerHost: element.SubscriberLimits{PrefixLen: 24, MaxSessions: 100, Reason: table + "/limit"},
		Timeouts: element.Timeouts{TCP: time.Hour, TCPTransitory: time.Minute, TCPClosing: 10 * time.Second, UDP: 2 * time.Minute, ICMP: time.Second},
	}
}

func TestWhatStandsBehindALimiter(t *testing.T) {
	ask := func(f headerspace.Field, v uint64) element.Classifier {
		r := element.Rule{Name: "r", Filters: []headerspace.Filter{headerspace.Filter{}.With(f, headerspace.Of(v))}, Out: 0}
		return element.Classifier{Rules: []element.Rule{r}, Default: 1, Outs: 2}
	}
	for name, k := range map[string]struct {
		chain []element.Element
		want  []string
	}{
		"it alone": {
			[]element.Element{guard("cl")}, []string{"bound connections (connlimit0) → output b"},
		},
		"what it reads is read behind it at once": {
			[]element.Element{guard("cl"), ask(headerspace.DPort, 53)},
			[]string{"bound connections (connlimit0) → output b", "drop end"},
		},
		"a source that is written before it tells the host": {
			[]element.Element{element.SetField{Field: headerspace.Src, Value: headerspace.Addr(testbed.Masquerade("10.0.0.9").Pool[0])}, guard("cl")},
			[]string{"src := 10.0.0.9, bound connections (connlimit1) → output b"},
		},
		"a packet that is dropped behind it has no connection": {
			[]element.Element{guard("cl"), element.Discard{Reason: "later"}}, []string{"drop later"},
		},
		"what is counted behind it may not be": {
			[]element.Element{guard("cl"), element.Counter{}}, []string{"bound connections (connlimit0) → output b, counted by counter1"},
		},
		"two have a connection each": {
			[]element.Element{guard("a"), guard("b")}, []string{"bound connections (connlimit0), bound connections (connlimit1) → output b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := testbed.LegsFrom(t, testbed.Row(k.chain...)); !slices.Equal(got, k.want) {
				t.Errorf("classes do %q, want %q", got, k.want)
			}
		})
	}
}

// TestBothDirectionsHaveOneTable looks at what the program has of a limiter.
func TestBothDirectionsHaveOneTable(t *testing.T) {
	_, r := testbed.LegsFrom(t, testbed.BothWays(guard("cl")))
	p := r.Program
	reason := func(name string) uint32 { return uint32(slices.Index(p.Reasons, name)) }
	if len(p.Tables) != 1 || len(p.Subscribers) != 1 {
		t.Fatalf("there are %d tables and %d sets of hosts, want one of each", len(p.Tables), len(p.Subscribers))
	}
	for got, want := range map[proto.Message]proto.Message{
		p.Tables[0]: &programpb.StateTable{Name: "cl", MaxSessions: 1000, ConnectionLimit: &programpb.ConnectionLimit{
			TcpMs: 3_600_000, TcpTransitoryMs: 60_000, TcpClosingMs: 10_000, UdpMs: 120_000, IcmpMs: 1000, Subscribers: 1,
		}},
		p.Subscribers[0]: &programpb.SubscriberLimits{Name: "cl", PrefixLen: 24, MaxSessions: 100, Reason: reason("cl/limit")},
	} {
		if !proto.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for i, side := range p.Interfaces {
		for _, c := range p.Segments[side.Segment].Classes {
			want := &programpb.Connect{Full: reason("cl/full"), FromOutside: i == 1}
			if ops := c.Legs[0].Ops; len(ops) != 1 || !proto.Equal(ops[0].GetConnect(), want) {
				t.Errorf("from %s packets have %v done, want %v", side.Name, ops, want)
			}
		}
	}
}
