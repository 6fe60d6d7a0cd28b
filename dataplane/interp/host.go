package interp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

const (
	codeProtocolUnreachable = 2 // of header.Unreachable
	codePortUnreachable     = 3
	codeProhibited          = 13 // RFC 1812 section 5.2.7.1
)

func init() {
	registerOwn(func(*Chain, string, element.EchoResponder) pass.Element { return answers((*run).echo) })
	registerOwn(func(*Chain, string, element.LocalHost) pass.Element { return answers((*run).localHost) })
	registerOwn(func(*Chain, string, element.Reject) pass.Element { return answers((*run).reject) })
}

// answers is an element behind which nothing but answers is left of a packet.
type answers func(*run, *graph.Node, *pass.Packet)

func (answer answers) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	answer(runOf(r), n, p)
	return pass.Ended, true
}

// tcpFlags is -1 if the packet has none.
func tcpFlags(ip []byte) int {
	if ip[9] != header.TCP || !header.Ported(ip) {
		return -1
	}
	return int(header.Transport(ip)[13])
}

// echo turns an echo request into its answer; other packets end here.
func (r *run) echo(n *graph.Node, p *pass.Packet) {
	var a *pass.Packet
	if flow.IsEchoRequest(p.IP) && header.Frag(p.IP) == header.FragWhole {
		a = replyToEcho(p)
	}
	r.hostAnswers(n, p, a)
}

// localHost answers as a host without services (RFC 1122 sections 3.2.2.1 and 3.2.2.6, RFC 9293 section 3.10.7.1).
func (r *run) localHost(n *graph.Node, p *pass.Packet) {
	var a *pass.Packet
	switch proto := p.IP[9]; {
	case proto == header.ICMP && r.echoFragment(p):
		a = replyToEcho(p)
	case header.Frag(p.IP) == header.FragLater:
	case proto == header.ICMP && flow.IsEchoRequest(p.IP) && header.Frag(p.IP) == header.FragWhole:
		a = replyToEcho(p)
	case proto == header.ICMP:
	case proto == header.TCP && header.Frag(p.IP) == header.FragWhole:
		a = tcpReset(p)
	case proto == header.TCP || proto == header.UDP && !header.Ported(p.IP):
	case proto == header.UDP:
		a = icmpError(p, header.Unreachable, codePortUnreachable, 0, header.Dst(p.IP), answerTTL)
	default:
		a = icmpError(p, header.Unreachable, codeProtocolUnreachable, 0, header.Dst(p.IP), answerTTL)
	}
	r.hostAnswers(n, p, a)
}

// hostAnswers is for what is sent to an own address, which a host takes no notice of if its checksum is wrong
// (RFC 792, RFC 1122 sections 4.1.3.4 and 4.2.2.7).
func (r *run) hostAnswers(n *graph.Node, p, a *pass.Packet) {
	if a != nil && !header.Summed(p.Bytes()) {
		r.answerWith(n, p, nil, reasonBadChecksum)
		return
	}
	r.answerWith(n, p, a, element.ReasonLocal)
}

// reject answers with a TCP reset, packets of other protocols with the error.
func (r *run) reject(n *graph.Node, p *pass.Packet) {
	var a *pass.Packet
	if tcpFlags(p.IP) >= 0 && header.Frag(p.IP) == header.FragWhole {
		a = tcpReset(p)
	} else {
		a = icmpError(p, header.Unreachable, codeProhibited, 0, r.c.links[p.Entry].addr, answerTTL)
	}
	r.answerWith(n, p, a, element.ReasonICMPSuppressed)
}

