package model

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// pairing is a balancer's sessions, by what clients send, and the order in which entries of its table were taken.
type pairing struct {
	by    map[tuple]*serving
	table []int
}

// tuple is a flow as a client sends it.
type tuple struct {
	proto           uint8
	client, virtual netip.AddrPort
}

// serving is a session.
type serving struct {
	tuple
	backend netip.AddrPort
	last    time.Duration
	tcp     connection
}

const tableSize = 65537

// scramble is MurmurHash3's fmix64.
func scramble(k uint64) uint64 {
	for _, by := range [...]uint64{0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53} {
		k ^= k >> 33
		k *= by
	}
	return k ^ k>>33
}

// fill is the Maglev table: -1 is nobody's.
func fill(backends []*programpb.Backend) []int {
	table := slices.Repeat([]int{-1}, tableSize)
	var most uint32
	for _, b := range backends {
		most = max(most, b.GetWeight())
	}
	taken := make([]int, len(backends)) // entries of its permutation that a backend has asked for
	for turn, left := uint32(0), tableSize; most > 0 && left > 0; turn++ {
		for i, b := range backends {
			before, after := uint64(turn)*uint64(b.GetWeight())/uint64(most), uint64(turn+1)*uint64(b.GetWeight())/uint64(most)
			if before == after || left == 0 {
				continue
			}
			key := uint64(b.GetAddress())*65536 + uint64(b.GetPort())
			offset, skip := scramble(key)%tableSize, 1+scramble(key+1<<48)%(tableSize-1)
			for {
				at := (offset + uint64(taken[i])*skip) % tableSize
				taken[i]++
				if table[at] < 0 {
					table[at] = i
					left--
					break
				}
			}
		}
	}
	return table
}

func (m *Model) pairs(table uint32) *pairing {
	if m.served[table] == nil {
		m.served[table] = &pairing{map[tuple]*serving{}, fill(m.p.GetTables()[table].GetBalancer().GetBackends())}
	}
	return m.served[table]
}

// alive tells whether a session counts.
func (m *Model) alive(table uint32, p *serving) bool {
	b := m.p.GetTables()[table].GetBalancer()
	ms := b.GetUdpMs()
	switch {
	case p.proto == packets.ProtoTCP && p.tcp.open && !p.tcp.ends && p.tcp.answered:
		ms = b.GetTcpMs()
	case p.proto == packets.ProtoTCP:
		ms = b.GetTcpTransitoryMs()
	}
	return m.now-p.last <= time.Duration(ms)*time.Millisecond
}

// from is the session by what the client sends, to that by what the backend sends.
func (m *Model) pairFrom(table uint32, t tuple) *serving {
	if p := m.pairs(table).by[t]; p != nil && m.alive(table, p) {
		return p
	}
	return nil
}

func (m *Model) pairTo(table uint32, proto uint8, backend, client netip.AddrPort) *serving {
	for _, p := range m.pairs(table).by {
		if p.proto == proto && p.backend == backend && p.client == client && m.alive(table, p) {
			return p
		}
	}
	return nil
}

func (m *Model) touch(p *serving, ip []byte, direction int) {
	was := *p
	m.undo = append(m.undo, func() { *p = was })
	if p.proto != packets.ProtoTCP || p.tcp.hear(ip[int(ip[0]&15)*4:], direction) {
		p.last = m.now
	}
}

// errorAbout is the packet with ports that an ICMP error is about.
func errorAbout(s *Shot) []byte {
	if q := quote(s); q != nil && q[9] != packets.ProtoICMP && Ported(q[9]) {
		return q
	}
	return nil
}

