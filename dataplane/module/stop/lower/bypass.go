package lower

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// passing is the table of the flows that may go past a function.
type passing element.Passing

// bypass is what the function says of flows that go past it; nil: none do.
func (k *blackbox) bypass(b *lower.Builder, f *lower.Function) *passing {
	s := k.spec.Bypass
	if s == nil {
		return nil
	}
	at := f.Path + ".bypass"
	if len(k.spec.Behavior.Writes) > 0 { // an API server with the CRDs of another release may take it
		b.Fail(f.Object, at, "", "what behavior.writes names would be missing in packets that go past; leave bypass out, or behavior.writes")
	}
	return &passing{
		Table: f.Name, Max: int(s.MaxFlows), Packets: int(s.AfterPackets), Timeouts: timeouts(b, f, at+".timeouts", &s.Timeouts),
	}
}

func timeouts(b *lower.Builder, f *lower.Function, at string, t *v1alpha1.ConnectionTimeouts) element.Timeouts {
	return element.Timeouts{
		TCP:           b.Timeout(f, at+".tcp", t.TCP),
		TCPTransitory: b.Timeout(f, at+".tcpTransitory", t.TCPTransitory),
		TCPClosing:    b.Timeout(f, at+".tcpClosing", t.TCPClosing),
		UDP:           b.Timeout(f, at+".udp", t.UDP),
		ICMP:          b.Timeout(f, at+".icmp", t.ICMP),
	}
}

// around has packets that come in by a side go through some stops or past them: "ips/bypass-inside" tells which, "ips/passed-inside" counts those that came
// back for their flows, and "ips/past-inside" is the counter of those that go past. through is where packets come in that go through, and what it
// returns where all come in.
func (p *passing) around(b *lower.Builder, f *lower.Function, through lower.Edge, stops []way, side int) lower.Edge {
	name, outside := lower.TwoSides[side], side == element.StopOutside
	before := b.Add(f.Name, f.Name+"/bypass-"+name, element.Bypass{Passing: element.Passing(*p), FromOutside: outside})
	past := b.Add(f.Name, element.PastCounter(f.Name, name), element.Counter{})
	behind := b.Add(f.Name, f.Name+"/passed-"+name, element.Passed{Passing: element.Passing(*p), FromOutside: outside})
	b.Lead(before, element.BypassThrough, through)
	b.Wire(before, element.BypassPast, past)
	for _, s := range stops {
		b.Wire(s.node, 1-side, behind)
	}
	b.Exit(behind, 0, f, lower.Opposite(name))
	b.Exit(past, 0, f, lower.Opposite(name))
	return lower.Edge{To: before}
}
