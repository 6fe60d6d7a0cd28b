package model

import (
	"bytes"
	"encoding/binary"

	"github.com/sinter-nfv/sinter/test/packets"
)

// seal is the packet with every checksum moved by what was written (RFC 1624), right or wrong as it was before.
func (s *Shot) seal() []byte {
	ip := bytes.Clone(s.IP)
	if s.Frag() == 0 && isError(s) { // a later fragment may be empty
		if q := quote(&Shot{IP: ip}); q != nil {
			move(s.before[len(s.before)-len(q):], q)
		}
	}
	if Headed(ip) {
		move(s.before, ip)
	} else { // nobody knows where its transport checksum is
		header := int(ip[0]&15) * 4
		adjust(ip, 10, false, words(s.before[:header], ip[:header], 10))
	}
	return ip
}

// move moves the checksums of a packet that was old to what it is now.
func move(old, ip []byte) {
	header := int(ip[0]&15) * 4
	adjust(ip, 10, false, words(old[:header], ip[:header], 10))
	if binary.BigEndian.Uint16(ip[6:])&0x1fff != 0 {
		return
	}
	was, is := old[header:], ip[header:]
	switch ip[9] {
	case packets.ProtoTCP:
		if len(is) >= 18 {
			adjust(is, 16, false, append(words(old[12:20], ip[12:20], -1), words(was[:4], is[:4], -1)...))
		}
	case packets.ProtoUDP:
		if len(is) >= 8 && binary.BigEndian.Uint16(is[6:]) != 0 {
			adjust(is, 6, true, append(words(old[12:20], ip[12:20], -1), words(was[:4], is[:4], -1)...))
		}
	case packets.ProtoICMP:
		if len(is) >= 8 {
			adjust(is, 2, false, words(was, is, 2))
		}
	}
}

// words are the pairs of words that differ, but for the one at skip.
func words(old, now []byte, skip int) (pairs [][2]uint16) {
	word := func(b []byte, i int) uint16 {
		if i+1 == len(b) {
			return uint16(b[i]) << 8
		}
		return binary.BigEndian.Uint16(b[i:])
	}
	for i := 0; i < len(old); i += 2 {
		if a, b := word(old, i), word(now, i); a != b && i != skip {
			pairs = append(pairs, [2]uint16{a, b})
		}
	}
	return pairs
}

// adjust is RFC 1624, equation 3; never says that zero is written as 0xffff (UDP).
func adjust(b []byte, at int, never bool, pairs [][2]uint16) {
	if len(pairs) == 0 {
		return
	}
	sum := uint32(^binary.BigEndian.Uint16(b[at:]))
	for _, p := range pairs {
		sum += uint32(^p[0]) + uint32(p[1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	// nothing is written where all that was written makes no difference
	delta := uint32(0)
	for _, p := range pairs {
		delta += uint32(^p[0]) + uint32(p[1])
	}
	for delta > 0xffff {
		delta = delta>>16 + delta&0xffff
	}
	if delta == 0 || delta == 0xffff {
		return
	}
	hc := ^uint16(sum)
	if never && hc == 0 {
		hc = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], hc)
}
