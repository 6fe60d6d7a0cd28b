package differential

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/element"
	connlimit "github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// contact is what a host has with a remote, as its packets tell it.
type contact struct {
	table        uint32
	proto        uint8
	host, remote netip.AddrPort
}

// lapsed tells whether a connection has been idle for too long.
func (m *model) lapsed(k contact, f *followed) bool {
	l := m.p.GetTables()[k.table].GetConnectionLimit()
	if k.proto == packets.ProtoTCP && f.tcp.ends {
		return m.now-f.last > time.Duration(l.GetTcpClosingMs())*time.Millisecond
	}
	return m.now-f.last > patience(l, k.proto, &f.tcp)
}

// contactOf is the connection that a packet tells; false: none.
func contactOf(s *shot, c *programpb.Connect) (k contact, ok bool) {
	if s.frag() != 0 || !s.told() {
		return contact{}, false
	}
	src, dst := ends(s.ip)
	types := []byte{packets.ICMPEchoRequest, packets.ICMPTimestamp}
	k = contact{c.GetTable(), s.ip[9], src, dst}
	if c.GetFromOutside() {
		types = []byte{packets.ICMPEchoReply, packets.ICMPTimestampReply}
		k.host, k.remote = dst, src
	}
	return k, s.ip[9] != packets.ProtoICMP || slices.Contains(types, s.transport()[0])
}

// connect has a packet use its connection, or begin it.
func (m *model) connect(s *shot, c *programpb.Connect) (reason string) {
	k, ok := contactOf(s, c)
	if !ok {
		return ""
	}
	f := m.contacts[k]
	if f == nil || m.lapsed(k, f) {
		const flags = packets.SYN | packets.ACK | packets.FIN | packets.RST
		if c.GetFromOutside() || k.proto == packets.ProtoTCP && s.transport()[13]&flags != packets.SYN {
			return ""
		}
		if reason := m.overfull(k, c); reason != "" {
			return reason
		}
		f = &followed{last: m.now, tcp: connection{shift: [2]int{-1, -1}}}
		m.contacts[k] = f
		m.undo = append(m.undo, func() { delete(m.contacts, k) })
	}
	m.follow(f, s, !c.GetFromOutside())
	return ""
}

// overfull is why a connection may not begin.
func (m *model) overfull(k contact, c *programpb.Connect) (reason string) {
	t := m.p.GetTables()[k.table]
	l := m.p.GetSubscribers()[t.GetConnectionLimit().GetSubscribers()-1]
	host, _ := k.host.Addr().Prefix(int(l.GetPrefixLen()))
	all, own := uint32(0), uint32(0)
	for o, f := range m.contacts {
		if o.table != k.table || m.lapsed(o, f) {
			continue
		}
		all++
		if host.Contains(o.host.Addr()) {
			own++
		}
	}
	switch {
	case own >= l.GetMaxSessions():
		return m.p.GetReasons()[l.GetReason()]
	case all >= t.GetMaxSessions():
		return m.p.GetReasons()[c.GetFull()]
	}
	return ""
}

// compareConnections notes which connections of the oracle the engine does not have, or in another state.
func compareConnections(all []connlimit.Connection, table string, seen []*programpb.Session) (diff []string) {
	type ends struct {
		proto        uint8
		host, remote netip.AddrPort
	}
	states := map[ends]string{}
	for _, s := range seen {
		host := netip.AddrPortFrom(packets.Addr(s.GetInsideAddress()), uint16(s.GetInsidePort()))
		remote := netip.AddrPortFrom(packets.Addr(s.GetRemoteAddress()), uint16(s.GetRemotePort()))
		states[ends{uint8(s.GetProto()), host, remote}] = s.GetState()
	}
	for _, c := range all {
		if c.Table != table || c.Loose {
			continue
		}
		if state := states[ends{c.Proto, c.Inside, c.Remote}]; state != c.State {
			diff = append(diff, fmt.Sprintf("connection %v: the engine says %q", c, state))
		}
	}
	return diff
}

// compareHosts checks that as many connections are counted of the heaviest hosts as they have, or more: what is over counts until it is reclaimed.
func (r *rig) compareHosts(all []connlimit.Connection, stats *controlpb.Stats) (diff []string) {
	for _, n := range r.g.Nodes {
		e, ok := n.Element.(element.ConnLimit)
		if !ok {
			continue
		}
		have := map[netip.Prefix]int{}
		for _, c := range all {
			if c.Table == e.Table {
				host, _ := c.Inside.Addr().Prefix(e.PerHost.PrefixLen)
				have[host]++
			}
		}
		for host, has := range have {
			if counted, ok := counted(stats, n.Name, host); ok && counted < has {
				diff = append(diff, fmt.Sprintf("%s: %d connections of %v are counted, it has %d", n.Name, counted, host, has))
			}
		}
	}
	return diff
}
