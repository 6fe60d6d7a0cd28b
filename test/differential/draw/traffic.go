package draw

import (
	"math/rand/v2"
	"net"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Sent is a frame and the interface that it goes in by or came out of.
type Sent struct {
	Iface int
	Frame []byte
}

// Traffic makes a chain's packets: for every rule of the chain and every box of the program, packets
// on, just below and just above their bounds; packets of flows seen before, their answers, errors about them, and
// odd ones.
type Traffic struct {
	*rand.Rand
	Graph   *graph.Graph
	Filters []hs.Filter // of the chain's rules and routes, then of the program's boxes
	Rules   int         // how many of them are of the chain
	values  [hs.NumFields][]uint64
	Out     Ring // frames that left
	Good    Ring // frames upon which some left
	// strangers says that answers also come from others than those who were asked.
	strangers bool
	// words are what inspectors look for.
	words []string
	rest  []byte // of a word
}

// Ring keeps the last frames.
type Ring struct {
	list []Sent
	next int
}

func (r *Ring) add(s Sent) {
	if len(r.list) < 4096 {
		r.list = append(r.list, s)
		return
	}
	r.list[r.next] = s
	r.next = (r.next + 1) % len(r.list)
}

// NewTraffic is traffic of a chain and its program; what it draws is from the seed.
func NewTraffic(seed uint64, g *graph.Graph, p *programpb.Program) *Traffic {
	t := &Traffic{Rand: rand.New(rand.NewPCG(seed, 0)), Graph: g}
	for _, n := range g.Nodes {
		t.learnNode(n.Element)
	}
	t.Rules = len(t.Filters)
	for _, s := range p.GetSegments() {
		for ttl := uint64(max(s.GetTtlFloor(), 1)) - 1; ttl <= uint64(s.GetTtlFloor())+1; ttl++ {
			t.values[hs.TTL] = append(t.values[hs.TTL], ttl)
		}
		t.learnTable(s.GetTable())
		t.learnTable(s.GetLow())
	}
	for _, f := range g.Interfaces {
		for _, a := range []hs.Value{hs.Addr(f.Prefix.Addr()), hs.Addr(f.Prefix.Masked().Addr())} {
			t.values[hs.Dst] = append(t.values[hs.Dst], a.Lo&0xffffffff)
			t.values[hs.Src] = append(t.values[hs.Src], a.Lo&0xffffffff)
		}
	}
	return t
}

func (t *Traffic) learnNode(e element.Element) {
	switch e := e.(type) {
	case element.Classifier:
		for _, r := range e.Rules {
			for _, f := range r.Filters {
				t.learn(f)
			}
		}
	case element.Lookup:
		for _, r := range e.Routes {
			t.learn(Where(hs.Dst, hs.Prefix(r.Prefix)))
		}
	case element.Balancer:
		to := Where(hs.Dst, e.VirtualSet()).With(hs.Proto, hs.Of(6, 17)).With(hs.Frag, hs.Of(hs.FragWhole)).With(hs.DPort, hs.Of(80, 443))
		t.learn(to)
		// A few clients' ends, which several services share.
		t.learn(to.With(hs.Src, hs.Prefix(netip.PrefixFrom(Addr4(198, 51, 100, 76), 31))).With(hs.SPort, hs.Range(5000, 5001)))
		t.learn(Where(hs.Src, e.BackendSet()).With(hs.Proto, hs.Of(6, 17)).With(hs.Frag, hs.Of(hs.FragWhole)).With(hs.SPort, hs.Of(80, 443, 8080)))
	case element.Inspect:
		t.learnInspector(e)
	case element.NAPT:
		t.strangers = t.strangers || e.Filtering != element.AddressAndPortDependent
		for _, a := range e.Pool {
			t.learn(Where(hs.Dst, hs.Single(hs.Addr(a))).With(hs.DPort, hs.Range(uint64(e.PortMin), uint64(e.PortMax))))
		}
	}
}

// learnTable learns a program's boxes as filters.
func (t *Traffic) learnTable(table *programpb.Table) {
	words := (len(table.GetBits()) + 63) / 64
	for box := range table.GetClasses() {
		var f hs.Filter
		for d, field := range table.GetDims() {
			at := 2 * (box*len(table.GetDims()) + d)
			f = f.And(hs.Field(field), values(field, table.GetBounds()[at], table.GetBounds()[at+1]))
		}
		for i, b := range table.GetBits() {
			if table.GetRequired()[box*words+i/64]>>(i%64)&1 == 0 || b.GetField() == programpb.Field_ROUTE { // the routes are learnt from the chain
				continue
			}
			var s hs.Set
			for r := 0; r < len(b.GetRanges()); r += 2 {
				s = s.Union(values(b.GetField(), b.GetRanges()[r], b.GetRanges()[r+1]))
			}
			f = f.And(hs.Field(b.GetField()), s)
		}
		t.learn(f)
	}
}

// values is a program's range of a field as the algebra writes it.
func values(f programpb.Field, lo, hi uint32) hs.Set {
	if f == programpb.Field_SRC || f == programpb.Field_DST {
		return hs.AddrRange(packets.Addr(lo), packets.Addr(hi))
	}
	return hs.Range(uint64(lo), uint64(hi))
}

// learn notes a filter and the bounds of its fields.
func (t *Traffic) learn(f hs.Filter) {
	if f.IsEmpty() {
		return
	}
	t.Filters = append(t.Filters, f)
	for field := range hs.NumFields {
		if f.Any(field) || len(t.values[field]) > 20000 {
			continue
		}
		for _, i := range f.Get(field).Intervals() {
			t.values[field] = append(t.values[field], i.Lo.Lo&0xffffffff, i.Hi.Lo&0xffffffff)
		}
	}
}

// Next makes one frame.
func (t *Traffic) Next() Sent {
	if t.IntN(100) == 0 {
		return t.arp()
	}
	s := t.plain()
	if t.IntN(12) == 0 {
		s.Frame = packets.Odd(t.Rand, s.Frame)
		if t.IntN(4) == 0 {
			s.Frame = packets.Odd(t.Rand, s.Frame)
		}
	}
	return s
}

// arp makes a neighbour's request for the interface's address, a proxy address or another one, or an answer
// that nobody asked for. It says nothing about the neighbour that the chain does not know.
func (t *Traffic) arp() Sent {
	i := t.IntN(len(t.Graph.Interfaces))
	f := t.Graph.Interfaces[i]
	from := graph.Neighbor{Addr: f.Prefix.Addr().Next(), MAC: net.HardwareAddr{2, 9, 0, 0, 0, byte(i)}} // on a wire nobody is
	if len(f.Neighbors) > 0 {
		from = f.Neighbors[t.IntN(len(f.Neighbors))]
	}
	asked := append([]netip.Addr{f.Prefix.Addr(), f.Prefix.Addr().Next(), packets.Addr(t.address(hs.Dst))}, f.Proxy...)
	var mine, sender packets.MAC
	copy(mine[:], f.MAC)
	copy(sender[:], from.MAC)
	dst, op := packets.Broadcast, uint16(packets.ARPRequest)
	if t.IntN(2) == 0 {
		dst, op = mine, uint16(1+t.IntN(3))
	}
	target := packets.Number(asked[t.IntN(len(asked))])
	body := packets.ARP(op, sender, packets.Number(from.Addr), packets.MAC{}, target)
	var tags []packets.Tag
	if t.IntN(3) == 0 {
		tags = []packets.Tag{{TPID: packets.TPID8021Q, TCI: []uint16{10, 20, 0, 0xe000, uint16(t.IntN(4096))}[t.IntN(5)]}}
	}
	return Sent{i, packets.Ethernet(dst, sender, tags, packets.EtherARP, body, nil)}
}

// Saw tells what became of a frame.
func (t *Traffic) Saw(in Sent, out []Sent) {
	if len(out) > 0 {
		t.Good.add(in)
	}
	for _, o := range out {
		t.Out.add(o)
	}
}

func (t *Traffic) plain() Sent {
	switch n := t.IntN(20); {
	case n < 3 && len(t.Out.list) > 0: // the far end goes on with the connection
		if s, ok := t.converse(t.Out.list[t.IntN(len(t.Out.list))], true); ok {
			return s
		}
		return t.fresh()
	case n < 4 && len(t.Good.list) > 0: // or this one
		if s, ok := t.converse(t.Good.list[t.IntN(len(t.Good.list))], false); ok {
			return s
		}
		return t.fresh()
	case n < 6 && len(t.Out.list) > 0: // the far end answers
		o := t.Out.list[t.IntN(len(t.Out.list))]
		if f, ok := packets.Reply(t.Rand, o.Frame, t.flags(), t.payload()); ok {
			if t.strangers && t.IntN(3) == 0 {
				return t.estranged(Sent{o.Iface, f})
			}
			return Sent{o.Iface, f}
		}
	case n < 8 && len(t.Out.list) > 0: // somebody on the far way complains
		o := t.Out.list[t.IntN(len(t.Out.list))]
		typ := []uint8{3, 3, 11, 12, 4, 5}[t.IntN(6)]
		quote := []int{20, 27, 28, 28, 36, 40, 548, 1500}[t.IntN(8)]
		if f, ok := packets.ErrorAbout(t.Rand, o.Frame, t.address(hs.Src), typ, uint8(t.IntN(6)), quote); ok {
			return Sent{o.Iface, f}
		}
	case n < 9 && len(t.Good.list) > 0: // the flow's other direction, begun from the same side or another
		i := t.Good.list[t.IntN(len(t.Good.list))]
		if f, ok := packets.FieldsOf(i.Frame); ok {
			f.Src, f.Dst, f.Sport, f.Dport, f.Flags = f.Dst, f.Src, f.Dport, f.Sport, t.flags()
			if t.IntN(3) == 0 {
				i.Iface = t.IntN(len(t.Graph.Interfaces))
			}
			return Sent{i.Iface, t.Build(i.Iface, f)}
		}
	case n < 13 && len(t.Good.list) > 0:
		i := t.Good.list[t.IntN(len(t.Good.list))]
		if f, ok := packets.FieldsOf(i.Frame); ok {
			t.vary(&f)
			return Sent{i.Iface, t.Build(i.Iface, f)}
		}
	}
	return t.fresh()
}

// estranged is a packet as another remote, or another port of the same, would send it.
func (t *Traffic) estranged(s Sent) Sent {
	f, ok := packets.FieldsOf(s.Frame)
	if !ok {
		return s
	}
	if t.IntN(2) == 0 {
		f.Src = uint32(t.usual(hs.Src))
	} else {
		f.Sport = uint16(t.usual(hs.SPort))
	}
	return Sent{s.Iface, t.Build(s.Iface, f)}
}

// converse is what follows upon a TCP packet in its connection: of its receiver, or of its sender. Most of the time numbers are what the
// other side expects, or at the bounds of that.
func (t *Traffic) converse(s Sent, receiver bool) (Sent, bool) {
	f, ok := packets.FieldsOf(s.Frame)
	if !ok || f.Proto != packets.ProtoTCP || f.Segment == nil || f.Frag != 0 {
		return Sent{}, false
	}
	v, _ := packets.Parse(s.Frame)
	length := uint32(len(v.IP.Payload) - int(v.IP.Payload[12]>>4)*4)
	if f.Flags&(packets.SYN|packets.FIN) != 0 {
		length++
	}
	next := packets.Segment{Seq: f.Segment.Seq + length, Ack: f.Segment.Ack, Scale: -1}
	if receiver {
		f.Src, f.Dst, f.Sport, f.Dport = f.Dst, f.Src, f.Dport, f.Sport
		next.Seq, next.Ack = next.Ack, next.Seq
	}
	next.Window = []uint16{0, 1, 512, 0xffff}[t.IntN(4)]
	f.Flags = t.nextFlags(f.Flags, receiver)
	switch {
	case f.Flags&packets.RST != 0: // around the other side's window, which the packet may tell
		edge := uint32(f.Segment.Window) << []int{0, 0, 7}[t.IntN(3)]
		next.Seq += []uint32{0, 0, 1, ^uint32(0), edge, edge + 1, t.Uint32()}[t.IntN(7)]
	case f.Flags&packets.SYN != 0:
		next.Scale = []int{-1, 0, 7, 14, 15}[t.IntN(5)]
	case t.IntN(6) == 0: // around the bounds of what a strict firewall lets pass
		edge := uint32(f.Segment.Window) << []int{0, 0, 7}[t.IntN(3)]
		shift := []uint32{1, ^uint32(0), edge, edge + 1, 0xffff, 0x10000, ^uint32(0xffff), ^uint32(0x10000), ^uint32(0xffff << 7), t.Uint32()}[t.IntN(10)]
		if t.IntN(2) == 0 {
			next.Seq += shift
		} else {
			next.Ack += shift
		}
	}
	if t.IntN(4) != 0 {
		f.TTL = 64
	}
	f.Segment = &next
	var payload []byte
	if f.Flags&packets.PSH != 0 {
		payload = t.payload()
	}
	var mac packets.MAC
	copy(mac[:], t.Graph.Interfaces[s.Iface].MAC)
	return Sent{s.Iface, packets.Build(t.Rand, mac, packets.MAC{2, 9, 0, 0, 0, byte(s.Iface)}, f, payload)}, true
}

// nextFlags are those of what follows: the handshake goes on, then data, ends of both kinds, and the 5-tuple used again.
func (t *Traffic) nextFlags(flags uint8, receiver bool) uint8 {
	switch {
	case flags&packets.SYN != 0 && flags&packets.ACK == 0 && receiver && t.IntN(8) != 0:
		return packets.SYN | packets.ACK
	case flags&packets.SYN != 0 && receiver && t.IntN(8) != 0:
		return packets.ACK
	}
	return []uint8{
		packets.ACK, packets.ACK, packets.PSH | packets.ACK, packets.PSH | packets.ACK, packets.FIN | packets.ACK, packets.RST,
		packets.RST | packets.ACK, packets.SYN,
	}[t.IntN(8)]
}

// vary makes more of a flow, or another one that differs in a field.
func (t *Traffic) vary(f *packets.Fields) {
	f.Flags = t.flags()
	if t.IntN(2) == 0 {
		return
	}
	switch t.IntN(10) {
	case 0:
		f.TTL = t.ttl()
	case 1:
		f.Src = uint32(t.usual(hs.Src))
	case 2, 3:
		f.Dst = uint32(t.usual(hs.Dst))
	case 4:
		f.Sport = uint16(t.usual(hs.SPort))
	case 5:
		f.Dport = uint16(t.usual(hs.DPort))
	case 6:
		f.DSCP = uint8(t.usual(hs.DSCP)) & 63
	case 7:
		f.VLAN = VID(t.usual(hs.VLAN))
	case 8:
		f.Proto = uint8(t.usual(hs.Proto))
	case 9:
		f.Frag = int(t.usual(hs.Frag)) % 3
	}
}

// VID is the VLAN of a field's value; -1: the packet has no tag.
func VID(v uint64) int {
	if v > 4095 {
		return -1
	}
	return int(v)
}

// Build makes the frame of a packet that goes in by an interface, with a payload.
func (t *Traffic) Build(iface int, f packets.Fields) []byte {
	var mac packets.MAC
	copy(mac[:], t.Graph.Interfaces[iface].MAC)
	return packets.Build(t.Rand, mac, packets.MAC{2, 9, 0, 0, 0, byte(iface)}, f, t.payload())
}

// fresh makes a packet at the bounds of a filter.
func (t *Traffic) fresh() Sent {
	iface := t.IntN(len(t.Graph.Interfaces))
	var f hs.Filter
	if len(t.Filters) > 0 && t.IntN(8) != 0 {
		n := len(t.Filters)
		if t.Rules > 0 && t.IntN(2) == 0 {
			n = t.Rules
		}
		f = t.Filters[t.IntN(n)]
		if t.IntN(3) == 0 { // in two filters at once
			if both := f.Intersect(t.Filters[t.IntN(len(t.Filters))]); !both.IsEmpty() {
				f = both
			}
		}
	}
	fields := t.Fields(f)
	if t.IntN(3) == 0 { // more headroom for the functions on the way
		fields.TTL = 64
	}
	return Sent{iface, t.Build(iface, fields)}
}

// Fields draws a packet within the filter, or just outside it in one field.
func (t *Traffic) Fields(f hs.Filter) packets.Fields {
	if g, ok := f.Feasible(); ok {
		f = g
	}
	var p [hs.NumFields]uint64
	var bound []hs.Field
	for field := range hs.NumFields {
		if f.Any(field) {
			p[field] = t.usual(field)
			continue
		}
		bound = append(bound, field)
		p[field] = t.within(f.Get(field))
	}
	if len(bound) > 0 && t.IntN(2) == 0 {
		field := bound[t.IntN(len(bound))]
		iv := f.Get(field).Intervals()
		i := iv[t.IntN(len(iv))]
		p[field] = i.Hi.Lo + 1
		if t.IntN(2) == 0 {
			p[field] = i.Lo.Lo - 1
		}
	}
	absent := func(field hs.Field) bool { v, _ := field.Absent(); return p[field] >= v.Lo }
	if p[hs.Proto] != packets.ProtoTCP && p[hs.Proto] != packets.ProtoUDP && f.Any(hs.Proto) && !(f.Any(hs.SPort) && f.Any(hs.DPort)) &&
		!absent(hs.SPort) && !absent(hs.DPort) {
		p[hs.Proto] = packets.ProtoTCP
	}
	if (p[hs.Proto] == packets.ProtoTCP || p[hs.Proto] == packets.ProtoUDP) && (absent(hs.SPort) || absent(hs.DPort)) && f.Any(hs.Frag) {
		p[hs.Frag] = hs.FragLater
	}
	out := packets.Fields{
		VLAN: VID(p[hs.VLAN]), Src: uint32(p[hs.Src]), Dst: uint32(p[hs.Dst]), Proto: uint8(p[hs.Proto]),
		DSCP: uint8(p[hs.DSCP]) & 63, TTL: uint8(p[hs.TTL]), Frag: int(p[hs.Frag]) % 3,
		Sport: uint16(p[hs.SPort]), Dport: uint16(p[hs.DPort]), Flags: uint8(p[hs.TCPFlags]),
		Type: uint8(p[hs.ICMPType]), Code: uint8(p[hs.ICMPCode]), ICMPRest: uint32(t.IntN(64)) << 16,
	}
	for _, a := range []*uint32{&out.Src, &out.Dst} { // bounds are martians often; few are enough
		if n := *a >> 24; (n == 0 || n == 127 || n >= 224) && t.IntN(8) != 0 {
			*a = t.address(hs.Src)
		}
	}
	return out
}

func (t *Traffic) within(s hs.Set) uint64 {
	iv := s.Intervals()
	i := iv[t.IntN(len(iv))]
	lo, hi := i.Lo.Lo, i.Hi.Lo
	switch {
	case i.Hi.Hi != i.Lo.Hi || hi < lo: // beyond IPv4
		return uint64(t.Uint32())
	case t.IntN(3) == 0:
		return lo
	case t.IntN(2) == 0:
		return hi
	case hi-lo == ^uint64(0):
		return t.Uint64()
	}
	return lo + t.Uint64N(hi-lo+1)
}

// usual draws the value of a field that does not matter here: often what elsewhere does, else what packets
// usually have.
func (t *Traffic) usual(f hs.Field) uint64 {
	if n := len(t.values[f]); n > 0 && t.IntN(4) == 0 {
		return t.values[f][t.IntN(n)] + uint64(t.IntN(3)) - 1
	}
	switch f {
	case hs.Src, hs.Dst:
		return uint64(t.address(f))
	case hs.Proto:
		return []uint64{6, 6, 6, 17, 17, 17, 1, 1, 47, []uint64{4, 33, 50, 51, 132, 136}[t.IntN(6)]}[t.IntN(10)]
	case hs.VLAN:
		return []uint64{4096, 4096, 4096, 4096, 10, 10, 20, 4094, 0, uint64(t.IntN(4096))}[t.IntN(10)]
	case hs.TTL:
		return uint64(t.ttl())
	case hs.Frag:
		return uint64([]int{hs.FragWhole, hs.FragFirst, hs.FragLater}[max(0, t.IntN(60)-57)])
	case hs.SPort, hs.DPort:
		return uint64(t.IntN(65536))
	case hs.TCPFlags:
		return uint64(t.flags())
	case hs.ICMPType:
		return []uint64{8, 8, 8, 8, 0, 3, 11, 13, 13, uint64(t.IntN(256))}[t.IntN(10)]
	default: // DSCP, ICMP code
		return uint64([]int{0, 0, 0, t.IntN(64)}[t.IntN(4)])
	}
}

// address draws a source or destination: of a host next to an interface, of the nets behind, of anywhere.
func (t *Traffic) address(f hs.Field) uint32 {
	switch t.IntN(5) {
	case 0:
		l := t.Graph.Interfaces[t.IntN(len(t.Graph.Interfaces))]
		return uint32(hs.Addr(l.Prefix.Masked().Addr()).Lo) + uint32(t.IntN(4))
	case 1:
		if n := len(t.values[f]); n > 0 {
			return uint32(t.values[f][t.IntN(n)])
		}
	case 2:
		return 0x08080000 | uint32(t.IntN(65536))
	case 3:
		return 0x01000000 + t.Uint32N(0xdeffffff)
	}
	return 0x0a000000 | uint32(t.IntN(4))<<16 | uint32(t.IntN(200))
}

func (t *Traffic) ttl() uint8 {
	if t.IntN(3) == 0 {
		return uint8(t.IntN(13))
	}
	return []uint8{64, 64, 128, 255, uint8(t.IntN(256))}[t.IntN(5)]
}

func (t *Traffic) flags() uint8 {
	return []uint8{
		packets.SYN, packets.SYN, packets.SYN | packets.ACK, packets.ACK, packets.ACK, packets.PSH | packets.ACK,
		packets.FIN | packets.ACK, packets.RST, uint8(t.IntN(256)),
	}[t.IntN(9)]
}

func (t *Traffic) payload() []byte {
	n := t.IntN(40)
	switch t.IntN(24) {
	case 0, 1, 2:
		n = t.IntN(600)
	case 3: // around an MTU
		n = max(0, t.Graph.Interfaces[t.IntN(len(t.Graph.Interfaces))].MTU-44+t.IntN(30))
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(t.Uint32())
	}
	if len(t.words) > 0 && t.IntN(4) > 0 {
		return t.spiced(b)
	}
	return b
}
