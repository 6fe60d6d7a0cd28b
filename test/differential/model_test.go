package differential

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// model runs a program as program.proto says, box after box and operation after operation. It is a third
// opinion: where it agrees with the engine against the oracle, the program is wrong; where it
// agrees with the oracle, the engine is.
type model struct {
	p      *programpb.Program
	links  []graph.Interface
	tables []bindings

	now    time.Duration
	pings  []ping // in fragments, to own addresses
	result interp.Result
	undo   []func() // takes back what was done to state
	// returned are the bindings by which this packet was translated back: an error about it, made on
	// its way, is about them, whatever the run that it meets.
	returned []*binding
	visits   []visit // of the present frame, in order
	// ends are what is said of the legs that were met.
	ends map[*programpb.Leg][]program.End
}

// visit is a leg that a copy of the frame, or of what it was answered with, took.
type visit struct {
	segment int
	leg     *programpb.Leg
	seen    *shot  // as the segment saw it
	drop    string // the reason under which it ended here
}

// ping is the first fragment of one.
type ping struct {
	key   string // addresses and identification
	until time.Duration
}

// bindings is a state table, by what is translated and by what it is translated to.
type bindings struct {
	inside  map[flow]*binding
	outside map[endpoint]*binding
	cursor  int
}

type flow struct {
	run            uint32
	proto          uint8
	inside, remote netip.AddrPort
}

type endpoint struct {
	proto  uint8
	at     netip.AddrPort
	remote netip.Addr // of protocols without ports, which are told apart by it
}

// endpointOf is where a flow's return packets come.
func endpointOf(proto uint8, at, remote netip.AddrPort) endpoint {
	if ported(proto) {
		return endpoint{proto: proto, at: at}
	}
	return endpoint{proto, at, remote.Addr()}
}

func ported(proto uint8) bool {
	return proto == packets.ProtoTCP || proto == packets.ProtoUDP || proto == packets.ProtoICMP
}

// binding is an entry of a state table.
type binding struct {
	flow
	out  netip.AddrPort
	last time.Duration
	tcp  connection
}

// connection is what a binding knows of TCP: whether it was answered from outside, whether inside acknowledged that, whether it ends;
// and by direction (0: forth) what the sender expects: the next number, and how many from there on.
type connection struct {
	answered, open, ends bool
	expects              [2]uint32
	window               [2]uint32
	shift                [2]int // -1: no scale
}

// shot is an IP packet at one place of the program: ip has the checksums of before until seal moves them.
type shot struct {
	entry      int
	tpid, tci  uint16
	before, ip []byte
	padding    []byte
	hop        uint32
}

func newModel(p *programpb.Program, links []graph.Interface) *model {
	m := &model{p: p, links: links, ends: map[*programpb.Leg][]program.End{}}
	for range p.GetTables() {
		m.tables = append(m.tables, bindings{inside: map[flow]*binding{}, outside: map[endpoint]*binding{}})
	}
	return m
}

// tag gives the packet the frame's tag, unless that says a priority only.
func (s *shot) tag(t packets.Tag) {
	if t.TCI&0xfff != 0 {
		s.tpid, s.tci = t.TPID, t.TCI
	}
}

// process runs a frame that has passed the checks of docs/elements.md, "Entry".
func (m *model) process(now time.Duration, iface int, frame []byte) interp.Result {
	m.now, m.result, m.undo, m.returned, m.visits = now, interp.Result{}, nil, nil, m.visits[:0]
	v, _ := packets.Parse(frame)
	s := &shot{entry: iface}
	at := 14
	if len(v.Tags) > 0 {
		s.tag(v.Tags[0])
		at += 4
	}
	total := int(binary.BigEndian.Uint16(frame[at+2:]))
	s.before, s.ip, s.padding = frame[at:at+total], bytes.Clone(frame[at:at+total]), frame[at+total:]
	m.segment(s, m.p.GetInterfaces()[iface].GetSegment())
	return m.result
}

