package connectivity

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/sinter-nfv/sinter/test/packets"
)

// passing is a packet that must get through, or be answered.
type passing struct {
	name string
	// run sends it, and says what came.
	run func(*trial, context.Context) (detail string, err error)
}

// passingCases are in the order in which they are run.
var passingCases = []passing{
	{"udp", (*trial).udp},
	{"tcp", (*trial).tcp},
	{"ping", (*trial).ping},
	{"ttl-exceeded", (*trial).ttlExceeded},
	{"ping-chain", (*trial).pingChain},
	{"fragmentation-needed", (*trial).fragmentationNeeded},
}

// ttl of what the hosts send.
const ttl = 64

// flow is what is translated: the client's packet, and what the server got of it.
type flow struct {
	sent, got packets.IPv4
	port      uint16 // of the client; of ICMP echo, the identifier
	attempts  int
}

// request sends a packet from the client to the remote service, and checks what comes to the server.
func (t *trial) request(ctx context.Context, port uint16, p packets.IPv4) (f flow, err error) {
	p.Src, p.Dst, p.TTL = clientAddress, remoteAddress, ttl
	f = flow{sent: p, port: port}
	got, attempts, err := t.client.deliver(ctx, t.client.frame(p), t.server, func(frame []byte) bool {
		v, ok := packets.Parse(frame)
		return ok && v.EtherType == packets.EtherIPv4 && v.IP.Proto == p.Proto && v.IP.Dst == remoteAddress && sameService(p, v.IP)
	})
	if err != nil {
		return f, err
	}
	v, _ := packets.Parse(got)
	f.got, f.attempts = v.IP, attempts
	if f.got.Src < poolFirst || f.got.Src > poolLast {
		return f, fmt.Errorf("the server got it from %s; want an address of the pool, %s to %s", text(f.got.Src), text(poolFirst), text(poolLast))
	}
	if f.got.TTL != ttl-1 {
		return f, fmt.Errorf("the server got it with TTL %d; want %d", f.got.TTL, ttl-1)
	}
	return f, nil
}

// sameService tells whether a packet is what became of the one that was sent, whose port is translated: it goes to the same port, or has the
// same sequence number of an echo.
func sameService(sent, got packets.IPv4) bool {
	if len(got.Payload) < 8 || len(sent.Payload) < 8 {
		return false
	}
	if sent.Proto == packets.ProtoICMP {
		return got.Payload[0] == sent.Payload[0] && string(got.Payload[6:8]) == string(sent.Payload[6:8])
	}
	return string(got.Payload[2:4]) == string(sent.Payload[2:4])
}

// translated is the port, or identifier, by which the server knows the client.
func (f flow) translated() uint16 {
	port, _, _ := f.got.Ports()
	return port
}

// reply sends the server's reply, and checks that it comes to the client's own address and port.
func (t *trial) reply(ctx context.Context, f flow, payload []byte) (detail string, err error) {
	p := packets.IPv4{Src: remoteAddress, Dst: f.got.Src, Proto: f.got.Proto, TTL: ttl, Payload: payload}
	_, attempts, err := t.server.deliver(ctx, t.server.frame(p), t.client, func(frame []byte) bool {
		v, ok := packets.Parse(frame)
		if !ok || v.EtherType != packets.EtherIPv4 || v.IP.Proto != p.Proto || v.IP.Src != remoteAddress || v.IP.Dst != clientAddress {
			return false
		}
		_, port, ok := v.IP.Ports()
		return ok && port == f.port && v.IP.TTL == ttl-1
	})
	if err != nil {
		return "", fmt.Errorf("the reply to %s port %d: %w", text(clientAddress), f.port, err)
	}
	return fmt.Sprintf("%s:%d as %s:%d, and back%s", text(clientAddress), f.port, text(f.got.Src), f.translated(), again(f.attempts, attempts)), nil
}

// again says how many frames were sent where one should do.
func again(attempts ...int) string {
	more := 0
	for _, n := range attempts {
		more += n - 1
	}
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(", with %d frames sent again", more)
}

func (t *trial) udp(ctx context.Context) (string, error) {
	port := t.port()
	f, err := t.request(ctx, port, packets.IPv4{Proto: packets.ProtoUDP, Payload: packets.UDP(clientAddress, remoteAddress, port, portDNS, []byte("question"))})
	if err != nil {
		return "", err
	}
	return t.reply(ctx, f, packets.UDP(remoteAddress, f.got.Src, portDNS, f.translated(), []byte("answer")))
}

