package model

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/interp"
	napt "github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

type flow struct {
	run            uint32
	proto          uint8
	inside, remote netip.AddrPort
}

type endpoint struct {
	proto  uint8
	at     netip.AddrPort
	remote netip.AddrPort // where flows with several share an outside port; of protocols without ports its address
}

// endpointOf is where a flow's return packets come.
func (m *Model) endpointOf(table uint32, proto uint8, at, remote netip.AddrPort) endpoint {
	switch {
	case !Ported(proto):
		return endpoint{proto, at, netip.AddrPortFrom(remote.Addr(), 0)}
	case m.shares(table):
		return endpoint{proto, at, remote}
	}
	return endpoint{proto: proto, at: at}
}

// shares tells whether flows of a table share outside ports.
func (m *Model) shares(table uint32) bool {
	return m.p.GetTables()[table].GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT
}

// alike tells whether a flow has the mapping of a binding.
func (m *Model) alike(table uint32, b *binding, f flow) bool {
	return Ported(f.proto) && b.run == f.run && b.proto == f.proto && b.inside == f.inside &&
		(m.p.GetTables()[table].GetMapping() == programpb.Dependence_ENDPOINT_INDEPENDENT || b.remote.Addr() == f.remote.Addr())
}

// mapped are the outside address and port that a flow has as others have them.
func (m *Model) mapped(table uint32, f flow) (netip.AddrPort, bool) {
	for _, b := range m.tables[table].inside {
		if m.shares(table) && m.alike(table, b, f) && m.live(b) {
			return b.out, true
		}
	}
	return netip.AddrPort{}, false
}

// occupied tells whether a flow may not have an outside address and port, as others have it or had it a short while ago.
func (m *Model) occupied(table uint32, f flow, at netip.AddrPort) bool {
	if m.rests(table, f, at) {
		return true
	}
	if !Ported(f.proto) || !m.shares(table) {
		b := m.tables[table].outside[m.endpointOf(table, f.proto, at, f.remote)]
		return b != nil && m.live(b)
	}
	for _, b := range m.tables[table].inside {
		if b.proto == f.proto && b.out == at && m.live(b) {
			return true
		}
	}
	return false
}

// rests tells whether an outside address and port was another mapping's a short while ago. One that comes back may have its own again.
func (m *Model) rests(table uint32, f flow, at netip.AddrPort) bool {
	rest := time.Duration(m.p.GetTables()[table].GetPortRestMs()) * time.Millisecond
	if rest == 0 || !Ported(f.proto) {
		return false
	}
	last := m.tables[table].used[endpoint{proto: f.proto, at: at}]
	for _, b := range m.tables[table].inside {
		if b.proto == f.proto && b.out == at && (last == nil || m.expiry(b) > m.expiry(last)) {
			last = b
		}
	}
	return last != nil && m.now-m.expiry(last) < rest && last.flow != f && !(m.shares(table) && m.alike(table, last, f))
}

// paired tells whether a flow with ports may have an outside address, as far as its host has one.
func (m *Model) paired(table uint32, f flow, at netip.Addr) bool {
	if !m.p.GetTables()[table].GetPaired() {
		return true
	}
	for _, b := range m.tables[table].inside {
		if Ported(b.proto) && b.inside.Addr() == f.inside.Addr() && m.live(b) {
			return b.out.Addr() == at
		}
	}
	return true
}

// crowded tells whether a mapping may have no other flow with the remote's address.
func (m *Model) crowded(table uint32, f flow) bool {
	n := 0
	for _, b := range m.tables[table].inside {
		if m.alike(table, b, f) && b.remote.Addr() == f.remote.Addr() && m.live(b) {
			n++
		}
	}
	return m.p.GetTables()[table].GetFiltering() == programpb.Dependence_ADDRESS_DEPENDENT && n >= 64
}

// begun is a binding that begins with a packet from outside; nil: the filter does not let it, or there is a reason.
func (m *Model) begun(table uint32, proto uint8, at, remote netip.AddrPort) (b *binding, reason string) {
	if proto != packets.ProtoTCP && proto != packets.ProtoUDP {
		return nil, ""
	}
	filter := m.p.GetTables()[table].GetFiltering()
	for _, known := range m.tables[table].inside {
		lets := filter == programpb.Dependence_ENDPOINT_INDEPENDENT ||
			filter == programpb.Dependence_ADDRESS_DEPENDENT && known.remote.Addr() == remote.Addr()
		if !lets || known.proto != proto || known.out != at || !m.live(known) {
			continue
		}
		f := flow{known.run, proto, known.inside, remote}
		if reason, limited := m.limited(f, false); limited {
			return nil, reason
		}
		if m.crowded(table, f) {
			return nil, "nat-exhausted"
		}
		return m.bind(table, f, at), ""
	}
	return nil, ""
}