func (m *Model) balance(s *Shot, table uint32) (reason string) {
	b := m.p.GetTables()[table].GetBalancer()
	switch {
	case s.Frag() != 0:
		return ""
	case isError(s):
		q := errorAbout(s)
		if q == nil {
			return m.p.GetReasons()[b.GetNoSession()]
		}
		src, dst := Ends(q)
		if b.GetStateless() && packets.Number(src.Addr()) == s.Field(programpb.Field_DST) {
			return m.scatter(s, table, tuple{q[9], dst, src})
		}
		p := m.pairFrom(table, tuple{q[9], dst, src})
		if p == nil || packets.Number(src.Addr()) != s.Field(programpb.Field_DST) {
			return m.p.GetReasons()[b.GetNoSession()]
		}
		if b.GetDirect() {
			s.hop = packets.Number(p.backend.Addr())
			return ""
		}
		s.set(programpb.Field_DST, packets.Number(p.backend.Addr()))
		write(q, 12, p.backend)
		return ""
	case !s.ported():
		return ""
	}
	src, dst := Ends(s.IP)
	t := tuple{s.IP[9], src, dst}
	if b.GetStateless() {
		return m.scatter(s, table, t)
	}
	p := m.pairFrom(table, t)
	if p == nil {
		if p, reason = m.serve(table, t); p == nil {
			return m.p.GetReasons()[map[string]uint32{"no-backend": b.GetNoBackend(), "full": b.GetFull()}[reason]]
		}
	}
	if b.GetDirect() {
		m.touch(p, s.IP, 0)
		s.hop = packets.Number(p.backend.Addr())
		return ""
	}
	m.touch(p, s.IP, 1)
	write(s.IP, 16, p.backend)
	return ""
}

// scatter sends a packet by the backend that the table has for its flow.
func (m *Model) scatter(s *Shot, table uint32, t tuple) (reason string) {
	b := m.p.GetTables()[table].GetBalancer()
	k := m.pairs(table).table[m.placeOf(b, t)]
	if k < 0 {
		return m.p.GetReasons()[b.GetNoBackend()]
	}
	s.hop = b.GetBackends()[k].GetAddress()
	return ""
}

// placeOf is the entry of the table that is asked for a flow first.
func (*Model) placeOf(b *programpb.Balancer, t tuple) uint64 {
	client, virtual := uint64(packets.Number(t.client.Addr())), uint64(packets.Number(t.virtual.Addr()))
	if b.GetByClient() {
		return scramble(scramble(client<<32)) % tableSize
	}
	h := scramble(client<<32 | virtual)
	return scramble(h+uint64(t.client.Port())<<48+uint64(t.virtual.Port())<<32+uint64(t.proto)) % tableSize
}

// serve makes a session.
func (m *Model) serve(table uint32, t tuple) (_ *serving, reason string) {
	all, b := m.pairs(table), m.p.GetTables()[table].GetBalancer()
	at := m.placeOf(b, t)
	if all.table[at] < 0 {
		return nil, "no-backend"
	}
	used, n := map[netip.AddrPort]bool{}, 0
	for _, p := range all.by {
		if p.proto == t.proto && p.client == t.client && m.alive(table, p) {
			used[p.backend] = true
			n++
		}
	}
	for i := range uint64(64) {
		k := b.GetBackends()[all.table[(at+i)%tableSize]]
		to := netip.AddrPortFrom(packets.Addr(k.GetAddress()), cmp.Or(uint16(k.GetPort()), t.virtual.Port()))
		if n >= 64 || used[to] && !b.GetDirect() {
			continue
		}
		p := &serving{tuple: t, backend: to, last: m.now, tcp: connection{oneWay: b.GetDirect(), answered: b.GetDirect(), shift: [2]int{-1, -1}}}
		was := all.by[t]
		all.by[t] = p
		m.undo = append(m.undo, func() {
			if delete(all.by, t); was != nil {
				all.by[t] = was
			}
		})
		return p, ""
	}
	return nil, "full"
}

func (m *Model) balanceBack(s *Shot, table uint32) {
	switch {
	case s.Frag() != 0:
	case isError(s):
		q := errorAbout(s)
		if q == nil {
			return
		}
		src, dst := Ends(q)
		if p := m.pairTo(table, q[9], dst, src); p != nil {
			s.set(programpb.Field_SRC, packets.Number(p.virtual.Addr()))
			write(q, 16, p.virtual)
		}
	case s.ported():
		src, dst := Ends(s.IP)
		if p := m.pairTo(table, s.IP[9], src, dst); p != nil {
			m.touch(p, s.IP, 0)
			write(s.IP, 12, p.virtual)
		}
	}
}
