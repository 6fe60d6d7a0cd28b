package interp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// kernel is a Linux router in a network namespace with the builder's interfaces and addresses, and source NAT to
// 192.0.2.10 towards outside.
type kernel struct{ sockets [2]int }

// newKernel sets the router up, or skips the test where that is not allowed. The
// calling goroutine keeps its thread, which is in a namespace of its own.
func newKernel(t *testing.T) *kernel {
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	for _, tool := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	ns := fmt.Sprintf("sinter-oracle-%d", os.Getpid())
	run := func(command string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", command, err, out)
		}
	}
	run("ip netns add " + ns)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
	inside := func(command string) { t.Helper(); run("ip netns exec " + ns + " sh -c '" + command + "'") }
	// Nothing but our packets: no IPv6, no ARP for the host's side.
	inside("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 || true")
	k := &kernel{}
	for i, dev := range []struct{ host, mac, addr, neighbor string }{
		{"veth0-", insideMAC.String(), "10.0.0.1/8", "10.0.0.2 lladdr " + hostMAC.String()},
		{"veth1-", outsideMAC.String(), "192.0.2.1/24", "192.0.2.254 lladdr " + routerMAC.String()},
	} {
		run(fmt.Sprintf("ip link add name %s type veth peer name %s1 address %s netns %s && ip link set %s up", dev.host, dev.host, dev.mac, ns, dev.host))
		inside(fmt.Sprintf("ip addr add %s dev %s1 && ip link set %s1 up && ip neigh add %s dev %s1 nud permanent",
			dev.addr, dev.host, dev.host, dev.neighbor, dev.host))
		k.sockets[i] = rawSocket(t, dev.host)
	}
	inside("ip route add default via 192.0.2.254")
	inside("cd /proc/sys/net/ipv4 && echo 1 > ip_forward && echo 0 > icmp_ratelimit || true")
	inside("cd /proc/sys/net/ipv4/conf && for f in */rp_filter; do echo 0 > $f; done")
	inside(`nft "add table ip nat; add chain ip nat post { type nat hook postrouting priority 100; }; add rule ip nat post oifname veth1-1 snat to 192.0.2.10"`)
	return k
}

func rawSocket(t *testing.T, device string) int {
	t.Helper()
	const all = syscall.ETH_P_ALL<<8 | syscall.ETH_P_ALL>>8
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, all&0xffff)
	if err != nil {
		t.Skipf("raw socket: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	dev, err := net.InterfaceByName(device)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrLinklayer{Protocol: all & 0xffff, Ifindex: dev.Index}); err != nil {
		t.Fatal(err)
	}
	wait := syscall.NsecToTimeval(int64(300 * time.Millisecond))
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait); err != nil {
		t.Fatal(err)
	}
	return fd
}

// process is what the kernel makes of a frame that leaves by the interface; nil: nothing.
func (k *kernel) process(t *testing.T, in int, frame []byte, out int) []byte {
	t.Helper()
	if _, err := syscall.Write(k.sockets[in], frame); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 2048)
	for {
		n, from, err := syscall.Recvfrom(k.sockets[out], buf, 0)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil
		}
		const outgoing = 4
		if from.(*syscall.SockaddrLinklayer).Pkttype != outgoing && binary.BigEndian.Uint16(buf[12:]) == etherIPv4 {
			return bytes.Clone(buf[:n])
		}
	}
}

// routed is the oracle's chain that does what the kernel does: inside ⇄ router ⇄ NAPT ⇄ outside.
func routed() *Chain {
	e := pool()
	e.PortMin, e.PortMax = 1, 65535
	b := natted(e)
	n := len(b.g.Nodes) - 1
	expired := b.add("rt/expired", element.ICMPError{Type: 11})
	b.wire(expired, 0, b.out(inside), 0)
	for from, to := range map[int][2]int{b.in(inside): {n, element.NAPTInside}, n: {b.out(inside), 0}} {
		ttl := b.add("rt/ttl", element.DecTTL{})
		b.wire(from, 0, ttl, 0)
		b.wire(ttl, element.TTLAlive, to[0], to[1])
		b.wire(ttl, element.TTLExpired, expired, 0)
	}
	echo := b.add("inside/echo", element.EchoResponder{})
	b.wire(echo, 0, b.out(inside), 0)
	local := b.add("inside/local", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "local", Filters: []headerspace.Filter{filter(headerspace.Dst, headerspace.Prefix(prefix("10.0.0.1/32")))}, Out: 0},
	}})
	b.wire(local, 0, echo, 0)
	first := b.g.Nodes[b.in(inside)].Out[0]
	b.wire(local, 1, first.To, first.Port)
	b.wire(b.in(inside), 0, local, 0)
	return b.chain()
}