// answerWith sends an answer, if there is one, to p, which ends here.
func (r *run) answerWith(n *graph.Node, p, a *pass.Packet, otherwise string) {
	if a == nil {
		r.Note("drop %s", otherwise)
		r.Step(n, -1, p)
		r.Drop(otherwise)
		return
	}
	r.Note("answered with %s", answerText(a.IP))
	r.Step(n, 0, a)
	r.Left()
	r.Walk(a, n.Out[0])
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
func (r *run) echoFragment(p *pass.Packet) bool {
	e := firstEcho{header.Src(p.IP), header.Dst(p.IP), binary.BigEndian.Uint16(p.IP[4:]), r.Now + echoLife}
	switch {
	case header.Frag(p.IP) == header.FragLater:
		return slices.ContainsFunc(r.c.echoes[:], func(f firstEcho) bool {
			return f.src == e.src && f.dst == e.dst && f.id == e.id && r.Now <= f.until
		})
	case header.Frag(p.IP) != header.FragFirst || !flow.IsEchoRequest(p.IP):
		return false
	}
	at := r.c.nextEcho
	was := r.c.echoes[at]
	r.c.echoes[at], r.c.nextEcho = e, (at+1)%maxEchoes
	r.Undoable(func() { r.c.echoes[at], r.c.nextEcho = was, at })
	return true
}

// replyToEcho turns an echo request, or a fragment of one, into its reply.
func replyToEcho(request *pass.Packet) *pass.Packet {
	p := request.Copy()
	src, dst := header.Src(p.IP), header.Dst(p.IP)
	header.SetSrc(p.IP, dst)
	header.SetDst(p.IP, src)
	p.IP[8] = answerTTL
	if header.Frag(p.IP) != header.FragLater {
		header.Transport(p.IP)[0] = header.EchoReply
	}
	p.Via, p.Steps = netip.Addr{}, 0
	p.By.Src, p.By.Dst = p.By.Dst, p.By.Src
	p.By.Sport, p.By.Dport = p.By.Dport, p.By.Sport
	return p
}

// tcpReset is the reset about a whole segment, nil if it has no TCP header or is a reset (RFC 9293 section 3.10.7.1).
func tcpReset(p *pass.Packet) *pass.Packet {
	flags := tcpFlags(p.IP)
	if flags < 0 || flags&header.RST != 0 {
		return nil
	}
	t := header.Transport(p.IP)
	b := make([]byte, 40)
	b[0] = 4<<4 | 5
	b[1] = p.IP[1] &^ 3 // ECN is left out: RFC 3168 section 6.1.1
	binary.BigEndian.PutUint16(b[2:], 40)
	b[6] = header.DF
	b[8] = answerTTL
	b[9] = header.TCP
	header.SetSrc(b, header.Dst(p.IP))
	header.SetDst(b, header.Src(p.IP))
	binary.BigEndian.PutUint16(b[10:], header.Checksum(b[:20]))
	s := b[20:]
	copy(s, t[2:4])
	copy(s[2:], t[:2])
	s[12] = 5 << 4
	if flags&header.ACK != 0 {
		copy(s[4:], t[8:12])
		s[13] = header.RST
	} else {
		taken := len(t) - int(t[12]>>4)*4 + flags&header.SYN/header.SYN + flags&header.FIN/header.FIN
		binary.BigEndian.PutUint32(s[8:], binary.BigEndian.Uint32(t[4:])+uint32(taken))
		s[13] = header.RST | header.ACK
	}
	pseudo := append(append([]byte(nil), b[12:20]...), 0, header.TCP, 0, 20)
	binary.BigEndian.PutUint16(s[16:], header.Checksum(append(pseudo, s...)))
	return &pass.Packet{
		Entry: p.Entry, Size: 14 + len(b), Tag: p.Tag.Fresh(),
		Entered: append([]byte(nil), b...), IP: b,
		By: pass.Origins{Src: p.By.Dst, Sport: p.By.Dport, Dst: p.By.Src, Dport: p.By.Sport},
	}
}

func answerText(ip []byte) string {
	switch {
	case ip[9] == header.TCP:
		return "TCP reset"
	case header.Frag(ip) == header.FragLater || header.Transport(ip)[0] == header.EchoReply:
		return "echo reply"
	}
	return fmt.Sprintf("ICMP type %d code %d", header.Transport(ip)[0], header.Transport(ip)[1])
}
