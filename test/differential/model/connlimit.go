package model

import (
	"net/netip"
	"slices"
	"time"

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
func (m *Model) lapsed(k contact, f *followed) bool {
	l := m.p.GetTables()[k.table].GetConnectionLimit()
	if k.proto == packets.ProtoTCP && f.tcp.ends {
		return m.now-f.last > time.Duration(l.GetTcpClosingMs())*time.Millisecond
	}
	return m.now-f.last > patience(l, k.proto, &f.tcp)
}

// contactOf is the connection that a packet tells; false: none.
func contactOf(s *Shot, c *programpb.Connect) (k contact, ok bool) {
	if s.Frag() != 0 || !s.told() {
		return contact{}, false
	}
	src, dst := Ends(s.IP)
	types := []byte{packets.ICMPEchoRequest, packets.ICMPTimestamp}
	k = contact{c.GetTable(), s.IP[9], src, dst}
	if c.GetFromOutside() {
		types = []byte{packets.ICMPEchoReply, packets.ICMPTimestampReply}
		k.host, k.remote = dst, src
	}
	return k, s.IP[9] != packets.ProtoICMP || slices.Contains(types, s.transport()[0])
}

// connect has a packet use its connection, or begin it.
func (m *Model) connect(s *Shot, c *programpb.Connect) (reason string) {
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
func (m *Model) overfull(k contact, c *programpb.Connect) (reason string) {
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
