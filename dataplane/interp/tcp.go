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
	oneSided                        bool       // nothing comes from outside, and what the inside says is believed
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
		if !s.established() || !s.checked && !s.oneSided && !s.inWindow(binary.BigEndian.Uint32(segment[4:]), side) {
			return false
		}
		s.closing = true
		return true
	}
	if s.closing && flags&(tcpSYN|tcpACK) == tcpSYN {
		*s = tcpState{checked: s.checked, oneSided: s.oneSided, answered: s.oneSided}
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

// windows are the numbers of a TCP connection as a strict firewall knows them (docs/elements.md, "track"), by the side that sent: that which
// began the flow is element.NAPTInside, of which something is known always.
type windows struct {
	ends  [2]uint32 // behind the last byte that the side sent
	edges [2]uint32 // how far it lets the other side send
	said  bool      // the other side has sent a segment, too
}

// atMost compares sequence numbers (RFC 9293 section 3.4).
func atMost(a, b uint32) bool { return int32(b-a) >= 0 }

// numbers are those of the segment of a TCP packet, and how many it takes.
func numbers(ip []byte) (seq, ack, length uint32) {
	segment := transport(ip)
	length = uint32(binary.BigEndian.Uint16(ip[2:])) - uint32(ip[0]&15)*4 - uint32(segment[12]>>4)*4
	for _, flag := range []byte{tcpSYN, tcpFIN} {
		if segment[13]&flag != 0 {
			length++
		}
	}
	return binary.BigEndian.Uint32(segment[4:]), binary.BigEndian.Uint32(segment[8:]), length
}

// reach is the largest window that a side can announce.
func (s *tcpState) reach(side int) uint32 { return s.scaledWindow(65535, side) }

func (s *tcpState) scaledWindow(window uint32, side int) uint32 {
	if s.sides[0].scaled && s.sides[1].scaled {
		return window << s.sides[side].scale
	}
	return window
}

func (w *windows) spoke(side int) bool { return side == element.NAPTInside || w.said }

// fit tells whether a segment from a side is one that the other may take.
func (w *windows) fit(ip []byte, side int, tcp *tcpState) bool {
	flags := transport(ip)[13] & judgedFlags
	seq, ack, length := numbers(ip)
	other := 1 - side
	if flags == tcpSYN {
		return true
	}
	if flags&tcpACK != 0 && (!w.spoke(other) || !atMost(ack, w.ends[other]) || !atMost(w.ends[other]-tcp.reach(side), ack)) {
		return false
	}
	switch {
	case flags&tcpRST != 0 && w.spoke(side):
		return seq == w.ends[side] || atMost(w.ends[side], seq) && atMost(seq, w.edges[other])
	case flags&tcpRST != 0:
		return flags&tcpACK != 0
	}
	expected := atMost(seq, w.edges[other]) || atMost(seq, w.ends[side])
	return !w.spoke(side) || expected && atMost(w.ends[side]-tcp.reach(other), seq+length)
}

// move takes note of a segment that passes, before the state of the connection does.
func (w *windows) move(ip []byte, side int, tcp *tcpState) {
	flags := transport(ip)[13] & judgedFlags
	seq, ack, length := numbers(ip)
	other := 1 - side
	switch {
	case flags&tcpRST != 0:
		return
	case flags == tcpSYN && side == element.NAPTInside && !tcp.answered:
		*w = windows{}
		w.ends[side], w.edges[other] = seq+length, seq+length
		return
	case !w.spoke(side):
		w.said = true
		w.ends[side], w.edges[other] = seq+length, seq+length
	case flags == tcpSYN:
		return
	case !atMost(seq+length, w.ends[side]):
		w.ends[side] = seq + length
	}
	if flags&tcpACK == 0 {
		return
	}
	window := uint32(binary.BigEndian.Uint16(transport(ip)[14:]))
	if flags&tcpSYN == 0 {
		window = tcp.scaledWindow(window, side)
	}
	if !atMost(ack+window, w.edges[side]) {
		w.edges[side] = ack + window
	}
}
