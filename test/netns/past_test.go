package netns

import (
	"net"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// closed is a firewall that lets nothing through.
const closed = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: closed}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - {name: fw, firewall: {rules: [{protocol: TCP, action: Accept}], default: Drop}}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  path: [inside, fw, rt, outside]
`

// Addresses of the network that a pod has beside those of its chain.
const (
	podAddress = "10.244.0.5"
	podGateway = "10.244.0.1"
)

// pod is a site whose engine's namespace has what a pod has: a network of its own with a default route, and forwarding, which it takes from its node.
type pod struct {
	*site
	cluster wires // inside: the network of the chain; outside: that of the pod
}

func newPod(t *testing.T) *pod {
	p := &pod{site: newSite(t)}
	cluster := lab.New(t, "cluster")
	lab.Cable(t, lab.End{Space: cluster, Device: "eth0", Address: podGateway + "/24"}, lab.End{Space: p.box, Device: "eth0", Address: podAddress + "/24"})
	p.box.Sysctl(t, "net.ipv4.ip_forward", "1")
	p.box.Run(t, "ip", "route", "add", "default", "via", podGateway)
	gateway := cluster.MAC(t, "eth0")
	p.box.Run(t, "ip", "neighbor", "add", podGateway, "lladdr", net.HardwareAddr(gateway[:]).String(), "dev", "eth0")
	p.cluster = wires{inside: p.host.Wire(t, "eth0", lab.LargeSlot), outside: cluster.Wire(t, "eth0", lab.LargeSlot)}
	return p
}

// past sends packets to the chain that it drops, and tells what the kernel does with them: it returns the packets that leave by the pod's network, and
// the addresses for which it answers ARP in the chain's.
func (p *pod) past(t *testing.T) (forwarded, answered []string) {
	t.Helper()
	w, to := p.cluster.inside, p.box.MAC(t, "inside")
	for _, dst := range []string{"9.9.9.9", podGateway, podAddress, officePeer} {
		ip := packets.IPv4{Src: number(officeHost), Dst: number(dst), Proto: packets.ProtoUDP, TTL: 64}
		ip.Payload = packets.UDP(ip.Src, ip.Dst, 7, 7, []byte("past the chain?"))
		if err := w.Send(packets.Ethernet(to, w.MAC, nil, packets.EtherIPv4, ip.Bytes(), nil)); err != nil {
			t.Fatal(err)
		}
	}
	// The kernel answers before the host's own question, which shows that it has answered.
	ask := packets.ARP(packets.ARPRequest, w.MAC, number("10.0.0.99"), packets.MAC{}, number(podAddress))
	if err := w.Send(packets.Ethernet(packets.Broadcast, w.MAC, nil, packets.EtherARP, ask, nil)); err != nil {
		t.Fatal(err)
	}
	p.box.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", podGateway)
	p.cluster.outside.Wait(t, "the pod's ping", func(f []byte) bool {
		v, ok := packets.Parse(f)
		if !ok || v.EtherType != packets.EtherIPv4 {
			return false
		}
		if v.IP.Src == number(podAddress) && v.IP.Dst == number(podGateway) && v.IP.Proto == packets.ProtoICMP {
			return true
		}
		forwarded = append(forwarded, packets.Describe(f))
		return false
	})
	for _, f := range w.Poll() {
		if v, ok := packets.Parse(f); ok && v.EtherType == packets.EtherARP && f[21] == packets.ARPReply {
			answered = append(answered, packets.Describe(f))
		}
	}
	return forwarded, answered
}

// TestTheKernelForwardsNothingPastAChain sends packets that a chain drops, as it runs, and after its engine was killed.
func TestTheKernelForwardsNothingPastAChain(t *testing.T) {
	lab.Require(t, "ping", "setpriv")
	for name, binds := range map[string][]string{"by AF_PACKET": officeBinds, "by AF_XDP": xdpBinds} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			if forwarded, answered := p.past(t); len(forwarded) < 3 || len(answered) == 0 {
				t.Fatalf("without a chain the kernel forwards %q and answers %q, so this test shows nothing", forwarded, answered)
			}
			p.engine = lab.StartEngineWith(t, p.box, xdpRights(), binds)
			p.engine.Load(t, lab.Compile(t, lab.ParseText(t, closed)))
			for _, when := range []string{"beside a chain", "after its engine was killed"} {
				if forwarded, answered := p.past(t); len(forwarded)+len(answered) > 0 {
					t.Errorf("%s the kernel forwards %q and answers %q", when, forwarded, answered)
				}
				p.engine.Process.Kill()
			}
		})
	}
}

func TestAnInterfaceIsTheKernelsAgainAfterAChain(t *testing.T) {
	lab.Require(t, "ping")
	p := newPod(t)
	p.engine = lab.StartEngine(t, p.box, officeBinds)
	p.engine.Load(t, lab.Compile(t, lab.ParseText(t, closed)))
	p.engine.Process.Stop(t)
	if forwarded, answered := p.past(t); len(forwarded) < 3 || len(answered) == 0 {
		t.Errorf("after a chain the kernel forwards %q and answers %q, want what it did before", forwarded, answered)
	}
}

func TestAnEngineThatCannotKeepTheKernelFromForwardingDoesNotStart(t *testing.T) {
	lab.Require(t, "setpriv")
	p := newPod(t)
	args := append(lab.Contained("NET_RAW", "IPC_LOCK"), lab.EnginePath(t), "--socket", t.TempDir()+"/s", "--no-huge", "--bind", officeBinds[0])
	out, err := p.box.Try(args[0], args[1:]...)
	want := "interface inside: the kernel forwards what comes in by inside, past the chain"
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("got %v\n%s\nwant an end and %q", err, out, want)
	}
}
