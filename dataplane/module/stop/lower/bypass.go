package lower

import (
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
		Table: f.Name, Max: int(s.MaxFlows), Packets: int(s.AfterPackets), Timeouts: element.Timeouts{
			TCP:           b.Timeout(f, at+".timeouts.tcp", s.Timeouts.TCP),
			TCPTransitory: b.Timeout(f, at+".timeouts.tcpTransitory", s.Timeouts.TCPTransitory),
			TCPClosing:    b.Timeout(f, at+".timeouts.tcpClosing", s.Timeouts.TCPClosing),
			UDP:           b.Timeout(f, at+".timeouts.udp", s.Timeouts.UDP),
			ICMP:          b.Timeout(f, at+".timeouts.icmp", s.Timeouts.ICMP),
		},
	}
}

// around has packets that come in by a side go through the stop or past it: "ips/bypass-inside" tells which, "ips/passed-inside" counts those that came
// back for their flows, and "ips/past-inside" is the counter of those that go past. It is where packets come in.
func (p *passing) around(b *lower.Builder, f *lower.Function, stop, side int) lower.Edge {
	name, outside := lower.TwoSides[side], side == element.StopOutside
	before := b.Add(f.Name, f.Name+"/bypass-"+name, element.Bypass{Passing: element.Passing(*p), FromOutside: outside})
	past := b.Add(f.Name, element.PastCounter(f.Name, name), element.Counter{})
	behind := b.Add(f.Name, f.Name+"/passed-"+name, element.Passed{Passing: element.Passing(*p), FromOutside: outside})
	b.Lead(before, element.BypassThrough, lower.Edge{To: stop, Port: side})
	b.Wire(before, element.BypassPast, past)
	b.Wire(stop, 1-side, behind)
	b.Exit(behind, 0, f, lower.Opposite(name))
	b.Exit(past, 0, f, lower.Opposite(name))
	return lower.Edge{To: before}
}