func (m *model) drop(reason string) (left bool) {
	if v := &m.visits[len(m.visits)-1]; v.drop == "" {
		v.drop = reason
	}
	m.result.Drops = append(m.result.Drops, interp.Drop{Reason: reason})
	return false
}

// segment runs a packet from a segment on; it tells whether a copy left, or reached a generator. What was done to
// state on the way of a copy that did not is taken back.
func (m *model) segment(s *shot, n uint32) (left bool) {
	seg := m.p.GetSegments()[n]
	table := seg.GetTable()
	fragment := binary.BigEndian.Uint16(s.ip[6:])&0x3fff != 0
	if uint32(s.ip[8]) < seg.GetTtlFloor() || seg.GetWholeOnly() && fragment {
		table = seg.GetLow()
	}
	for _, l := range seg.GetClasses()[s.class(table)].GetLegs() {
		c := *s
		c.ip = bytes.Clone(s.ip)
		mark := len(m.undo)
		m.visits = append(m.visits, visit{segment: int(n), leg: l, seen: s})
		if m.leg(&c, l) {
			left = true
		} else {
			for ; len(m.undo) > mark; m.undo = m.undo[:len(m.undo)-1] {
				m.undo[len(m.undo)-1]()
			}
		}
	}
	return left
}

// class is the class of the first box that holds the packet.
func (s *shot) class(t *programpb.Table) uint32 {
	words := (len(t.GetBits()) + 63) / 64
	mask := make([]uint64, words)
	for i, b := range t.GetBits() {
		v := s.field(b.GetField())
		for r := 0; r < len(b.GetRanges()); r += 2 {
			if b.GetRanges()[r] <= v && v <= b.GetRanges()[r+1] {
				mask[i/64] |= 1 << (i % 64)
			}
		}
	}
	key := make([]uint32, len(t.GetDims()))
	for d, f := range t.GetDims() {
		key[d] = s.field(f)
	}
boxes:
	for box, class := range t.GetClasses() {
		for d, v := range key {
			if at := 2 * (box*len(key) + d); v < t.GetBounds()[at] || v > t.GetBounds()[at+1] {
				continue boxes
			}
		}
		for w, have := range mask {
			if need := t.GetRequired()[box*words+w]; have&need != need {
				continue boxes
			}
		}
		return class
	}
	panic("a table holds every packet")
}

func (s *shot) transport() []byte { return s.ip[int(s.ip[0]&15)*4:] }

func (s *shot) frag() uint32 {
	switch w := binary.BigEndian.Uint16(s.ip[6:]); {
	case w&0x1fff != 0:
		return 2
	case w&0x2000 != 0:
		return 1
	}
	return 0
}

func (s *shot) ported() bool {
	return (s.ip[9] == packets.ProtoTCP || s.ip[9] == packets.ProtoUDP) && headed(s.ip)
}

// headed tells whether the transport header is whole and its lengths can be; a fragment's may go beyond it.
func headed(ip []byte) bool {
	frag := binary.BigEndian.Uint16(ip[6:])
	t := ip[int(ip[0]&15)*4:]
	room := len(t)
	if frag&0x2000 != 0 {
		room = 1 << 16
	}
	if frag&0x1fff != 0 {
		return false
	}
	switch ip[9] {
	case packets.ProtoTCP:
		return len(t) >= 20 && t[12]>>4 >= 5 && int(t[12]>>4)*4 <= room
	case packets.ProtoUDP:
		return len(t) >= 8 && binary.BigEndian.Uint16(t[4:]) >= 8 && int(binary.BigEndian.Uint16(t[4:])) <= room
	}
	return ip[9] == packets.ProtoICMP && len(t) >= 8
}