// Ported tells whether packets of a protocol have ports, as NAPTs see it.
func Ported(proto uint8) bool {
	return proto == packets.ProtoTCP || proto == packets.ProtoUDP || proto == packets.ProtoICMP
}

// binding is an entry of a state table.
type binding struct {
	flow
	out  netip.AddrPort
	last time.Duration
	tcp  connection
}

// bindings is a state table, by what is translated and by what it is translated to.
type bindings struct {
	inside  map[flow]*binding
	outside map[endpoint]*binding
	cursor  int
	used    map[endpoint]*binding // the last of a port's bindings that are not kept
}

// connection is what a binding knows of TCP: whether it was answered from outside, whether inside acknowledged that, whether it ends;
// and by direction (0: forth) what the sender expects: the next number, and how many from there on.
type connection struct {
	answered, open, ends bool
	checked              bool // by a firewall: RSTs come as they should
	oneWay               bool // only what the side that began says is seen: it is believed
	expects              [2]uint32
	window               [2]uint32
	shift                [2]int // -1: no scale
}

func (m *Model) live(b *binding) bool { return m.now <= m.expiry(b) }

// expiry is when a binding has been idle for too long.
func (m *Model) expiry(b *binding) time.Duration {
	run := m.p.GetRuns()[b.run]
	ms := run.GetUdpMs() // also of protocols without ports
	switch {
	case b.proto == packets.ProtoICMP:
		ms = run.GetIcmpMs()
	case b.proto == packets.ProtoTCP && b.tcp.open && !b.tcp.ends:
		ms = run.GetTcpMs()
	case b.proto == packets.ProtoTCP:
		ms = run.GetTcpTransitoryMs()
	}
	return b.last + time.Duration(ms)*time.Millisecond
}

// from is the live binding of a flow from inside.
func (m *Model) from(table uint32, f flow) *binding {
	if b := m.tables[table].inside[f]; b != nil && m.live(b) {
		return b
	}
	return nil
}

// to is the live binding with an outside address and port, and a remote.
func (m *Model) to(table uint32, proto uint8, at, remote netip.AddrPort) *binding {
	if b := m.tables[table].outside[m.endpointOf(table, proto, at, remote)]; b != nil && b.remote == remote && m.live(b) {
		return b
	}
	return nil
}

// use refreshes a binding.
func (m *Model) use(b *binding, ip []byte, forth bool) {
	was := *b
	m.undo = append(m.undo, func() { *b = was })
	direction := 1
	if forth {
		direction = 0
	}
	if b.proto != packets.ProtoTCP || b.tcp.hear(ip[int(ip[0]&15)*4:], direction) {
		b.last = m.now
	}
}

// hear tells whether a segment counts as use.
func (c *connection) hear(b []byte, direction int) bool {
	var has [256]bool
	for _, flag := range []byte{packets.SYN, packets.ACK, packets.FIN, packets.RST} {
		has[flag] = b[13]&flag != 0
	}
	other := 1 - direction
	if has[packets.RST] {
		window := uint64(c.window[other])
		if c.shift[0] >= 0 && c.shift[1] >= 0 {
			window <<= c.shift[other]
		}
		ahead := uint64(binary.BigEndian.Uint32(b[4:]) - c.expects[other])
		if !c.open || c.ends || !c.checked && !c.oneWay && ahead > window {
			return false
		}
		c.ends = true
		return true
	}
	if has[packets.SYN] && !has[packets.ACK] && c.ends {
		*c = connection{checked: c.checked, oneWay: c.oneWay, answered: c.oneWay, shift: [2]int{-1, -1}}
	}
	if direction == 1 {
		c.answered = true
	} else if c.answered && has[packets.ACK] && !has[packets.SYN] {
		c.open = true
	}
	c.ends = c.ends || has[packets.FIN]
	if has[packets.SYN] && !c.open {
		c.shift[direction] = shiftOf(b[20 : b[12]>>4*4])
	}
	c.expects[direction] = binary.BigEndian.Uint32(b[8:])
	c.window[direction] = uint32(binary.BigEndian.Uint16(b[14:]))
	return true
}

// shiftOf is a SYN's window scale, -1 without.
func shiftOf(options []byte) int {
	for i := 0; i < len(options) && options[i] != 0; {
		switch {
		case options[i] == 1:
			i++
		case i+1 >= len(options) || options[i+1] < 2 || i+int(options[i+1]) > len(options):
			return -1
		case options[i] == 3 && options[i+1] == 3:
			return min(int(options[i+2]), 14)
		default:
			i += int(options[i+1])
		}
	}
	return -1
}

