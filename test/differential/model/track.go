package model

import (
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// known is a flow that a table follows, by the protocol, the ends of the packet that began it, and whether that came from outside.
type known struct {
	table    uint32
	proto    uint8
	from, to netip.AddrPort
	outside  bool
}

// followed is what is known of one.
type followed struct {
	last time.Duration
	tcp  connection
	win  checking
}

// over tells whether it has been idle for too long.
func (m *Model) over(k known, f *followed) bool {
	return m.now-f.last > patience(m.p.GetTables()[k.table].GetTracking(), k.proto, &f.tcp)
}

// timed are the timeouts of a table.
type timed interface {
	GetTcpMs() uint32
	GetTcpTransitoryMs() uint32
	GetUdpMs() uint32
	GetIcmpMs() uint32
}

// patience is for how long a flow may be idle.
func patience(t timed, proto uint8, c *connection) time.Duration {
	ms := t.GetUdpMs()
	switch {
	case proto == packets.ProtoICMP:
		ms = t.GetIcmpMs()
	case proto == packets.ProtoTCP && c.answered && c.open && !c.ends:
		ms = t.GetTcpMs()
	case proto == packets.ProtoTCP:
		ms = t.GetTcpTransitoryMs()
	}
	return time.Duration(ms) * time.Millisecond
}

// flowOf is the flow of an IP packet in its direction, as a table may know it; along: it began in this one.
func (m *Model) flowOf(table uint32, ip []byte, outside bool) (k known, f *followed, along bool) {
	src, dst := Ends(ip)
	k = known{table, ip[9], src, dst, outside}
	for _, along := range []bool{true, false} {
		if f := m.follows[k]; f != nil && !m.over(k, f) {
			return k, f, along
		}
		k.from, k.to, k.outside = k.to, k.from, !k.outside
	}
	return k, nil, true
}

// asks tells a query of ICMP from a reply to one.
func asks(ip []byte) bool {
	return slices.Contains([]byte{packets.ICMPEchoRequest, packets.ICMPTimestamp}, ip[int(ip[0]&15)*4])
}

func (m *Model) track(s *Shot, t *programpb.Track) (left bool) {
	if isError(s) {
		if q := quote(s); q != nil && s.Frag() == 0 && netip.AddrPort.Addr(first(Ends(q))) == packets.Addr(s.Field(programpb.Field_DST)) {
			if _, f, along := m.flowOf(t.GetTable(), q, !t.GetFromOutside()); f != nil && (q[9] != packets.ProtoICMP || asks(q) == along) {
				return m.segment(s, t.GetRelated())
			}
		}
		return m.segment(s, t.GetInvalid())
	}
	if !s.told() {
		return m.segment(s, t.GetInvalid())
	}
	_, f, along := m.flowOf(t.GetTable(), s.IP, t.GetFromOutside())
	switch {
	case f == nil && t.GetOpens(), f != nil && t.GetSyn() && f.tcp.ends:
		return m.segment(s, t.GetNew())
	case f == nil || s.IP[9] == packets.ProtoICMP && asks(s.IP) != along, f.win.on && !f.win.takes(segmentOf(s.IP), directionOf(along), &f.tcp):
		return m.segment(s, t.GetInvalid())
	}
	m.follow(f, s, along)
	return m.segment(s, t.GetEstablished())
}

func first[A, B any](a A, _ B) A { return a }

// directionOf is 0 for packets of the side that began.
func directionOf(along bool) int {
	if along {
		return 0
	}
	return 1
}

// follow has a packet refresh its flow.
func (m *Model) follow(f *followed, s *Shot, along bool) {
	was := *f
	m.undo = append(m.undo, func() { *f = was })
	direction := directionOf(along)
	if f.win.on {
		f.win.hear(segmentOf(s.IP), direction, &f.tcp)
		f.tcp.checked = true
	}
	if s.IP[9] != packets.ProtoTCP || f.tcp.hear(s.transport(), direction) {
		f.last = m.now
	}
}

// admit begins a flow; of one that ends nothing is left then.
func (m *Model) admit(s *Shot, a *programpb.Admit) (reason string) {
	table := a.GetTable()
	k, f, along := m.flowOf(table, s.IP, a.GetFromOutside())
	if f == nil && m.flows(table) >= int(m.p.GetTables()[table].GetMaxSessions()) {
		return m.p.GetReasons()[a.GetFull()]
	}
	if f == nil || f.tcp.ends {
		if was := f; was != nil {
			delete(m.follows, k)
			m.undo = append(m.undo, func() { m.follows[k] = was })
		}
		src, dst := Ends(s.IP)
		begun := known{table, s.IP[9], src, dst, a.GetFromOutside()}
		delete(m.follows, known{table, s.IP[9], dst, src, !a.GetFromOutside()}) // it is over
		f, along = &followed{last: m.now, tcp: connection{shift: [2]int{-1, -1}}}, true
		f.win.on = m.p.GetTables()[table].GetTracking().GetStrict() && s.IP[9] == packets.ProtoTCP && segmentOf(s.IP).syn
		m.follows[begun] = f
		m.undo = append(m.undo, func() { delete(m.follows, begun) })
	}
	m.follow(f, s, along)
	return ""
}

// flows is how many a table follows.
func (m *Model) flows(table uint32) (n int) {
	for k, f := range m.follows {
		if k.table == table && !m.over(k, f) {
			n++
		}
	}
	return n
}