func (s *shot) field(f programpb.Field) uint32 {
	b := s.ip
	switch f {
	case programpb.Field_VLAN:
		if s.tpid == 0 {
			return 4096
		}
		return uint32(s.tci & 0xfff)
	case programpb.Field_SRC:
		return binary.BigEndian.Uint32(b[12:])
	case programpb.Field_DST:
		return binary.BigEndian.Uint32(b[16:])
	case programpb.Field_PROTO:
		return uint32(b[9])
	case programpb.Field_DSCP:
		return uint32(b[1] >> 2)
	case programpb.Field_TTL:
		return uint32(b[8])
	case programpb.Field_FRAG:
		return s.frag()
	case programpb.Field_SPORT, programpb.Field_DPORT:
		if !s.ported() {
			return 65536
		}
		return uint32(binary.BigEndian.Uint16(s.transport()[2*(f-programpb.Field_SPORT):]))
	case programpb.Field_TCP_FLAGS:
		if b[9] == packets.ProtoTCP && headed(b) {
			return uint32(s.transport()[13])
		}
	case programpb.Field_ICMP_TYPE, programpb.Field_ICMP_CODE:
		if b[9] == packets.ProtoICMP && headed(b) {
			return uint32(s.transport()[f-programpb.Field_ICMP_TYPE])
		}
	}
	return 256
}

func (s *shot) set(f programpb.Field, v uint32) {
	switch f {
	case programpb.Field_VLAN:
		switch {
		case v > 4095:
			s.tpid, s.tci = 0, 0
		case s.tpid == 0:
			s.tpid, s.tci = packets.TPID8021Q, uint16(v)
		default:
			s.tci = s.tci&0xf000 | uint16(v)
		}
	case programpb.Field_SRC:
		binary.BigEndian.PutUint32(s.ip[12:], v)
	case programpb.Field_DST:
		binary.BigEndian.PutUint32(s.ip[16:], v)
	case programpb.Field_DSCP:
		s.ip[1] = s.ip[1]&3 | byte(v)<<2
	case programpb.Field_TTL:
		s.ip[8] = byte(v)
	case programpb.Field_SPORT, programpb.Field_DPORT:
		if s.ported() {
			binary.BigEndian.PutUint16(s.transport()[2*(f-programpb.Field_SPORT):], uint16(v))
		}
	default:
	}
}

func (m *model) leg(s *shot, l *programpb.Leg) (left bool) {
	for _, o := range l.GetOps() {
		switch op := o.GetOp().(type) {
		case *programpb.Op_Set:
			s.set(op.Set.GetField(), op.Set.GetValue())
		case *programpb.Op_AddTtl:
			s.ip[8] = byte(int32(s.ip[8]) + op.AddTtl)
		case *programpb.Op_NextHop:
			s.hop = op.NextHop
		case *programpb.Op_StateForward:
			if reason := m.forward(s, op.StateForward); reason != "" {
				return m.drop(reason)
			}
		}
	}
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Output:
		return m.output(s, int(o.Output))
	case *programpb.Leg_Drop:
		if r, ok := o.Drop.GetReason().(*programpb.Drop_Chain); ok {
			return m.drop(m.p.GetReasons()[r.Chain])
		}
		return m.drop(reasonName(o.Drop.GetBuiltin()))
	case *programpb.Leg_Generator:
		m.generate(s, m.p.GetGenerators()[o.Generator])
		return true
	case *programpb.Leg_Segment:
		return m.segment(s, o.Segment)
	case *programpb.Leg_StateReturn:
		return m.back(s, o.StateReturn)
	}
	return false
}

func reasonName(r programpb.DropReason) string {
	b := []byte(r.String()[len("DROP_"):])
	for i, c := range b {
		if c == '_' {
			b[i] = '-'
		} else {
			b[i] |= 0x20
		}
	}
	return string(b)
}

func (m *model) live(b *binding) bool {
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
	return m.now-b.last <= time.Duration(ms)*time.Millisecond
}

// from is the live binding of a flow from inside.
func (m *model) from(table uint32, f flow) *binding {
	if b := m.tables[table].inside[f]; b != nil && m.live(b) {
		return b
	}
	return nil
}