func (t *trial) tcp(ctx context.Context) (string, error) {
	const seq, serverSeq = 1000, 5000
	port := t.port()
	f, err := t.request(ctx, port, packets.IPv4{Proto: packets.ProtoTCP, Payload: packets.TCP(clientAddress, remoteAddress, port, portWeb, packets.SYN, seq, nil, nil)})
	if err != nil {
		return "", err
	}
	// Netfilter on the bridges of a node drops a SYN ACK that does not acknowledge the SYN.
	return t.reply(ctx, f, packets.Reset(remoteAddress, f.got.Src, portWeb, f.translated(), packets.SYN|packets.ACK, serverSeq, seq+1))
}

func (t *trial) ping(ctx context.Context) (string, error) {
	port := t.port()
	f, err := t.request(ctx, port, packets.IPv4{Proto: packets.ProtoICMP, Payload: packets.ICMP(packets.ICMPEchoRequest, 0, uint32(port)<<16|uint32(port), []byte("ping"))})
	if err != nil {
		return "", err
	}
	return t.reply(ctx, f, packets.ICMP(packets.ICMPEchoReply, 0, uint32(f.translated())<<16|uint32(port), []byte("ping")))
}

func (t *trial) pingChain(ctx context.Context) (string, error) {
	port := t.port()
	rest := uint32(port)<<16 | 1
	p := packets.IPv4{
		Src: clientAddress, Dst: insideAddress, Proto: packets.ProtoICMP, TTL: ttl,
		Payload: packets.ICMP(packets.ICMPEchoRequest, 0, rest, []byte("ping")),
	}
	_, attempts, err := t.client.ask(ctx, t.client.frame(p), func(frame []byte) bool {
		v, ok := packets.Parse(frame)
		return ok && v.EtherType == packets.EtherIPv4 && v.IP.Proto == packets.ProtoICMP && v.IP.Src == insideAddress && v.IP.Dst == clientAddress &&
			len(v.IP.Payload) >= 8 && v.IP.Payload[0] == packets.ICMPEchoReply && binary.BigEndian.Uint32(v.IP.Payload[4:]) == rest
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers%s", text(insideAddress), again(attempts)), nil
}

// refused sends a datagram from the client that the chain must answer with an ICMP error, and returns the error's last 4 bytes of header.
func (t *trial) refused(ctx context.Context, p packets.IPv4, port uint16, typ, code uint8) (rest uint32, attempts int, err error) {
	p.Src, p.Dst, p.Proto = clientAddress, remoteAddress, packets.ProtoUDP
	got, attempts, err := t.client.ask(ctx, t.client.frame(p), func(frame []byte) bool {
		v, ok := packets.Parse(frame)
		if !ok || v.EtherType != packets.EtherIPv4 || v.IP.Proto != packets.ProtoICMP || v.IP.Src != insideAddress || v.IP.Dst != clientAddress {
			return false
		}
		const quoted = 8 + 20 // the port of the quoted datagram is behind both headers
		m := v.IP.Payload
		return len(m) >= quoted+2 && m[0] == typ && m[1] == code && binary.BigEndian.Uint16(m[quoted:]) == port
	})
	if err != nil {
		return 0, attempts, fmt.Errorf("ICMP type %d code %d from %s: %w", typ, code, text(insideAddress), err)
	}
	v, _ := packets.Parse(got)
	return binary.BigEndian.Uint32(v.IP.Payload[4:]), attempts, nil
}

func (t *trial) ttlExceeded(ctx context.Context) (string, error) {
	port := t.port()
	p := packets.IPv4{TTL: 1, Payload: packets.UDP(clientAddress, remoteAddress, port, portDNS, []byte("question"))}
	_, attempts, err := t.refused(ctx, p, port, packets.ICMPTimeExceeded, 0)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ICMP 11/0 from %s about a packet with TTL 1%s", text(insideAddress), again(attempts)), nil
}

func (t *trial) fragmentationNeeded(ctx context.Context) (string, error) {
	const needed = 4
	port := t.port()
	p := packets.IPv4{TTL: ttl, DF: true, Payload: tooLarge(port)}
	mtu, attempts, err := t.refused(ctx, p, port, packets.ICMPUnreachable, needed)
	if err != nil {
		return "", err
	}
	if mtu != outsideMTU {
		return "", fmt.Errorf("ICMP 3/4 names the MTU %d; want %d, the MTU of interface outside", mtu, outsideMTU)
	}
	return fmt.Sprintf("ICMP 3/4 names the MTU %d%s", mtu, again(attempts)), nil
}

// tooLarge is a datagram of a packet that is 10 bytes longer than the outside takes.
func tooLarge(port uint16) []byte {
	const headers = 20 + 8
	return packets.UDP(clientAddress, remoteAddress, port, portDNS, make([]byte, outsideMTU+10-headers))
}
