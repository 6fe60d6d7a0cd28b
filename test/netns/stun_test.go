package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// STUN as far as a client asks for how a NAT translates it (RFC 8489 sections 5, 14.2).
const (
	stunRequest, stunSuccess = 0x0001, 0x0101
	stunCookie               = 0x2112a442
	stunXORMapped            = 0x0020
	stunHeader               = 20
)

// The servers' addresses and ports, as RFC 5780 section 4.3 has them: two of each.
var (
	stunServers = []string{"198.51.100.2", "198.51.100.3"}
	stunPorts   = []uint16{3478, 3479}
)

// homes is a NAPT between two hosts inside and STUN's servers outside, on the kernels of network namespaces.
const homes = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: homes}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - {name: rt, router: {ports: [{name: in}, {name: out}], routes: [{prefix: 0.0.0.0/0, port: out}]}}
  - {name: nat, napt: {pool: [198.51.100.16-198.51.100.19], mapping: %s, filtering: %s}}
  links:
  - {from: inside, to: rt.in}
  - {from: rt.out, to: nat.inside}
  - {from: nat.outside, to: outside}
`

// stunServe answers binding requests to an address with where they came from; it returns its socket.
func stunServe(t *testing.T, s *lab.Space, at netip.AddrPort) net.PacketConn {
	t.Helper()
	p := lab.In(t, s, func() (net.PacketConn, error) { return net.ListenPacket("udp4", at.String()) })
	t.Cleanup(func() { _ = p.Close() })
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			if n < stunHeader || binary.BigEndian.Uint16(b) != stunRequest || binary.BigEndian.Uint32(b[4:]) != stunCookie {
				continue
			}
			seen := netip.MustParseAddrPort(from.String())
			a := binary.BigEndian.AppendUint16(nil, stunSuccess)
			a = binary.BigEndian.AppendUint16(a, 12)
			a = append(a, b[4:stunHeader]...)
			a = binary.BigEndian.AppendUint16(a, stunXORMapped)
			a = append(a, 0, 8, 0, 1)
			a = binary.BigEndian.AppendUint16(a, seen.Port()^stunCookie>>16)
			ip := seen.Addr().As4()
			a = binary.BigEndian.AppendUint32(a, binary.BigEndian.Uint32(ip[:])^stunCookie)
			if _, err := p.WriteTo(a, from); err != nil {
				return
			}
		}
	}()
	return p
}

// stunAsk is what a server says that the socket's address and port are.
func stunAsk(p net.PacketConn, server netip.AddrPort) (mapped netip.AddrPort, err error) {
	request := make([]byte, stunHeader)
	binary.BigEndian.PutUint16(request, stunRequest)
	binary.BigEndian.PutUint32(request[4:], stunCookie)
	copy(request[8:], server.String())
	answer := make([]byte, 1500)
	for range 5 { // RFC 8489 section 6.2.1: requests are sent again
		if _, err = p.WriteTo(request, net.UDPAddrFromAddrPort(server)); err != nil {
			return mapped, err
		}
		if err = p.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return mapped, err
		}
		n, _, readErr := p.ReadFrom(answer)
		if err = readErr; errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		} else if err != nil {
			return mapped, err
		}
		if n != stunHeader+12 || binary.BigEndian.Uint16(answer) != stunSuccess || string(answer[4:stunHeader]) != string(request[4:]) {
			return mapped, fmt.Errorf("%v answers with %x", server, answer[:n])
		}
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], binary.BigEndian.Uint32(answer[stunHeader+8:])^stunCookie)
		return netip.AddrPortFrom(netip.AddrFrom4(ip), binary.BigEndian.Uint16(answer[stunHeader+6:])^stunCookie>>16), nil
	}
	return mapped, fmt.Errorf("%v does not answer: %w", server, err)
}

// reaches tells whether a datagram gets from one socket to the address that another one is known by.
func reaches(from, to net.PacketConn, known netip.AddrPort) (bool, error) {
	text := fmt.Sprintf("from %v at %v", from.LocalAddr(), time.Now())
	b := make([]byte, 1500)
	for range 3 {
		if _, err := from.WriteTo([]byte(text), net.UDPAddrFromAddrPort(known)); err != nil {
			return false, err
		}
		if err := to.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			return false, err
		}
		switch n, _, err := to.ReadFrom(b); {
		case errors.Is(err, os.ErrDeadlineExceeded):
		case err != nil:
			return false, err
		case string(b[:n]) == text:
			return true, nil
		}
	}
	return false, nil
}

// stunWorld is a host behind a NAPT, and servers before it.
type stunWorld struct {
	lan     *lab.Space
	engine  *lab.Engine
	at      [2][2]netip.AddrPort // of the servers, by address and port
	servers map[netip.AddrPort]net.PacketConn
}

func newSTUNWorld(t *testing.T) *stunWorld {
	t.Helper()
	lab.Require(t)
	w := &stunWorld{lan: lab.New(t, "lan"), servers: map[netip.AddrPort]net.PacketConn{}}
	wan, box := lab.New(t, "wan"), lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: w.lan, Device: "eth0", Address: "10.0.0.2/24"}, lab.End{Space: box, Device: "lan"})
	lab.Cable(t, lab.End{Space: wan, Device: "eth0", Address: stunServers[0] + "/24"}, lab.End{Space: box, Device: "wan"})
	wan.Run(t, "ip", "address", "add", stunServers[1]+"/24", "dev", "eth0")
	w.lan.Run(t, "ip", "route", "add", "default", "via", "10.0.0.1")
	for i, a := range stunServers {
		for j, port := range stunPorts {
			w.at[i][j] = netip.AddrPortFrom(netip.MustParseAddr(a), port)
			w.servers[w.at[i][j]] = stunServe(t, wan, w.at[i][j])
		}
	}
	w.engine = lab.StartEngine(t, box, []string{"inside=lan", "outside=wan"})
	return w
}

// sight is what the servers see of a socket: which of them see it as the first one does, and which get in there.
type sight struct{ samePort, sameAddress, letsPort, letsAddress bool }

func (w *stunWorld) sees(t *testing.T, local netip.AddrPort) (s sight) {
	t.Helper()
	p := lab.In(t, w.lan, func() (net.PacketConn, error) { return net.ListenPacket("udp4", local.String()) })
	defer p.Close()
	ask := func(server netip.AddrPort) netip.AddrPort {
		mapped, err := stunAsk(p, server)
		if err != nil {
			t.Fatal(err)
		}
		return mapped
	}
	lets := func(server, known netip.AddrPort) bool {
		ok, err := reaches(w.servers[server], p, known)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	first := ask(w.at[0][0])
	if !lets(w.at[0][0], first) {
		t.Error("the server itself is not let in")
	}
	s.letsPort, s.letsAddress = lets(w.at[0][1], first), lets(w.at[1][0], first)
	s.samePort, s.sameAddress = ask(w.at[0][1]) == first, ask(w.at[1][0]) == first
	return s
}

// TestASTUNClientSeesTheMappingAndTheFilter asks two servers at two ports each, as RFC 5780 sections 4.3 and 4.4 have it.
func TestASTUNClientSeesTheMappingAndTheFilter(t *testing.T) {
	t.Parallel() // waits more than it works
	w := newSTUNWorld(t)
	for i, c := range []struct {
		mapping, filtering string
		want               sight
	}{
		{"EndpointIndependent", "EndpointIndependent", sight{true, true, true, true}},
		{"EndpointIndependent", "AddressDependent", sight{true, true, true, false}},
		{"EndpointIndependent", "AddressAndPortDependent", sight{true, true, false, false}},
		{"AddressDependent", "AddressDependent", sight{true, false, true, false}},
		{"AddressAndPortDependent", "AddressAndPortDependent", sight{}},
	} {
		t.Run(c.mapping+", "+c.filtering, func(t *testing.T) {
			w.engine.Load(t, lab.Compile(t, lab.ParseText(t, fmt.Sprintf(homes, c.mapping, c.filtering))))
			if got := w.sees(t, netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), uint16(40000+i))); got != c.want {
				t.Errorf("the servers see %+v, want %+v", got, c.want)
			}
		})
	}
}