// to is the live binding with an outside address and port, and a remote.
func (m *model) to(table uint32, proto uint8, at, remote netip.AddrPort) *binding {
	if b := m.tables[table].outside[endpointOf(proto, at, remote)]; b != nil && b.remote == remote && m.live(b) {
		return b
	}
	return nil
}

// use refreshes a binding.
func (m *model) use(b *binding, ip []byte, forth bool) {
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
		if !c.open || c.ends || ahead > window {
			return false
		}
		c.ends = true
		return true
	}
	if has[packets.SYN] && !has[packets.ACK] && c.ends {
		*c = connection{shift: [2]int{-1, -1}}
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

// ends are the addresses and ports of a packet as a NAPT knows it; ICMP has only an identifier.
func ends(ip []byte) (src, dst netip.AddrPort) {
	b := ip[int(ip[0]&15)*4:]
	var sport, dport uint16
	switch {
	case !ported(ip[9]):
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
func (s *shot) told() bool { return !ported(s.ip[9]) || headed(s.ip) }

func isError(s *shot) bool {
	return s.ip[9] == packets.ProtoICMP && headed(s.ip) && slices.Contains([]byte{3, 11, 12}, s.transport()[0])
}

// quote is the packet that an ICMP error quotes, if a flow can be told from it.
func quote(s *shot) []byte {
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
	binary.BigEndian.PutUint32(ip[at:], number(a.Addr()))
	b := ip[int(ip[0]&15)*4:]
	switch {
	case !ported(ip[9]):
	case ip[9] == packets.ProtoICMP:
		binary.BigEndian.PutUint16(b[4:], a.Port())
	case at == 12:
		binary.BigEndian.PutUint16(b, a.Port())
	default:
		binary.BigEndian.PutUint16(b[2:], a.Port())
	}
}

func (m *model) forward(s *shot, run uint32) (reason string) {
	table := m.p.GetRuns()[run].GetTable()
	if isError(s) {
		q := quote(s)
		switch single := m.p.GetRuns()[run].GetSingle(); {
		case q == nil || !direction(q, false):
			return "nat-unsupported"
		case ported(q[9]) || len(single) == 0:
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
	src, dst := ends(s.ip)
	f := flow{run, s.ip[9], src, dst}
	b := m.from(table, f)
	if b == nil {
		out, ok := m.choose(table, f)
		if !ok {
			return "nat-exhausted"
		}
		b = m.bind(table, f, out)
	}
	m.use(b, s.ip, true)
	write(s.ip, 12, b.out)
	return ""
}

// forwardError translates an error about a packet q that was delivered by a binding of the run.
func (m *model) forwardError(s *shot, q []byte, run uint32) (reason string) {
	table := m.p.GetRuns()[run].GetTable()
	from, to := ends(q)
	b := m.from(table, flow{run, q[9], to, from})
	for _, r := range m.returned {
		if m.p.GetRuns()[r.run].GetTable() == table && r.proto == q[9] && r.inside == to && r.remote == from {
			b = r
		}
	}
	if b == nil {
		return "nat-unsupported"
	}
	binary.BigEndian.PutUint32(s.ip[12:], number(b.out.Addr()))
	write(q, 16, b.out)
	return ""
}

// bind makes a binding in the place of expired ones.
func (m *model) bind(table uint32, f flow, out netip.AddrPort) *binding {
	t := &m.tables[table]
	at := endpointOf(f.proto, out, f.remote)
	wasFlow, wasOut := t.inside[f], t.outside[at]
	b := &binding{flow: f, out: out, last: m.now, tcp: connection{shift: [2]int{-1, -1}}}
	if wasFlow != nil {
		if there := endpointOf(f.proto, wasFlow.out, f.remote); t.outside[there] == wasFlow {
			delete(t.outside, there)
		}
	}
	if wasOut != nil && t.inside[wasOut.flow] == wasOut {
		delete(t.inside, wasOut.flow)
	}
	t.inside[f], t.outside[at] = b, b
	m.undo = append(m.undo, func() { // what was there had expired
		delete(t.inside, f)
		delete(t.outside, at)
	})
	return b
}

// choose is the next free outside port.
func (m *model) choose(table uint32, f flow) (netip.AddrPort, bool) {
	p, t := m.p.GetTables()[table], &m.tables[table]
	var addrs []uint32
	for _, r := range p.GetPool() {
		for a := r.GetFirst(); a <= r.GetLast(); a++ {
			addrs = append(addrs, a)
		}
	}
	if !ported(f.proto) {
		return m.chooseAddress(addrs, f, table)
	}
	ports := int(p.GetPortMax()-p.GetPortMin()) + 1
	for range ports * len(addrs) {
		t.cursor = (t.cursor + 1) % (ports * len(addrs))
		out := netip.AddrPortFrom(packets.Addr(addrs[t.cursor/ports]), uint16(int(p.GetPortMin())+t.cursor%ports))
		if b := t.outside[endpointOf(f.proto, out, f.remote)]; b == nil || !m.live(b) {
			return out, true
		}
	}
	return netip.AddrPort{}, false
}

// chooseAddress is the first address that no flow of the protocol to the same remote has, from the one that the source tells on.
func (m *model) chooseAddress(addrs []uint32, f flow, table uint32) (out netip.AddrPort, ok bool) {
	t := &m.tables[table]
	slices.Sort(addrs)
	n := uint32(min(len(addrs), 32))
	for i := range n {
		at := netip.AddrPortFrom(packets.Addr(addrs[(number(f.inside.Addr())%n+i)%n]), 0)
		if b := t.outside[endpointOf(f.proto, at, f.remote)]; b == nil || !m.live(b) {
			return at, true
		}
	}
	return netip.AddrPort{}, false
}

func (m *model) back(s *shot, table uint32) (left bool) {
	var b *binding
	if isError(s) {
		if q := quote(s); q != nil {
			from, to := ends(q) // a packet that we sent
			if direction(q, true) && from.Addr() == packets.Addr(s.field(programpb.Field_DST)) {
				b = m.to(table, q[9], from, to)
			}
			if b != nil {
				binary.BigEndian.PutUint32(s.ip[16:], number(b.inside.Addr()))
				write(q, 12, b.inside)
			}
		}
	} else if s.told() {
		src, dst := ends(s.ip)
		b = m.to(table, s.ip[9], dst, src)
		if b != nil {
			m.use(b, s.ip, false)
			m.returned = append(m.returned, b)
			write(s.ip, 16, b.inside)
		}
	}
	if b == nil {
		return m.drop("nat-no-binding")
	}
	return m.segment(s, m.p.GetRuns()[b.run].GetSegment())
}

func (m *model) output(s *shot, iface int) (left bool) {
	f := m.p.GetInterfaces()[iface]
	next := s.hop
	if dst := s.field(programpb.Field_DST); next == 0 {
		next = f.GetGateway()
		if m.links[iface].Prefix.Contains(packets.Addr(dst)) {
			next = dst
		}
	}
	ip := s.seal()
	switch {
	case next == 0:
		return m.drop("no-next-hop")
	case s.tpid != 0 && !slices.Contains(m.links[iface].VLANs, s.tci&0xfff):
		return m.drop("vlan-unknown")
	case len(ip) > int(f.GetMtu()) && ip[6]&0x40 == 0:
		return m.drop("too-big")
	case len(ip) > int(f.GetMtu()):
		ttl := uint8(f.GetAnswerTtl())
		if ttl == 0 {
			ttl = 64
		}
		e := icmpError(ip, 3, 4, f.GetMtu(), m.p.GetInterfaces()[s.entry].GetAddress(), ttl)
		if e == nil {
			m.drop("icmp-suppressed")
			return true
		}
		m.drop("too-big-answered")
		if martian(e) {
			m.drop("martian")
			return true
		}
		m.segment(s.generated(iface, e), f.GetSegment())
		return true
	}
	i := slices.IndexFunc(m.links[iface].Neighbors, func(n graph.Neighbor) bool {
		return number(n.Addr) == next && n.VLAN == s.tci&0xfff
	})
	var mac net.HardwareAddr
	if i >= 0 {
		mac = m.links[iface].Neighbors[i].MAC
	}
	var dst, src packets.MAC
	copy(dst[:], mac)
	copy(src[:], m.links[iface].MAC)
	var tags []packets.Tag
	if s.tpid != 0 {
		tags = []packets.Tag{{TPID: s.tpid, TCI: s.tci}}
	}
	m.result.Out = append(m.result.Out, interp.Out{Interface: iface, Frame: packets.Ethernet(dst, src, tags, packets.EtherIPv4, ip, s.padding)})
	return true
}

// martian tells packets that are never forwarded (RFC 1812 section 5.3.7).
func martian(ip []byte) bool {
	bad := func(n byte) bool { return n == 0 || n == 127 || n >= 224 }
	return bad(ip[12]) || bad(ip[16])
}

// generate answers a packet; the answer has its own fate.
func (m *model) generate(s *shot, g *programpb.Generator) {
	answer, reason := m.answer(s, g)
	if answer == nil {
		m.drop(reason)
		return
	}
	answer.entry = s.entry
	m.segment(answer, g.GetSegment())
}

func (m *model) answer(s *shot, g *programpb.Generator) (*shot, string) {
	ip := s.seal()
	isTCP := ip[9] == packets.ProtoTCP
	switch g.GetKind() {
	case programpb.Generator_ICMP_ERROR, programpb.Generator_REJECT:
	case programpb.Generator_ECHO_REPLY:
		if s.frag() != 0 {
			return nil, "local"
		}
		return intact(ip, s.echo(ip))
	case programpb.Generator_LOCAL_HOST:
		switch {
		case ip[9] == packets.ProtoICMP && m.echoes(s, ip):
			return s.echo(ip), "local"
		case s.frag() == 2:
			return nil, "local"
		case ip[9] == packets.ProtoICMP && s.frag() == 0:
			return intact(ip, s.echo(ip))
		case ip[9] == packets.ProtoICMP:
			return nil, "local"
		case isTCP:
			return intact(ip, s.reset(ip))
		case ip[9] == packets.ProtoUDP:
			if !s.ported() {
				return nil, "local"
			}
			return intact(ip, s.about(ip, 3, 3, binary.BigEndian.Uint32(ip[16:])))
		}
		return s.about(ip, 3, 2, binary.BigEndian.Uint32(ip[16:])), "local"
	}
	source := g.GetSource()
	if source == 0 {
		source = m.p.GetInterfaces()[s.entry].GetAddress()
	}
	if g.GetKind() == programpb.Generator_REJECT && isTCP && s.frag() == 0 && s.ported() {
		return s.reset(ip), "icmp-suppressed"
	}
	return s.about(ip, uint8(g.GetType()), uint8(g.GetCode()), source), "icmp-suppressed"
}

// intact is the answer of a host to a packet, none if the packet's checksum is wrong.
func intact(ip []byte, answer *shot) (*shot, string) {
	at := map[byte]int{packets.ProtoICMP: 2, packets.ProtoTCP: 16, packets.ProtoUDP: 6}[ip[9]]
	t := ip[int(ip[0]&15)*4:]
	if answer == nil || ip[6]&0x3f != 0 || ip[7] != 0 {
		return answer, "local"
	}
	sum := uint64(0)
	if ip[9] != packets.ProtoICMP {
		if ip[9] == packets.ProtoUDP {
			t = t[:binary.BigEndian.Uint16(t[4:])]
		}
		for _, b := range [][]byte{ip[12:14], ip[14:16], ip[16:18], ip[18:20], {0, ip[9]}} {
			sum += uint64(binary.BigEndian.Uint16(b))
		}
		sum += uint64(len(t))
	}
	for i, b := range t {
		sum += uint64(b) << (8 * (1 - i%2))
	}
	if none := ip[9] == packets.ProtoUDP && t[at] == 0 && t[at+1] == 0; !none && sum%0xffff != 0 {
		return nil, "bad-checksum"
	}
	return answer, "local"
}

// about is an error, nil if there is none to be sent.
func (s *shot) about(ip []byte, typ, code uint8, source uint32) *shot {
	e := icmpError(ip, typ, code, 0, source, 64)
	if e == nil {
		return nil
	}
	return s.generated(s.entry, e)
}

// generated is a packet that was made about s, in its VLAN.
func (s *shot) generated(entry int, ip []byte) *shot {
	a := &shot{entry: entry, before: ip, ip: bytes.Clone(ip)}
	if s.tpid != 0 {
		a.tpid, a.tci = packets.TPID8021Q, s.tci&0xfff
	}
	return a
}

// echoes tells whether a fragment is of an echo request, by the last 64 first ones.
func (m *model) echoes(s *shot, ip []byte) bool {
	key := string(ip[4:6]) + string(ip[12:20])
	switch {
	case s.frag() == 2:
		return slices.ContainsFunc(m.pings, func(p ping) bool { return p.key == key && m.now <= p.until })
	case s.frag() == 0 || s.field(programpb.Field_ICMP_TYPE) != packets.ICMPEchoRequest:
		return false
	}
	m.pings = append(m.pings, ping{key, m.now + 30*time.Second})
	m.pings = m.pings[max(0, len(m.pings)-64):]
	return true
}

// echo is the reply to an echo request.
func (s *shot) echo(ip []byte) *shot {
	if typ := s.field(programpb.Field_ICMP_TYPE); typ != packets.ICMPEchoRequest && s.frag() != 2 {
		return nil
	}
	c := *s
	c.before, c.ip, c.hop = ip, bytes.Clone(ip), 0
	copy(c.ip[12:16], ip[16:20])
	copy(c.ip[16:20], ip[12:16])
	c.ip[8] = 64
	if s.frag() != 2 {
		c.transport()[0] = 0
	}
	return &c
}

// reset is the reset about a whole segment.
func (s *shot) reset(ip []byte) *shot {
	flags := s.field(programpb.Field_TCP_FLAGS)
	if s.frag() != 0 || flags > 255 || flags&packets.RST != 0 {
		return nil
	}
	t := s.transport()
	src, dst := binary.BigEndian.Uint32(ip[16:]), binary.BigEndian.Uint32(ip[12:])
	sport, dport := binary.BigEndian.Uint16(t[2:]), binary.BigEndian.Uint16(t)
	out := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoTCP, TTL: 64, TOS: ip[1] & 0xfc, DF: true}
	if flags&packets.ACK != 0 {
		out.Payload = packets.Reset(src, dst, sport, dport, packets.RST, binary.BigEndian.Uint32(t[8:]), 0)
	} else {
		n := uint32(len(t)) - uint32(t[12]>>4)*4 + flags>>1&1 + flags&1
		out.Payload = packets.Reset(src, dst, sport, dport, packets.RST|packets.ACK, 0, binary.BigEndian.Uint32(t[4:])+n)
	}
	return s.generated(s.entry, out.Bytes())
}

// icmpError is the error about a packet, nil if there is none to be sent.
func icmpError(ip []byte, typ, code uint8, rest, source uint32, ttl uint8) []byte {
	if binary.BigEndian.Uint16(ip[6:])&0x1fff != 0 ||
		ip[9] == packets.ProtoICMP && (!headed(ip) || slices.Contains([]byte{3, 4, 5, 11, 12}, ip[int(ip[0]&15)*4])) {
		return nil
	}
	return packets.IPv4{
		Src: source, Dst: binary.BigEndian.Uint32(ip[12:]), Proto: packets.ProtoICMP, TTL: ttl, TOS: 48 << 2,
		Payload: packets.ICMP(typ, code, rest, ip[:min(len(ip), 548)]),
	}.Bytes()
}
