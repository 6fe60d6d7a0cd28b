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
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
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
		{"veth0-", testbed.InsideMAC.String(), "10.0.0.1/8", "10.0.0.2 lladdr " + testbed.HostMAC.String()},
		{"veth1-", testbed.OutsideMAC.String(), "192.0.2.1/24", "192.0.2.254 lladdr " + testbed.RouterMAC.String()},
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
		if from.(*syscall.SockaddrLinklayer).Pkttype != outgoing && binary.BigEndian.Uint16(buf[12:]) == header.EtherIPv4 {
			return bytes.Clone(buf[:n])
		}
	}
}

// routed is the oracle's chain that does what the kernel does: inside ⇄ router ⇄ NAPT ⇄ outside.
func routed() *Chain {
	e := testbed.Pool()
	e.PortMin, e.PortMax = 1, 65535
	b := testbed.Natted(e)
	n := len(b.Graph.Nodes) - 1
	expired := b.Add("rt/expired", element.ICMPError{Type: 11})
	b.Wire(expired, 0, b.Out(testbed.Inside), 0)
	for from, to := range map[int][2]int{b.In(testbed.Inside): {n, element.NAPTInside}, n: {b.Out(testbed.Inside), 0}} {
		ttl := b.Add("rt/ttl", element.DecTTL{})
		b.Wire(from, 0, ttl, 0)
		b.Wire(ttl, element.TTLAlive, to[0], to[1])
		b.Wire(ttl, element.TTLExpired, expired, 0)
	}
	echo := b.Add("inside/echo", element.EchoResponder{})
	b.Wire(echo, 0, b.Out(testbed.Inside), 0)
	local := b.Add("inside/local", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{
		{Name: "local", Filters: []headerspace.Filter{testbed.Filter(headerspace.Dst, headerspace.Prefix(testbed.Prefix("10.0.0.1/32")))}, Out: 0},
	}})
	b.Wire(local, 0, echo, 0)
	first := b.Graph.Nodes[b.In(testbed.Inside)].Out[0]
	b.Wire(local, 1, first.To, first.Port)
	b.Wire(b.In(testbed.Inside), 0, local, 0)
	return start(&b.Graph)
}

// preserving keeps the source port, as the kernel does while it can.
func preserving(b pass.Binding, allowed func(netip.AddrPort) bool) (netip.AddrPort, bool) {
	at := netip.AddrPortFrom(testbed.Addr("192.0.2.10"), b.Inside.Port())
	return at, allowed(at)
}

func TestTheLinuxKernelDoesTheSame(t *testing.T) {
	k, c := newKernel(t), routed()
	bad := func(p testbed.Packet, at int) []byte { f := p.Frame(); f[at] ^= 0x55; return f }
	tcp := func(flags string) testbed.Packet {
		return testbed.Packet{Proto: 6, Sport: 1000, Dport: 80, Flags: flags}
	}
	noSum := testbed.UDP(1004, 53).Frame()
	noSum[40], noSum[41] = 0, 0
	outsideView := func(p testbed.Packet) testbed.Packet { p.Src = "192.0.2.10"; p.TTL = 40; return p }
	for _, s := range []struct {
		name    string
		in, out int
		frame   []byte
		// answered frames are the router's own: Linux chooses another ID, and the error's TOS from the packet's.
		answered bool
	}{
		{"UDP out", testbed.Inside, testbed.Outside, testbed.UDP(1000, 53).Frame(), false},
		{"UDP back", testbed.Outside, testbed.Inside, testbed.Back(testbed.UDP(53, 1000), "192.0.2.10").Frame(), false},
		{"UDP out with options and a tight TTL", testbed.Inside, testbed.Outside, testbed.Packet{Sport: 1000, Dport: 53, TTL: 2, Options: []layers.IPv4Option{{OptionType: 1}}}.Frame(), false},
		{"UDP without checksum", testbed.Inside, testbed.Outside, noSum, false},
		{"TCP SYN", testbed.Inside, testbed.Outside, tcp("S").Frame(), false},
		{"TCP SYN ACK", testbed.Outside, testbed.Inside, testbed.Back(testbed.Packet{Proto: 6, Sport: 80, Dport: 1000, Flags: "SA"}, "192.0.2.10").Frame(), false},
		{"ping out", testbed.Inside, testbed.Outside, testbed.Ping(77).Frame(), false},
		{"pong back", testbed.Outside, testbed.Inside, testbed.Back(testbed.Packet{Proto: 1, ICMP: testbed.EchoReply, Dport: 77}, "192.0.2.10").Frame(), false},
		{"an error about the UDP packet", testbed.Outside, testbed.Inside, testbed.ErrorTo("192.0.2.10", outsideView(testbed.UDP(1000, 53))).Frame(), false},
		{"an error about the TCP packet", testbed.Outside, testbed.Inside, testbed.ErrorTo("192.0.2.10", outsideView(tcp("S"))).Frame(), false},
		{"an error about the ping", testbed.Outside, testbed.Inside, testbed.ErrorTo("192.0.2.10", outsideView(testbed.Ping(77))).Frame(), false},
		{"TTL 1", testbed.Inside, testbed.Inside, testbed.Packet{Sport: 1000, Dport: 53, TTL: 1}.Frame(), true},
		{"TTL 1, a long packet", testbed.Inside, testbed.Inside, testbed.Packet{Sport: 1000, Dport: 53, TTL: 1, Payload: make([]byte, 900)}.Frame(), true},
		{"TTL 1, a bad UDP checksum is quoted as it is", testbed.Inside, testbed.Inside, bad(testbed.Packet{Sport: 1000, Dport: 53, TTL: 1}, 40), true},
		{"ping the router", testbed.Inside, testbed.Inside, testbed.Packet{Proto: 1, ICMP: testbed.EchoRequest, Sport: 5, Dst: "10.0.0.1", TTL: 9}.Frame(), true},
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
				if header.Sum(f[14:34]) != 0xffff {
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
