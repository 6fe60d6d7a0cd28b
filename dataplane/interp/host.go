package interp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

const (
	codeProtocolUnreachable = 2 // of icmpUnreachable
	codePortUnreachable     = 3
	codeProhibited          = 13 // RFC 1812 section 5.2.7.1

	tcpFIN = 0x01
	tcpSYN = 0x02
	tcpRST = 0x04
	tcpACK = 0x10
)

func init() {
	register(func(*Chain, string, element.EchoResponder) meaning { return answers((*run).echo) })
	register(func(*Chain, string, element.LocalHost) meaning { return answers((*run).localHost) })
	register(func(*Chain, string, element.Reject) meaning { return answers((*run).reject) })
}

// answers is an element behind which nothing but answers is left of a packet.
type answers func(*run, *graph.Node, *packet)

func (answer answers) pass(r *run, n *graph.Node, p *packet, _ int) (int, bool) {
	answer(r, n, p)
	return ended, true
}

// tcpFlags is -1 if the packet has none.
func tcpFlags(ip []byte) int {
	if ip[9] != protoTCP || !ported(ip) {
		return -1
	}
	return int(transport(ip)[13])
}

// echo turns an echo request into its answer; other packets end here.
func (r *run) echo(n *graph.Node, p *packet) {
	var a *packet
	if request(p.ip) && fragOf(p.ip) == fragWhole {
		a = replyToEcho(p)
	}
	r.hostAnswers(n, p, a)
}

// localHost answers as a host without services (RFC 1122 sections 3.2.2.1 and 3.2.2.6, RFC 9293 section 3.10.7.1).
func (r *run) localHost(n *graph.Node, p *packet) {
	var a *packet
	switch proto := p.ip[9]; {
	case proto == protoICMP && r.echoFragment(p):
		a = replyToEcho(p)
	case fragOf(p.ip) == fragLater:
	case proto == protoICMP && request(p.ip) && fragOf(p.ip) == fragWhole:
		a = replyToEcho(p)
	case proto == protoICMP:
	case proto == protoTCP && fragOf(p.ip) == fragWhole:
		a = tcpReset(p)
	case proto == protoTCP || proto == protoUDP && !ported(p.ip):
	case proto == protoUDP:
		a = icmpError(p, icmpUnreachable, codePortUnreachable, 0, dstOf(p.ip), answerTTL)
	default:
		a = icmpError(p, icmpUnreachable, codeProtocolUnreachable, 0, dstOf(p.ip), answerTTL)
	}
	r.hostAnswers(n, p, a)
}

// hostAnswers is for what is sent to an own address, which a host takes no notice of if its checksum is wrong
// (RFC 792, RFC 1122 sections 4.1.3.4 and 4.2.2.7).
func (r *run) hostAnswers(n *graph.Node, p, a *packet) {
	if a != nil && !summed(p.bytes()) {
		r.answerWith(n, p, nil, reasonBadChecksum)
		return
	}
	r.answerWith(n, p, a, element.ReasonLocal)
}

// reject answers with a TCP reset, packets of other protocols with the error.
func (r *run) reject(n *graph.Node, p *packet) {
	var a *packet
	if tcpFlags(p.ip) >= 0 && fragOf(p.ip) == fragWhole {
		a = tcpReset(p)
	} else {
		a = icmpError(p, icmpUnreachable, codeProhibited, 0, r.c.links[p.entry].addr, answerTTL)
	}
	r.answerWith(n, p, a, element.ReasonICMPSuppressed)
}

// answerWith sends an answer, if there is one, to p, which ends here.
func (r *run) answerWith(n *graph.Node, p, a *packet, otherwise string) {
	if a == nil {
		r.note("drop %s", otherwise)
		r.step(n, -1, p)
		r.drop(otherwise)
		return
	}
	r.note("answered with %s", answerText(a.ip))
	r.step(n, 0, a)
	r.walk(a, n.Out[0])
}

