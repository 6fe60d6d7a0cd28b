package model

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/test/packets"
)

// numbered is a TCP segment's place among the numbers of its sender, and what it says of those of the other side.
type numbered struct {
	syn, ack, rst bool
	from, to      uint32 // to is behind it
	acknowledges  uint32
	window        uint16
}

func segmentOf(ip []byte) numbered {
	b := ip[int(ip[0]&15)*4:]
	bytes := int(binary.BigEndian.Uint16(ip[2:])) - int(ip[0]&15)*4 - int(b[12]>>4)*4
	n := numbered{
		syn: b[13]&packets.SYN != 0, ack: b[13]&packets.ACK != 0, rst: b[13]&packets.RST != 0,
		from: binary.BigEndian.Uint32(b[4:]), acknowledges: binary.BigEndian.Uint32(b[8:]), window: binary.BigEndian.Uint16(b[14:]),
	}
	n.to = n.from + uint32(bytes)
	for _, flag := range []byte{packets.SYN, packets.FIN} {
		if b[13]&flag != 0 {
			n.to++
		}
	}
	return n
}

// within tells whether a number lies in first..last, of which last may be before first: then it lies nowhere.
func within(first, n, last uint32) bool {
	return int32(n-first) >= 0 && int32(last-n) >= 0
}

// checking is what is known of the numbers of a connection whose segments are checked, by direction.
type checking struct {
	on    bool
	heard [2]bool
	sent  [2]uint32 // behind what was sent in the direction
	may   [2]uint32 // how far may be sent in the direction
}

func (c *connection) scaled(window uint32, direction int) uint32 {
	if c.shift[0] < 0 || c.shift[1] < 0 {
		return window
	}
	return window << c.shift[direction]
}

// takes tells whether the receiver of a segment may take it.
func (c *checking) takes(n numbered, direction int, tcp *connection) bool {
	other := 1 - direction
	if n.syn && !n.ack {
		return true
	}
	if n.ack && (!c.heard[other] || !within(c.sent[other]-tcp.scaled(65535, direction), n.acknowledges, c.sent[other])) {
		return false
	}
	if !c.heard[direction] {
		return n.ack || !n.rst
	}
	if n.rst {
		return n.from == c.sent[direction] || within(c.sent[direction], n.from, c.may[direction])
	}
	oldest := c.sent[direction] - tcp.scaled(65535, other)
	behind := int32(c.may[direction]-n.from) < 0 && int32(c.sent[direction]-n.from) < 0
	return !behind && int32(n.to-oldest) >= 0
}

// hear notes a segment that was taken.
func (c *checking) hear(n numbered, direction int, tcp *connection) {
	opens := n.syn && !n.ack
	if n.rst {
		return
	}
	if opens && direction == 0 && (!tcp.answered || tcp.ends) {
		*c = checking{on: true}
	}
	first := !c.heard[direction]
	switch {
	case first:
		c.heard[direction], c.sent[direction], c.may[direction] = true, n.to, n.to
	case opens:
		return
	case int32(n.to-c.sent[direction]) > 0:
		c.sent[direction] = n.to
	}
	if !n.ack {
		return
	}
	window := uint32(n.window)
	if !n.syn {
		window = tcp.scaled(window, direction)
	}
	if edge := n.acknowledges + window; int32(edge-c.may[1-direction]) > 0 {
		c.may[1-direction] = edge
	}
}
