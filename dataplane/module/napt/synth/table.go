package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// Keep implements Keeping.
func (n *napt) Keep(_ *walk.Emitter, t *programpb.StateTable) {
	t.PortMin, t.PortMax, t.MaxSessions = uint32(n.PortMin), uint32(n.PortMax), uint32(n.MaxSessions)
	t.PortRestMs, t.Paired = walk.Milliseconds(n.Quarantine), n.Paired
	t.Mapping, t.Filtering = programpb.Dependence(n.Mapping), programpb.Dependence(n.Filtering)
	for _, a := range n.Pool {
		last := len(t.Pool) - 1
		if last >= 0 && t.Pool[last].Last+1 == walk.IPv4(a) {
			t.Pool[last].Last++
			continue
		}
		t.Pool = append(t.Pool, &programpb.AddressRange{First: walk.IPv4(a), Last: walk.IPv4(a)})
	}
	for _, r := range n.Reserved {
		t.Reserved = append(t.Reserved, &programpb.ReservedPorts{Proto: uint32(r.Proto), Address: walk.IPv4(r.Addr), First: uint32(r.First), Last: uint32(r.Last)})
	}
}

// WriteRun implements Choosing: sessions end as the most impatient NAPT lets them, and there are no more than the smallest pool has ports for.
func (n *napt) WriteRun(e *walk.Emitter, nodes []int, r *programpb.Run) {
	to, room := n.Timeouts, n.capacity()
	for _, node := range nodes {
		other := napt{NAPT: e.Node(node).Element.(element.NAPT)}
		to.TCP, to.TCPTransitory = min(to.TCP, other.Timeouts.TCP), min(to.TCPTransitory, other.Timeouts.TCPTransitory)
		to.UDP, to.ICMP = min(to.UDP, other.Timeouts.UDP), min(to.ICMP, other.Timeouts.ICMP)
		if c := other.capacity(); c < room {
			room = c
			r.MaxSessions = uint32(c)
		}
	}
	r.Subscribers = subscribers(e, nodes[0])
	r.TcpMs, r.TcpTransitoryMs = walk.Milliseconds(to.TCP), walk.Milliseconds(to.TCPTransitory)
	r.UdpMs, r.IcmpMs = walk.Milliseconds(to.UDP), walk.Milliseconds(to.ICMP)
}

// subscribers is whose the sessions of a run are that begins with a NAPT, as Run has it. Behind it are no subscribers.
func subscribers(e *walk.Emitter, node int) uint32 {
	l := e.Node(node).Element.(element.NAPT).Limits
	if l == (element.SubscriberLimits{}) {
		return 0
	}
	return e.Subscribers(e.Node(node).Name, l)
}
