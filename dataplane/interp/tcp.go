package interp

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// tcpState is what a NAPT knows of a connection (docs/elements.md, "napt", TCP state).
type tcpState struct {
	answered, acknowledged, closing bool
	sides                           [2]tcpSide // by the side that sent: element.NAPTInside, element.NAPTOutside
	checked                         bool       // what comes here fits the connection's windows
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

func (s *tcpState) established() bool { return s.answered && s.acknowledged && !s.closing }

// use takes note of a segment from a side; refreshed tells whether the entry is.
func (s *tcpState) use(segment []byte, side int) (refreshed bool) {
	flags := segment[13]
	if flags&tcpRST != 0 {
		if !s.established() || !s.checked && !s.inWindow(binary.BigEndian.Uint32(segment[4:]), side) {
			return false
		}
		s.closing = true
		return true
	}
	if s.closing && flags&(tcpSYN|tcpACK) == tcpSYN {
		*s = tcpState{checked: s.checked}
	}
	switch {
	case side == element.NAPTOutside:
		s.answered = true
	case s.answered && flags&(tcpSYN|tcpACK) == tcpACK:
		s.acknowledged = true
	}
	if flags&tcpFIN != 0 {
		s.closing = true
	}
	from := &s.sides[side]
	if flags&tcpSYN != 0 && !s.acknowledged {
		from.scale, from.scaled = windowScale(segment)
	}
	from.ack, from.window = binary.BigEndian.Uint32(segment[8:]), binary.BigEndian.Uint16(segment[14:])
	return true
}

// inWindow tells whether the receiver of an RST, which comes from a side, would expect its sequence number.
func (s *tcpState) inWindow(seq uint32, side int) bool {
	to := s.sides[1-side]
	return seq-to.ack <= s.scaledWindow(uint32(to.window), 1-side)
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
