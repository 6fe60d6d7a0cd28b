package oracle

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// windows are the numbers of a TCP connection as a strict firewall knows them (docs/elements.md, "track"), by the side that sent: that which
// began the flow is flow.Inside, of which something is known always.
type windows struct {
	ends  [2]uint32 // behind the last byte that the side sent
	edges [2]uint32 // how far it lets the other side send
	said  bool      // the other side has sent a segment, too
}

// atMost compares sequence numbers (RFC 9293 section 3.4).
func atMost(a, b uint32) bool { return int32(b-a) >= 0 }

// numbers are those of the segment of a TCP packet, and how many it takes.
func numbers(ip []byte) (seq, ack, length uint32) {
	segment := header.Transport(ip)
	length = uint32(binary.BigEndian.Uint16(ip[2:])) - uint32(ip[0]&15)*4 - uint32(segment[12]>>4)*4
	for _, flag := range []byte{header.SYN, header.FIN} {
		if segment[13]&flag != 0 {
			length++
		}
	}
	return binary.BigEndian.Uint32(segment[4:]), binary.BigEndian.Uint32(segment[8:]), length
}

func (w *windows) spoke(side int) bool { return side == flow.Inside || w.said }

// fit tells whether a segment from a side is one that the other may take.
func (w *windows) fit(ip []byte, side int, tcp *flow.TCP) bool {
	flags := header.Transport(ip)[13] & judgedFlags
	seq, ack, length := numbers(ip)
	other := 1 - side
	if flags == header.SYN {
		return true
	}
	if flags&header.ACK != 0 && (!w.spoke(other) || !atMost(ack, w.ends[other]) || !atMost(w.ends[other]-tcp.Reach(side), ack)) {
		return false
	}
	switch {
	case flags&header.RST != 0 && w.spoke(side):
		return seq == w.ends[side] || atMost(w.ends[side], seq) && atMost(seq, w.edges[other])
	case flags&header.RST != 0:
		return flags&header.ACK != 0
	}
	expected := atMost(seq, w.edges[other]) || atMost(seq, w.ends[side])
	return !w.spoke(side) || expected && atMost(w.ends[side]-tcp.Reach(other), seq+length)
}

// move takes note of a segment that passes, before the state of the connection does.
func (w *windows) move(ip []byte, side int, tcp *flow.TCP) {
	flags := header.Transport(ip)[13] & judgedFlags
	seq, ack, length := numbers(ip)
	other := 1 - side
	switch {
	case flags&header.RST != 0:
		return
	case flags == header.SYN && side == flow.Inside && !tcp.Answered:
		*w = windows{}
		w.ends[side], w.edges[other] = seq+length, seq+length
		return
	case !w.spoke(side):
		w.said = true
		w.ends[side], w.edges[other] = seq+length, seq+length
	case flags == header.SYN:
		return
	case !atMost(seq+length, w.ends[side]):
		w.ends[side] = seq + length
	}
	if flags&header.ACK == 0 {
		return
	}
	window := uint32(binary.BigEndian.Uint16(header.Transport(ip)[14:]))
	if flags&header.SYN == 0 {
		window = tcp.ScaledWindow(window, side)
	}
	if !atMost(ack+window, w.edges[side]) {
		w.edges[side] = ack + window
	}
}