// Ends are the addresses and ports of a packet as a NAPT knows it; ICMP has only an identifier.
func Ends(ip []byte) (src, dst netip.AddrPort) {
	b := ip[int(ip[0]&15)*4:]
	var sport, dport uint16
	switch {
	case !Ported(ip[9]):
	case ip[9] != packets.ProtoICMP:
		sport, dport = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	case b[0] == packets.ICMPEchoRequest || b[0] == packets.ICMPTimestamp:
		sport = binary.BigEndian.Uint16(b[4:])
	default:
		dport = binary.BigEndian.Uint16(b[4:])
	}
	at := func(i int, port uint16) netip.AddrPort {
		return netip.AddrPortFrom(packets.Addr(binary.BigEndian.Uint32(ip[i:])), port)
	}
	return at(12, sport), at(16, dport)
}

// told tells whether a packet's flow can be told: ports lie in a header, which must be there.
func (s *Shot) told() bool { return !Ported(s.IP[9]) || Headed(s.IP) }

func isError(s *Shot) bool {
	return s.IP[9] == packets.ProtoICMP && Headed(s.IP) && slices.Contains([]byte{3, 11, 12}, s.transport()[0])
}

// quote is the packet that an ICMP error quotes, if a flow can be told from it.
func quote(s *Shot) []byte {
	q := s.transport()[8:]
	if len(q) < 20 || q[0]>>4 != 4 || q[0]&15 < 5 || len(q) < int(q[0]&15)*4+8 || binary.BigEndian.Uint16(q[6:])&0x1fff != 0 {
		return nil
	}
	switch q[9] {
	case packets.ProtoTCP, packets.ProtoUDP:
		return q
	case packets.ProtoICMP:
		if slices.Contains([]byte{0, 8, 13, 14}, q[int(q[0]&15)*4]) {
			return q
		}
		return nil
	case 33, 51, 136: // DCCP, AH, UDP-Lite
		return nil
	}
	return q
}

// direction tells whether a quoted packet can be one from inside (forth), or one to it: a query is from inside, a reply to it.
func direction(q []byte, forth bool) bool {
	if q[9] != packets.ProtoICMP {
		return true
	}
	typ := q[int(q[0]&15)*4]
	return forth == (typ == packets.ICMPEchoRequest || typ == packets.ICMPTimestamp)
}

// write puts an address and port into a packet, as source (at 12) or destination (at 16).
func write(ip []byte, at int, a netip.AddrPort) {
	binary.BigEndian.PutUint32(ip[at:], packets.Number(a.Addr()))
	b := ip[int(ip[0]&15)*4:]
	switch {
	case !Ported(ip[9]):
	case ip[9] == packets.ProtoICMP:
		binary.BigEndian.PutUint16(b[4:], a.Port())
	case at == 12:
		binary.BigEndian.PutUint16(b, a.Port())
	default:
		binary.BigEndian.PutUint16(b[2:], a.Port())
	}
}

func (m *Model) forward(s *Shot, run uint32) (reason string) {
	table := m.p.GetRuns()[run].GetTable()
	if isError(s) {
		q := quote(s)
		switch single := m.p.GetRuns()[run].GetSingle(); {
		case q == nil || !direction(q, false):
			return "nat-unsupported"
		case Ported(q[9]) || len(single) == 0:
			return m.forwardError(s, q, run)
		default:
			for _, run := range single {
				if reason := m.forwardError(s, q, run); reason != "" {
					return reason
				}
			}
			return ""
		}
	}
	if !s.told() {
		return "nat-unsupported"
	}
	src, dst := Ends(s.IP)
	f := flow{run, s.IP[9], src, dst}
	b := m.from(table, f)
	if b == nil {
		out, ok := m.mapped(table, f)
		if reason, limited := m.limited(f, !ok); limited {
			return reason
		}
		if !ok {
			out, ok = m.choose(table, f)
		}
		if !ok || m.crowded(table, f) {
			return "nat-exhausted"
		}
		b = m.bind(table, f, out)
	}
	m.use(b, s.IP, true)
	write(s.IP, 12, b.out)
	return ""
}

// forwardError translates an error about a packet q that was delivered by a binding of the run.
func (m *Model) forwardError(s *Shot, q []byte, run uint32) (reason string) {
	table := m.p.GetRuns()[run].GetTable()
	from, to := Ends(q)
	b := m.from(table, flow{run, q[9], to, from})
	for _, r := range m.returned {
		if m.p.GetRuns()[r.run].GetTable() == table && r.proto == q[9] && r.inside == to && r.remote == from {
			b = r
		}
	}
	if b == nil {
		return "nat-unsupported"
	}
	binary.BigEndian.PutUint32(s.IP[12:], packets.Number(b.out.Addr()))
	write(q, 16, b.out)
	return ""
}