const (
	maxEchoes = 64
	echoLife  = 30 * time.Second
)

// firstEcho is the first fragment of an echo request.
type firstEcho struct {
	src, dst uint32
	id       uint16
	until    time.Duration
}

// echoFragment tells whether a fragment is of an echo request: the first one does, the others by it. The last of
// them are remembered.
func (r *run) echoFragment(p *packet) bool {
	e := firstEcho{srcOf(p.ip), dstOf(p.ip), binary.BigEndian.Uint16(p.ip[4:]), r.now + echoLife}
	switch {
	case fragOf(p.ip) == fragLater:
		return slices.ContainsFunc(r.c.echoes[:], func(f firstEcho) bool {
			return f.src == e.src && f.dst == e.dst && f.id == e.id && r.now <= f.until
		})
	case fragOf(p.ip) != fragFirst || !request(p.ip):
		return false
	}
	at := r.c.nextEcho
	was := r.c.echoes[at]
	r.c.echoes[at], r.c.nextEcho = e, (at+1)%maxEchoes
	r.undoable(func() { r.c.echoes[at], r.c.nextEcho = was, at })
	return true
}

// replyToEcho turns an echo request, or a fragment of one, into its reply.
func replyToEcho(request *packet) *packet {
	p := request.copy()
	src, dst := srcOf(p.ip), dstOf(p.ip)
	setSrc(p.ip, dst)
	setDst(p.ip, src)
	p.ip[8] = answerTTL
	if fragOf(p.ip) != fragLater {
		transport(p.ip)[0] = icmpEchoReply
	}
	p.via, p.steps = netip.Addr{}, 0
	p.by.src, p.by.dst = p.by.dst, p.by.src
	p.by.sport, p.by.dport = p.by.dport, p.by.sport
	return p
}

// tcpReset is the reset about a whole segment, nil if it has no TCP header or is a reset (RFC 9293 section 3.10.7.1).
func tcpReset(p *packet) *packet {
	flags := tcpFlags(p.ip)
	if flags < 0 || flags&tcpRST != 0 {
		return nil
	}
	t := transport(p.ip)
	b := make([]byte, 40)
	b[0] = 4<<4 | 5
	b[1] = p.ip[1] &^ 3 // ECN is left out: RFC 3168 section 6.1.1
	binary.BigEndian.PutUint16(b[2:], 40)
	b[6] = flagDF
	b[8] = answerTTL
	b[9] = protoTCP
	setSrc(b, dstOf(p.ip))
	setDst(b, srcOf(p.ip))
	binary.BigEndian.PutUint16(b[10:], checksum(b[:20]))
	s := b[20:]
	copy(s, t[2:4])
	copy(s[2:], t[:2])
	s[12] = 5 << 4
	if flags&tcpACK != 0 {
		copy(s[4:], t[8:12])
		s[13] = tcpRST
	} else {
		taken := len(t) - int(t[12]>>4)*4 + flags&tcpSYN/tcpSYN + flags&tcpFIN/tcpFIN
		binary.BigEndian.PutUint32(s[8:], binary.BigEndian.Uint32(t[4:])+uint32(taken))
		s[13] = tcpRST | tcpACK
	}
	pseudo := append(append([]byte(nil), b[12:20]...), 0, protoTCP, 0, 20)
	binary.BigEndian.PutUint16(s[16:], checksum(append(pseudo, s...)))
	return &packet{
		entry: p.entry, size: 14 + len(b), tag: p.tag.fresh(),
		entered: append([]byte(nil), b...), ip: b,
		by: origins{src: p.by.dst, sport: p.by.dport, dst: p.by.src, dport: p.by.sport},
	}
}

func answerText(ip []byte) string {
	switch {
	case ip[9] == protoTCP:
		return "TCP reset"
	case fragOf(ip) == fragLater || transport(ip)[0] == icmpEchoReply:
		return "echo reply"
	}
	return fmt.Sprintf("ICMP type %d code %d", transport(ip)[0], transport(ip)[1])
}
