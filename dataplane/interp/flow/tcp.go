package flow

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// Sides of a flow.
const (
	Inside  = 0
	Outside = 1
)

// TCP is what is known of a connection (docs/elements.md, "TCP state").
type TCP struct {
	Answered, Acknowledged, Closing bool
	sides                           [2]tcpSide // by the side that sent
	Checked                         bool       // what comes here fits the connection's windows
	OneSided                        bool       // nothing comes from outside, and what the inside says is believed
}

// tcpSide is what one side of a connection said last.
type tcpSide struct {
	ack    uint32
	window uint16
	scaled bool // its SYN had a window scale:
	scale  uint8
}

const (
	optionEnd         = 0
	optionNop         = 1
	optionWindowScale = 3
	maxWindowScale    = 14 // RFC 7323 section 2.3
)

// Established tells whether both sides have opened the connection, and none closes it.
func (s *TCP) Established() bool { return s.Answered && s.Acknowledged && !s.Closing }

// Use takes note of a segment from a side; refreshed tells whether the entry is.
func (s *TCP) Use(segment []byte, side int) (refreshed bool) {
	flags := segment[13]
	if flags&header.RST != 0 {
		if !s.Established() || !s.Checked && !s.OneSided && !s.inWindow(binary.BigEndian.Uint32(segment[4:]), side) {
			return false
		}
		s.Closing = true
		return true
	}
	if s.Closing && flags&(header.SYN|header.ACK) == header.SYN {
		*s = TCP{Checked: s.Checked, OneSided: s.OneSided, Answered: s.OneSided}
	}
	switch {
	case side == Outside:
		s.Answered = true
	case s.Answered && flags&(header.SYN|header.ACK) == header.ACK:
		s.Acknowledged = true
	}
	if flags&header.FIN != 0 {
		s.Closing = true
	}
	from := &s.sides[side]
	if flags&header.SYN != 0 && !s.Acknowledged {
		from.scale, from.scaled = windowScale(segment)
	}
	from.ack, from.window = binary.BigEndian.Uint32(segment[8:]), binary.BigEndian.Uint16(segment[14:])
	return true
}

// inWindow tells whether the receiver of an RST, which comes from a side, would expect its sequence number.
func (s *TCP) inWindow(seq uint32, side int) bool {
	to := s.sides[1-side]
	return seq-to.ack <= s.ScaledWindow(uint32(to.window), 1-side)
}

// windowScale reads the option of a SYN.
func windowScale(segment []byte) (scale uint8, ok bool) {
	options := segment[20 : int(segment[12]>>4)*4]
	for len(options) > 0 && options[0] != optionEnd {
		if options[0] == optionNop {
			options = options[1:]
			continue
		}
		if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
			break
		}
		if options[0] == optionWindowScale && options[1] == 3 {
			return min(options[2], maxWindowScale), true
		}
		options = options[options[1]:]
	}
	return 0, false
}

// Reach is the largest window that a side can announce.
func (s *TCP) Reach(side int) uint32 { return s.ScaledWindow(65535, side) }

// ScaledWindow is what a side announces with a window.
func (s *TCP) ScaledWindow(window uint32, side int) uint32 {
	if s.sides[0].scaled && s.sides[1].scaled {
		return window << s.sides[side].scale
	}
	return window
}
