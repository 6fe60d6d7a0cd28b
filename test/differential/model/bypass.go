package model

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// passage is a flow of which a function has let packets through.
type passage struct {
	followed
	wanting uint32 // packets until it goes past
}

// ended tells whether it has been idle for too long.
func (m *Model) ended(k known, f *passage) bool {
	t := m.p.GetTables()[k.table].GetPassing()
	if k.proto == packets.ProtoTCP && f.tcp.ends {
		return m.now-f.last > time.Duration(t.GetTcpClosingMs())*time.Millisecond
	}
	return m.now-f.last > patience(t, k.proto, &f.tcp)
}

// passageOf is the flow of a packet as a table may know it; along: it began in the packet's direction. false: the packet tells none.
func (m *Model) passageOf(s *Shot, table uint32, outside bool) (k known, f *passage, along, ok bool) {
	if !s.tellsFlow() {
		return known{}, nil, false, false
	}
	src, dst := Ends(s.IP)
	here := known{table, s.IP[9], src, dst, outside}
	if f := m.passages[here]; f != nil && !m.ended(here, f) {
		return here, f, true, true
	}
	there := known{table, s.IP[9], dst, src, !outside}
	if f := m.passages[there]; f != nil && !m.ended(there, f) {
		return there, f, false, true
	}
	return here, nil, true, true
}

// tellsFlow tells whether a packet tells a flow, as it is itself.
func (s *Shot) tellsFlow() bool {
	pings := []byte{packets.ICMPEchoRequest, packets.ICMPTimestamp, packets.ICMPEchoReply, packets.ICMPTimestampReply}
	return s.Frag() == 0 && s.told() && (s.IP[9] != packets.ProtoICMP || slices.Contains(pings, s.transport()[0]))
}

// opens tells a segment that begins a connection, of a packet that tells a flow.
func (s *Shot) opens() bool {
	return s.IP[9] == packets.ProtoTCP && s.transport()[13]&(packets.SYN|packets.ACK) == packets.SYN
}

// bypass has a packet go through a function or past it.
func (m *Model) bypass(s *Shot, b *programpb.Bypass) (left bool) {
	_, f, along, ok := m.passageOf(s, b.GetTable(), b.GetFromOutside())
	if !ok || s.opens() || f == nil || f.wanting > 0 {
		return m.segment(s, b.GetThrough())
	}
	m.follow(&f.followed, s, along)
	return m.segment(s, b.GetPast())
}

// passed counts a packet that the function let through.
func (m *Model) passed(s *Shot, p *programpb.Passed) {
	table := p.GetTable()
	k, f, along, ok := m.passageOf(s, table, p.GetFromOutside())
	if !ok {
		return
	}
	if f != nil && s.opens() { // even if the packet is dropped
		delete(m.passages, k)
		f = nil
	}
	if f == nil {
		t := m.p.GetTables()[table]
		if m.livePassages(table) >= int(t.GetMaxSessions()) {
			return
		}
		src, dst := Ends(s.IP)
		begun := known{table, s.IP[9], src, dst, p.GetFromOutside()}
		delete(m.passages, known{table, s.IP[9], dst, src, !p.GetFromOutside()}) // it is over
		f, along = &passage{followed{last: m.now, tcp: connection{shift: [2]int{-1, -1}}}, t.GetPassing().GetPackets()}, true
		m.passages[begun] = f
		m.undo = append(m.undo, func() { delete(m.passages, begun) })
	}
	m.due = append(m.due, func() { f.wanting = max(f.wanting, 1) - 1 })
	m.follow(&f.followed, s, along)
}

// livePassages are how many flows a table has.
func (m *Model) livePassages(table uint32) (n int) {
	for k, f := range m.passages {
		if k.table == table && !m.ended(k, f) {
			n++
		}
	}
	return n
}
