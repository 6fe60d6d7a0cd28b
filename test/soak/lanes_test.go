package soak

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/packets"
)

// A lane is a host that has one flow after the other, and one packet of it on its way at a time.
type lane struct {
	flow  packets.Fields
	n     int // packets of the flow that were answered
	last  int // the one that ends it
	frame []byte
	since time.Time // that the packet is on its way; zero: it is answered
	text  uint64    // in the packet, and in its reply
}

// Hosts that talk, and how. No other host's packets are answered.
const (
	lanes      = 512
	hosts      = 128         // inside, from homes on
	servers    = 64          // outside, from peers on
	patience   = time.Second // after which a packet is sent again, as hosts do
	starvation = time.Minute // within which a flow begins, whatever floods there are
	echoPort   = 7
	webPort    = 80
)

var homes, peers = number("10.1.64.1"), number("198.51.100.100")

// key is what a host knows a flow by.
type key struct {
	proto uint8
	addr  uint32
	port  uint16
}

type talk struct {
	rng     *rand.Rand
	lanes   []*lane
	by      map[key]*lane
	waiting int // lanes whose packet is on its way
	turn    int
	port    uint16
	text    uint64
	// The results:
	flows, answered uint64
	repeated        uint64 // first packets of flows, as the ones before had no answer in time
	lost            uint64 // packets of established flows, of those that account.lost has
}

func newTalk(seed uint64) *talk {
	k := &talk{rng: rand.New(rand.NewPCG(seed, 1)), by: map[key]*lane{}}
	for range lanes {
		l := new(lane)
		k.lanes = append(k.lanes, l)
		k.begin(l)
	}
	return k
}

// begin gives a lane another flow.
func (k *talk) begin(l *lane) {
	delete(k.by, l.key())
	for {
		k.port++
		f := packets.Fields{
			VLAN: -1, TTL: 64, DSCP: uint8(k.rng.IntN(64)),
			Src: homes + uint32(k.rng.IntN(hosts)), Sport: 1024 + k.port%60_000, Dst: peers + uint32(k.rng.IntN(servers)),
		}
		switch k.rng.IntN(8) {
		case 0:
			f.Proto, f.Type, f.ICMPRest = packets.ProtoICMP, packets.ICMPEchoRequest, uint32(f.Sport)<<16
		case 1, 2, 3:
			f.Proto, f.Dport = packets.ProtoUDP, echoPort
		default:
			f.Proto, f.Dport = packets.ProtoTCP, webPort
		}
		if f.Proto == packets.ProtoTCP {
			f.Segment = &packets.Segment{Seq: k.rng.Uint32(), Window: 65535, Scale: -1}
		}
		l.flow, l.n, l.last = f, 0, 3+k.rng.IntN(2000)
		if k.by[l.key()] == nil {
			break
		}
	}
	k.by[l.key()] = l
	k.flows++
}

func (l *lane) key() key { return key{l.flow.Proto, l.flow.Src, l.flow.Sport} }

// next is the lane's next packet. A TCP connection begins with a SYN, and ends with a FIN.
func (k *talk) next(l *lane, to packets.MAC) []byte {
	f := l.flow
	k.text++
	l.text = k.text
	payload := binary.BigEndian.AppendUint64(nil, l.text)
	if f.Proto == packets.ProtoTCP {
		switch l.n {
		case 0:
			f.Flags, payload = packets.SYN, nil
		case l.last:
			f.Flags, payload = packets.FIN|packets.ACK, nil
		default:
			f.Flags = packets.PSH | packets.ACK
		}
	}
	return packets.Build(k.rng, to, macOf(f.Src), f, payload)
}

// say has up to n lanes send their next packets.
func (k *talk) say(w *world, n int) {
	for range k.lanes {
		if n == 0 {
			return
		}
		l := k.lanes[k.turn%len(k.lanes)]
		k.turn++
		if !l.since.IsZero() {
			continue
		}
		n--
		k.waiting++
		s := w.sides[inside]
		l.frame, l.since = k.next(l, s.router), time.Now()
		s.queue = append(s.queue, l.frame)
	}
}

// again sends the first packets of flows again that had no answer in time. A host that nobody knows yet waits for its answer, and in a flood beside
// many others.
func (k *talk) again(w *world) {
	for _, l := range k.lanes {
		if l.n == 0 && !l.since.IsZero() && time.Since(l.since) > patience {
			k.repeated++
			k.repeat(w, l)
		}
	}
}

func (k *talk) repeat(w *world, l *lane) {
	l.since = time.Now()
	w.sides[inside].queue = append(w.sides[inside].queue, l.frame)
}