// preserving keeps the source port, as the kernel does while it can.
func preserving(b Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
	at := netip.AddrPortFrom(ip("192.0.2.10"), b.Inside.Port())
	return at, allowed(at)
}

func TestTheLinuxKernelDoesTheSame(t *testing.T) {
	k, c := newKernel(t), routed()
	bad := func(p pkt, at int) []byte { f := p.frame(); f[at] ^= 0x55; return f }
	tcp := func(flags string) pkt { return pkt{proto: 6, sport: 1000, dport: 80, flags: flags} }
	noSum := udp(1004, 53).frame()
	noSum[40], noSum[41] = 0, 0
	outsideView := func(p pkt) pkt { p.src = "192.0.2.10"; p.ttl = 40; return p }
	for _, s := range []struct {
		name    string
		in, out int
		frame   []byte
		// answered frames are the router's own: Linux chooses another ID, and the error's TOS from the packet's.
		answered bool
	}{
		{"UDP out", inside, outside, udp(1000, 53).frame(), false},
		{"UDP back", outside, inside, back(udp(53, 1000), "192.0.2.10").frame(), false},
		{"UDP out with options and a tight TTL", inside, outside, pkt{sport: 1000, dport: 53, ttl: 2, options: []layers.IPv4Option{{OptionType: 1}}}.frame(), false},
		{"UDP without checksum", inside, outside, noSum, false},
		{"TCP SYN", inside, outside, tcp("S").frame(), false},
		{"TCP SYN ACK", outside, inside, back(pkt{proto: 6, sport: 80, dport: 1000, flags: "SA"}, "192.0.2.10").frame(), false},
		{"ping out", inside, outside, ping(77).frame(), false},
		{"pong back", outside, inside, back(pkt{proto: 1, icmp: echoReply, dport: 77}, "192.0.2.10").frame(), false},
		{"an error about the UDP packet", outside, inside, errorTo("192.0.2.10", outsideView(udp(1000, 53))).frame(), false},
		{"an error about the TCP packet", outside, inside, errorTo("192.0.2.10", outsideView(tcp("S"))).frame(), false},
		{"an error about the ping", outside, inside, errorTo("192.0.2.10", outsideView(ping(77))).frame(), false},
		{"TTL 1", inside, inside, pkt{sport: 1000, dport: 53, ttl: 1}.frame(), true},
		{"TTL 1, a long packet", inside, inside, pkt{sport: 1000, dport: 53, ttl: 1, payload: make([]byte, 900)}.frame(), true},
		{"TTL 1, a bad UDP checksum is quoted as it is", inside, inside, bad(pkt{sport: 1000, dport: 53, ttl: 1}, 40), true},
		{"ping the router", inside, inside, pkt{proto: 1, icmp: echoRequest, sport: 5, dst: "10.0.0.1", ttl: 9}.frame(), true},
	} {
		got := k.process(t, s.in, s.frame, s.out)
		r := c.Process(0, s.in, s.frame, preserving)
		if len(r.Out) != 1 || r.Out[0].Interface != s.out {
			t.Errorf("%s: the oracle's result is %+v", s.name, r)
			continue
		}
		want := r.Out[0].Frame
		if s.answered && len(got) > 34 {
			for _, f := range [][]byte{got, want} {
				if sum16(f[14:34]) != 0xffff {
					t.Errorf("%s: bad header checksum in %x", s.name, f)
				}
				for _, i := range []int{15, 18, 19, 24, 25} {
					f[i] = 0
				}
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\nLinux  %x\noracle %x", s.name, got, want)
		}
	}
}