// bind makes a binding in the place of expired ones.
func (m *Model) bind(table uint32, f flow, out netip.AddrPort) *binding {
	t := &m.tables[table]
	at := m.endpointOf(table, f.proto, out, f.remote)
	wasFlow, wasOut := t.inside[f], t.outside[at]
	for _, was := range []*binding{wasFlow, wasOut} {
		if was != nil {
			end := endpoint{proto: was.proto, at: was.out}
			if last := t.used[end]; last == nil || m.expiry(last) <= m.expiry(was) {
				t.used[end] = was
			}
		}
	}
	b := &binding{flow: f, out: out, last: m.now, tcp: connection{shift: [2]int{-1, -1}}}
	if wasFlow != nil {
		if there := m.endpointOf(table, f.proto, wasFlow.out, f.remote); t.outside[there] == wasFlow {
			delete(t.outside, there)
		}
	}
	if wasOut != nil && t.inside[wasOut.flow] == wasOut {
		delete(t.inside, wasOut.flow)
	}
	t.inside[f], t.outside[at] = b, b
	m.made = append(m.made, b)
	m.undo = append(m.undo, func() { // what was there had expired
		delete(t.inside, f)
		delete(t.outside, at)
	})
	return b
}

// choose is the next free outside port.
func (m *Model) choose(table uint32, f flow) (netip.AddrPort, bool) {
	p, t := m.p.GetTables()[table], &m.tables[table]
	var addrs []uint32
	for _, r := range p.GetPool() {
		for a := r.GetFirst(); a <= r.GetLast(); a++ {
			addrs = append(addrs, a)
		}
	}
	if !Ported(f.proto) {
		return m.chooseAddress(addrs, f, table)
	}
	ports := int(p.GetPortMax()-p.GetPortMin()) + 1
	for range ports * len(addrs) {
		t.cursor = (t.cursor + 1) % (ports * len(addrs))
		out := netip.AddrPortFrom(packets.Addr(addrs[t.cursor/ports]), uint16(int(p.GetPortMin())+t.cursor%ports))
		if !m.occupied(table, f, out) && !reserved(p, f.proto, out) && m.paired(table, f, out.Addr()) {
			return out, true
		}
	}
	return netip.AddrPort{}, false
}

// chooseAddress is the first address that no flow of the protocol to the same remote has, from the one that the source tells on.
func (m *Model) chooseAddress(addrs []uint32, f flow, table uint32) (out netip.AddrPort, ok bool) {
	slices.Sort(addrs)
	n := uint32(min(len(addrs), 32))
	for i := range n {
		at := netip.AddrPortFrom(packets.Addr(addrs[(packets.Number(f.inside.Addr())%n+i)%n]), 0)
		if !m.occupied(table, f, at) {
			return at, true
		}
	}
	return netip.AddrPort{}, false
}

func (m *Model) back(s *Shot, table uint32) (left bool) {
	var b *binding
	if isError(s) {
		if q := quote(s); q != nil {
			from, to := Ends(q) // a packet that we sent
			if direction(q, true) && from.Addr() == packets.Addr(s.Field(programpb.Field_DST)) {
				b = m.to(table, q[9], from, to)
			}
			if b != nil {
				binary.BigEndian.PutUint32(s.IP[16:], packets.Number(b.inside.Addr()))
				write(q, 12, b.inside)
			}
		}
	} else if s.told() {
		src, dst := Ends(s.IP)
		b = m.to(table, s.IP[9], dst, src)
		if b == nil {
			var reason string
			if b, reason = m.begun(table, s.IP[9], dst, src); reason != "" {
				return m.drop(reason)
			}
		}
		if b != nil {
			m.use(b, s.IP, false)
			m.returned = append(m.returned, b)
			write(s.IP, 16, b.inside)
		}
	}
	if b == nil {
		return m.drop("nat-no-binding")
	}
	return m.segment(s, m.p.GetRuns()[b.run].GetSegment())
}

// Choices are what the model's NAPTs chose for the present frame; naptsOf are those of a run.
func (m *Model) Choices(naptsOf func(run string) []string) (list []interp.Told) {
	for _, b := range m.made {
		napts := naptsOf(m.p.GetRuns()[b.run].GetName())
		list = append(list, napt.Choice{NAPTs: napts, Proto: b.proto, Inside: b.inside, Outside: b.out, Remote: b.remote})
	}
	return list
}