// judge is for when all frames have met their fate: a flow that is established and has no answer now has lost a packet. lost is how many packets that
// may be.
func (k *talk) judge(t *testing.T, w *world, during string, lost uint64) {
	t.Helper()
	for _, l := range k.lanes {
		switch {
		case l.since.IsZero() || l.n == 0:
		case lost > 0:
			lost--
			k.lost++
			k.repeat(w, l)
		default:
			w.examine(t, l)
			t.Fatalf("packet %d of %s has no answer, during %s", l.n, l, during)
		}
	}
}

func (l *lane) String() string {
	return fmt.Sprintf("protocol %d from %s port %d to %s port %d", l.flow.Proto, packets.Addr(l.flow.Src), l.flow.Sport, packets.Addr(l.flow.Dst), l.flow.Dport)
}

// take is what the hosts of a side do with a packet.
func (k *talk) take(w *world, at int, v packets.View) {
	src, dst, ok := v.IP.Ports()
	if !ok {
		return
	}
	if at == outside {
		if isRequest(v.IP, dst) {
			k.reply(w.sides[outside], v.IP, src, dst)
		}
		return
	}
	if l := k.by[key{v.IP.Proto, v.IP.Dst, dst}]; l != nil && l.flow.Dst == v.IP.Src {
		k.hear(w.sides[inside], l, v.IP)
	}
}

// isRequest tells whether a server answers the packet. None answers what floods bring.
func isRequest(p packets.IPv4, port uint16) bool {
	if p.Dst < peers || p.Dst >= peers+servers {
		return false
	}
	switch p.Proto {
	case packets.ProtoTCP:
		return port == webPort
	case packets.ProtoUDP:
		return port == echoPort
	default:
		return p.Payload[0] == packets.ICMPEchoRequest
	}
}

// reply says the same to whom a packet came from. A server knows nothing of flows but what their packets say.
func (k *talk) reply(s *side, p packets.IPv4, src, dst uint16) {
	f := packets.Fields{VLAN: -1, TTL: 64, Src: p.Dst, Dst: p.Src, Proto: p.Proto, Sport: dst, Dport: src}
	text := p.Payload[8:]
	switch p.Proto {
	case packets.ProtoICMP:
		f.Type, f.ICMPRest = packets.ICMPEchoReply, binary.BigEndian.Uint32(p.Payload[4:])
	case packets.ProtoTCP:
		flags, seq, ack, data := segment(p.Payload)
		f.Segment = &packets.Segment{Seq: ack, Ack: seq + uint32(len(data)), Window: 65535, Scale: -1}
		text = data
		switch {
		case flags&packets.SYN != 0:
			f.Flags, f.Segment.Seq = packets.SYN|packets.ACK, ^seq
			f.Segment.Ack++
		case flags&packets.FIN != 0:
			f.Flags = packets.FIN | packets.ACK
			f.Segment.Ack++
		case len(data) > 0:
			f.Flags = packets.PSH | packets.ACK
		default:
			return // the last acknowledgement
		}
	}
	s.queue = append(s.queue, packets.Build(k.rng, s.router, macOf(f.Src), f, text))
}

// segment is what a TCP segment says.
func segment(b []byte) (flags uint8, seq, ack uint32, data []byte) {
	if len(b) < 20 || len(b) < int(b[12]>>4)*4 {
		return 0, 0, 0, nil
	}
	return b[13], binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), b[int(b[12]>>4)*4:]
}

// hear is a lane's answer.
func (k *talk) hear(s *side, l *lane, p packets.IPv4) {
	if l.since.IsZero() {
		return // an answer to what was sent twice
	}
	ends := l.n == l.last
	if p.Proto == packets.ProtoTCP {
		flags, seq, ack, data := segment(p.Payload)
		sent := l.flow.Segment
		switch {
		case l.n == 0:
			if flags&packets.SYN == 0 {
				return
			}
			sent.Seq, sent.Ack = ack, seq+1
		case ends:
			if flags&packets.FIN == 0 {
				return
			}
			f := l.flow
			f.Flags, f.Segment = packets.ACK, &packets.Segment{Seq: ack, Ack: seq + 1, Window: 65535, Scale: -1}
			s.queue = append(s.queue, packets.Build(k.rng, s.router, macOf(f.Src), f, nil))
		default:
			if len(data) != 8 || binary.BigEndian.Uint64(data) != l.text {
				return
			}
			sent.Seq, sent.Ack = ack, seq+uint32(len(data))
		}
	} else if text := p.Payload[8:]; len(text) != 8 || binary.BigEndian.Uint64(text) != l.text {
		return
	}
	l.since = time.Time{}
	l.n++
	k.waiting--
	k.answered++
	if ends {
		k.begin(l)
	}
}
