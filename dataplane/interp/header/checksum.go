package header

import (
	"bytes"
	"encoding/binary"
)

// This file is the section "Checksums" of docs/elements.md.

// fold adds the carries back in (one's complement addition, RFC 1071).
func fold(sum uint32) uint32 {
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum
}

// Sum adds up 16-bit words; an odd last byte is padded with zero.
func Sum(b []byte) uint32 {
	var s uint32
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return fold(s)
}

// Checksum is the Internet checksum of b, computed afresh.
func Checksum(b []byte) uint16 { return ^uint16(Sum(b)) }

// Summed tells whether the transport checksum of a packet is right, or cannot be told: a fragment's covers others.
func Summed(ip []byte) bool {
	if Frag(ip) != FragWhole || !HasTransport(ip) {
		return true
	}
	b, proto := Transport(ip), ip[9]
	switch proto {
	case ICMP:
		return Sum(b) == 0xffff
	case UDP:
		if binary.BigEndian.Uint16(b[6:]) == 0 {
			return true // none: RFC 768
		}
		b = b[:binary.BigEndian.Uint16(b[4:])]
	}
	pseudo := append(append([]byte(nil), ip[12:20]...), 0, proto)
	pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(b)))
	return Sum(append(pseudo, b...)) == 0xffff
}

// Delta is D: by how much the sum over the words of was moves when they become is.
func Delta(was, is []byte) uint32 {
	var d uint32
	for i := 0; i < len(was); i += 2 {
		d += Sum(is[i:min(i+2, len(is))]) + 0xffff - Sum(was[i:min(i+2, len(was))])
		d = fold(d)
	}
	return d
}

// moved is C'.
func moved(c uint16, d uint32) uint16 {
	if d = fold(d); d == 0 || d == 0xffff {
		return c
	}
	return ^uint16(fold(uint32(^c) + d))
}

// move moves the checksum at offset at of b.
func move(b []byte, at int, d uint32) {
	if at+2 <= len(b) {
		c := binary.BigEndian.Uint16(b[at:])
		binary.BigEndian.PutUint16(b[at:], moved(c, d))
	}
}

// MoveChecksums brings the checksums of the IP packet is, which still are those of
// was, up to what changed from was to is. Both may be cut short, as quoted packets are.
func MoveChecksums(was, is []byte) {
	if !HasTransport(is) {
		h := Len(is)
		move(is, 10, Delta(was[:h], is[:h]))
		return
	}
	moveQuoted(was, is)
}

// moveQuoted is the same for packets of which perhaps only the beginning is there.
func moveQuoted(was, is []byte) {
	if bytes.Equal(was, is) {
		return
	}
	h := Len(is)
	pseudo := Delta(was[12:20], is[12:20])
	move(is, 10, Delta(was[:h], is[:h]))
	if Frag(is) == FragLater {
		return
	}
	was, is, proto := was[h:], is[h:], is[9]
	switch proto {
	case TCP:
		move(is, 16, pseudo+Delta(was[:4], is[:4]))
	case UDP:
		if c := binary.BigEndian.Uint16(is[6:]); c != 0 {
			if c = moved(c, pseudo+Delta(was[:4], is[:4])); c == 0 {
				c = 0xffff
			}
			binary.BigEndian.PutUint16(is[6:], c)
		}
	case ICMP:
		if q := Quoted(is); q != nil {
			moveQuoted(Quoted(was), q)
		}
		move(is, 2, Delta(was, is))
	}
}
