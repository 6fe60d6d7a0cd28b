package packets

import (
	"encoding/binary"
	"math/rand/v2"
)

// RFC 791 and RFC 2113 options: padding, router alert, a record route with room for two addresses.
var options = [][]byte{
	{1, 1, 1, 0},
	{0x94, 4, 0, 0},
	{7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0},
}

// Options are IP options drawn at random.
func Options(r *rand.Rand) []byte { return options[r.IntN(len(options))] }

// Odd damages an IPv4 frame in one of the ways that an engine has to expect. The frame given is not changed;
// one without a whole Ethernet header is odd enough.
func Odd(r *rand.Rand, frame []byte) []byte {
	if len(frame) < 14 {
		return frame
	}
	b := append([]byte(nil), frame...)
	return oddities[r.IntN(len(oddities))](r, b)
}

// ipOffset is where the IP header starts.
func ipOffset(b []byte) int {
	at := 12
	for at+6 <= len(b) && isTPID(binary.BigEndian.Uint16(b[at:])) {
		at += 4
	}
	return min(at+2, len(b))
}

// resum computes the IP header's checksum again, so that only the damage meant is seen.
func resum(ip []byte) {
	ihl := int(ip[0]&15) * 4
	if ihl < 20 || ihl > len(ip) {
		return
	}
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip[:ihl]))
}

// onIP applies damage to the IP packet of frames that have a whole IP header.
func onIP(damage func(r *rand.Rand, ip []byte)) func(*rand.Rand, []byte) []byte {
	return func(r *rand.Rand, b []byte) []byte {
		if ip := b[ipOffset(b):]; len(ip) >= 20 {
			damage(r, ip)
		}
		return b
	}
}

var oddities = []func(r *rand.Rand, b []byte) []byte{
	func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b)+1)] },                     // truncated anywhere
	func(r *rand.Rand, b []byte) []byte { return b[:min(len(b), 10+r.IntN(60))] },           // truncated within the headers
	func(r *rand.Rand, b []byte) []byte { b[r.IntN(6)] ^= byte(1 + r.IntN(255)); return b }, // another host's
	func(_ *rand.Rand, b []byte) []byte { copy(b, Broadcast[:]); return b },                 // broadcast IP
	func(_ *rand.Rand, b []byte) []byte { b[0] |= 1; return b },                             // multicast
	func(r *rand.Rand, b []byte) []byte { // a second tag, or a first one
		tpid := []uint16{TPID8021Q, TPIDQinQ, 0x9100}[r.IntN(3)]
		tag := binary.BigEndian.AppendUint16(nil, tpid)
		tag = binary.BigEndian.AppendUint16(tag, uint16(r.IntN(65536)))
		return append(append(append([]byte(nil), b[:12]...), tag...), b[12:]...)
	},
	func(r *rand.Rand, b []byte) []byte { // another EtherType
		at := ipOffset(b)
		binary.BigEndian.PutUint16(b[at-2:], []uint16{EtherIPv6, EtherARP, 0x88cc, 46, 0x05ff, 0x0801}[r.IntN(6)])
		return b
	},
	func(r *rand.Rand, b []byte) []byte { // Ethernet padding, not always zero
		for range 1 + r.IntN(40) {
			b = append(b, byte(r.IntN(256)))
		}
		return b
	},
	onIP(func(r *rand.Rand, ip []byte) { ip[10+r.IntN(2)] ^= byte(1 << r.IntN(8)) }), // bad checksum
	onIP(func(_ *rand.Rand, ip []byte) { // the other zero: right in ones' complement only
		ip[10], ip[11] = 0xff, 0xff
	}),
	onIP(func(r *rand.Rand, ip []byte) { ip[0] = byte(r.IntN(16))<<4 | ip[0]&15; resum(ip) }), // version
	onIP(func(r *rand.Rand, ip []byte) { ip[0] = 0x40 | byte(r.IntN(16)); resum(ip) }),        // header length
	onIP(func(r *rand.Rand, ip []byte) { // total length: too short, a little wrong, too long
		total := int(binary.BigEndian.Uint16(ip[2:]))
		total = []int{r.IntN(24), total - 1 - r.IntN(12), total + 1 + r.IntN(12), r.IntN(65536)}[r.IntN(4)]
		binary.BigEndian.PutUint16(ip[2:], uint16(max(total, 0)))
		resum(ip)
	}),
	onIP(func(r *rand.Rand, ip []byte) { // fragments of any kind
		binary.BigEndian.PutUint16(ip[6:], []uint16{0x2000, 0x2001, 0x0001, 0x1fff, 0x6000, 0x8000, 0x4000, uint16(r.IntN(65536))}[r.IntN(8)])
		resum(ip)
	}),
	onIP(func(r *rand.Rand, ip []byte) { // martian source
		binary.BigEndian.PutUint32(ip[12:], martians[r.IntN(len(martians))])
		resum(ip)
	}),
	onIP(func(r *rand.Rand, ip []byte) { // martian destination
		binary.BigEndian.PutUint32(ip[16:], martians[r.IntN(len(martians))])
		resum(ip)
	}),
	onIP(func(r *rand.Rand, ip []byte) { ip[9] = byte(r.IntN(256)); resum(ip) }), // the payload is not of this protocol
	onIP(func(r *rand.Rand, ip []byte) { // transport lengths
		if ihl := int(ip[0]&15) * 4; ihl >= 20 && len(ip) >= ihl+20 {
			switch ip[9] {
			case ProtoTCP:
				ip[ihl+12] = byte(r.IntN(256))
			case ProtoUDP:
				n := int(binary.BigEndian.Uint16(ip[ihl+4:]))
				binary.BigEndian.PutUint16(ip[ihl+4:], uint16([]int{r.IntN(9), n + 1, n - 1, r.IntN(65536)}[r.IntN(4)]))
			}
		}
	}),
	onIP(func(r *rand.Rand, ip []byte) { // transport checksum: none, wrong, the values around zero
		if ihl := int(ip[0]&15) * 4; ihl >= 20 && len(ip) >= ihl+18 {
			at := map[byte]int{ProtoTCP: 16, ProtoUDP: 6, ProtoICMP: 2}[ip[9]]
			if at != 0 {
				binary.BigEndian.PutUint16(ip[ihl+at:], []uint16{0, 0xffff, 1, 0xfffe, uint16(r.IntN(65536))}[r.IntN(5)])
			}
		}
	}),
	func(r *rand.Rand, b []byte) []byte { // any bit
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return b
	},
	onIP(func(r *rand.Rand, ip []byte) { // any bit of the IP header, checksum right
		ip[r.IntN(20)] ^= 1 << r.IntN(8)
		resum(ip)
	}),
}

// martians and their neighbours (RFC 1812 section 5.3.7).
var martians = []uint32{
	0, 0x00ffffff, 0x01000000, 0x7effffff, 0x7f000000, 0x7fffffff, 0x80000000,
	0xdfffffff, 0xe0000000, 0xefffffff, 0xf0000000, 0xffffffff,
}
