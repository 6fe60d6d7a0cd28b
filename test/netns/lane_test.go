package netns

import (
	"encoding/binary"
	"fmt"

	"github.com/sinter-nfv/sinter/test/packets"
)

// A packet of the generator carries, behind its transport header: the mark, its lane, its number in it.
const (
	mark      = 0x53696e74
	markBytes = 16
)

// binding is a NAPT's outside address and port.
type binding struct {
	addr uint32
	port uint16
}

func (b binding) String() string { return fmt.Sprintf("%s:%d", address(b.addr), b.port) }

// lane is one direction of a flow: its packets are numbered, and have to come out in order.
type lane struct {
	tuple
	id    uint32
	frame []byte // what is sent, but for the number; nil while the binding that it goes to is unknown
	at    int    // where the mark stands
	// answers is the lane of the other direction, to which packets of this one show the binding.
	answers *lane
	// marked lanes are those that the firewall's changing rule drops or lets pass.
	marked bool

	sent, next       uint64 // numbers of the next packet sent, and of the next one to come out
	lost, disordered uint64
	bound            binding // as seen outside
	wrong            string  // the first thing about a packet that was wrong
}

func newLane(f tuple, id uint32, from, to packets.MAC) *lane {
	body := make([]byte, markBytes)
	binary.BigEndian.PutUint32(body, mark)
	binary.BigEndian.PutUint32(body[4:], id)
	l := &lane{tuple: f, id: id}
	p := packets.IPv4{Src: f.src, Dst: f.dst, Proto: f.proto, TTL: 64}
	if f.proto == packets.ProtoTCP {
		p.Payload = packets.TCP(f.src, f.dst, f.sport, f.dport, f.flags, 1, nil, body)
	} else {
		p.Payload = packets.UDP(f.src, f.dst, f.sport, f.dport, body)
		p.Payload[6], p.Payload[7] = 0, 0 // no checksum: the number changes
	}
	l.frame = packets.Ethernet(to, from, nil, packets.EtherIPv4, p.Bytes(), nil)
	l.at = len(l.frame) - markBytes
	return l
}

// write puts the next packet into a buffer, and returns it.
func (l *lane) write(buf []byte) []byte {
	buf = buf[:copy(buf, l.frame)]
	binary.BigEndian.PutUint64(buf[l.at+8:], l.sent)
	l.sent++
	return buf
}

// seen is a frame of the generator on its way out.
type seen struct {
	lane             uint32
	number           uint64
	src, dst         binding
	frame            []byte
	proto, remaining uint8
}

// read finds the generator's mark in a frame.
func read(f []byte) (s seen, ok bool) {
	const ip, transport = 14, 34
	if len(f) < transport+8+markBytes || f[12] != 8 || f[13] != 0 || f[ip] != 0x45 {
		return s, false
	}
	at := transport + 8
	if f[ip+9] == packets.ProtoTCP {
		at = transport + 20
	}
	if len(f) < at+markBytes || binary.BigEndian.Uint32(f[at:]) != mark {
		return s, false
	}
	return seen{
		lane: binary.BigEndian.Uint32(f[at+4:]), number: binary.BigEndian.Uint64(f[at+8:]),
		src:   binding{binary.BigEndian.Uint32(f[ip+12:]), binary.BigEndian.Uint16(f[transport:])},
		dst:   binding{binary.BigEndian.Uint32(f[ip+16:]), binary.BigEndian.Uint16(f[transport+2:])},
		frame: f, proto: f[ip+9], remaining: f[ip+8],
	}, true
}

// arrive takes a packet that came out, and notes what is wrong about it.
func (l *lane) arrive(s seen) {
	switch {
	case s.number == l.next:
		l.next++
	case s.number > l.next:
		l.lost += s.number - l.next
		l.next = s.number + 1
	default:
		l.disordered++
	}
	if l.wrong == "" && s.remaining != 63 {
		l.wrong = fmt.Sprintf("packet %d came with TTL %d, want 63 after one router", s.number, s.remaining)
	}
}

// arriveOutside is arrive for a translated packet: it also has to come from the lane's own binding.
func (l *lane) arriveOutside(s seen) {
	l.arrive(s)
	if l.bound == (binding{}) {
		l.bound = s.src
	}
	if l.wrong == "" && (s.src != l.bound || s.dst != (binding{l.dst, l.dport})) {
		l.wrong = fmt.Sprintf("packet %d came from %s to %s, want from %s to %s", s.number, s.src, s.dst, l.bound, binding{l.dst, l.dport})
	}
}

// arriveInside is arrive for an answer: it has to come to the host that opened the flow.
func (l *lane) arriveInside(s seen, opened *lane) {
	l.arrive(s)
	if l.wrong == "" && s.dst != (binding{opened.src, opened.sport}) {
		l.wrong = fmt.Sprintf("answer %d came to %s, want to %s", s.number, s.dst, binding{opened.src, opened.sport})
	}
}

// missing is how many of the packets sent have not come out.
func (l *lane) missing() uint64 { return l.sent - l.next + l.lost - min(l.lost, l.disordered) }
