package synth_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// inARow are two NAPTs, changed, with elements between them.
func inARow(first, second func(*element.NAPT), between ...element.Element) []element.Element {
	a, b := testbed.Masquerade("192.0.2.1"), testbed.Masquerade("198.51.100.1")
	for n, change := range map[*element.NAPT]func(*element.NAPT){&a: first, &b: second} {
		if change != nil {
			change(n)
		}
	}
	return slices.Concat([]element.Element{a}, between, []element.Element{b})
}

func perHost(n *element.NAPT) {
	n.Mapping, n.Filtering = element.EndpointIndependent, element.AddressDependent
}

func large(n *element.NAPT) {
	perHost(n)
	n.Pool = append(n.Pool, netip.MustParseAddr("203.0.113.1"))
}

func TestNAPTsAreOneRunIfOnlyTheLastChoiceIsSeen(t *testing.T) {
	source := element.Classifier{Outs: 2, Rules: []element.Rule{{
		Name: "pool", Filters: []headerspace.Filter{headerspace.Filter{}.With(headerspace.SPort, headerspace.Range(2000, 3000))}, Out: 1,
	}}}
	for name, k := range map[string]struct {
		chain []element.Element
		one   bool
	}{
		"they are alike":                              {inARow(nil, nil), true},
		"only the TTL changes between them":           {inARow(nil, nil, element.SetField{Field: headerspace.TTL, Value: headerspace.V(9)}), true},
		"a port that the first one chose is read":     {inARow(nil, nil, source), false},
		"another source is written between them":      {inARow(nil, nil, element.SetField{Field: headerspace.Src, Value: headerspace.Addr(netip.MustParseAddr("10.9.9.9"))}), false},
		"the second one's mappings are of hosts":      {inARow(nil, perHost), false},
		"the mappings of both are of hosts":           {inARow(perHost, perHost), true},
		"the second one has more ports for mappings":  {inARow(perHost, large), false},
		"the second one has fewer ports for mappings": {inARow(large, perHost), true},
		"the second one has pairs of addresses":       {inARow(nil, func(n *element.NAPT) { n.Paired = true }), false},
		"the first one has pairs of addresses":        {inARow(func(n *element.NAPT) { n.Paired = true }, nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := testbed.LegsFrom(t, testbed.Row(k.chain...))
			if one := slices.ContainsFunc(r.Runs, func(r walk.Run) bool { return len(r.Nodes) > 1 }); one != k.one {
				t.Errorf("runs %v: one run %t, want %t", r.Runs, one, k.one)
			}
		})
	}
}

// The address that a NAPT gives a packet without ports tells the next NAPT's choice.
func TestPacketsWithoutPortsHaveASessionAtEachNAPT(t *testing.T) {
	legs, _ := testbed.LegsFrom(t, testbed.Row(inARow(nil, nil)...))
	for _, want := range []string{
		"translate source (napt0>napt1) → output b", "translate source (napt0), translate source (napt1) → output b",
		"drop " + element.ReasonNATUnsupported, "drop " + element.ReasonNATFragment,
	} {
		if !slices.Contains(legs, want) {
			t.Errorf("packets are %q, want %q among them", legs, want)
		}
	}
}

// A run has the least of what its NAPTs let sessions have, and the limits of the one that sees subscribers.
func TestARunHasTheLeastOfItsNAPTs(t *testing.T) {
	impatient := func(n *element.NAPT) {
		n.Timeouts.TCP, n.Timeouts.UDP = time.Second, 3*time.Second
		n.Limits = element.SubscriberLimits{PrefixLen: 24, MaxSessions: 7, MaxPorts: 5, Reason: "too-many"}
	}
	few := func(n *element.NAPT) { n.Timeouts.ICMP, n.PortMax = 2*time.Second, n.PortMin+9 }
	_, r := testbed.LegsFrom(t, testbed.Row(inARow(impatient, few)...))
	i := slices.IndexFunc(r.Runs, func(r walk.Run) bool { return len(r.Nodes) == 2 })
	if i < 0 {
		t.Fatalf("no run of two NAPTs: %v", r.Runs)
	}
	run := r.Program.GetRuns()[i]
	got := []uint32{run.GetTcpMs(), run.GetTcpTransitoryMs(), run.GetUdpMs(), run.GetIcmpMs(), run.GetSubscribers()}
	if want := []uint32{1000, 60_000, 3000, 2000, 1}; !slices.Equal(got, want) {
		t.Errorf("timeouts and subscribers are %d, want %d", got, want)
	}
	if run.GetMaxSessions() != 0 {
		t.Errorf("at most %d sessions: the last pool tells it", run.GetMaxSessions())
	}
	if s := r.Program.GetSubscribers(); len(s) != 1 || s[0].GetName() != "napt0" || s[0].GetMaxPorts() != 5 || r.Program.GetReasons()[s[0].GetReason()] != "too-many" {
		t.Errorf("subscribers %v, reasons %q: want those of the first NAPT", s, r.Program.GetReasons())
	}
	_, r = testbed.LegsFrom(t, testbed.Row(inARow(few, nil)...))
	i = slices.IndexFunc(r.Runs, func(r walk.Run) bool { return len(r.Nodes) == 2 })
	if i < 0 || r.Program.GetRuns()[i].GetMaxSessions() != 10 {
		t.Errorf("runs %v: want at most the 10 sessions of the first one's ports", r.Program.GetRuns())
	}
}
