package conformance

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/cpu"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// asking is a router before hosts that must be asked for by ARP.
var asking = &scenario{
	name: "asking",
	interfaces: []link{
		{name: "left", address: "10.1.0.1/28", mtu: 1500},
		{name: "right", address: "10.2.0.1/27", mtu: 1500, silent: "10.2.0.16/28"},
	},
	functions: "  functions: [{name: rt, router: {}}]\n  path: [left, rt, right]\n",
}

// waiting are packets to a host behind ARP, each with a tag of its own.
func waiting(first uint16, host uint32, n int) (list []*probe) {
	l := asking.interfaces[0]
	for i := range n {
		src := l.hosts()[i]
		ip := packets.IPv4{Src: number(src), Dst: host, TTL: 64, ID: first + uint16(i), DF: i%2 == 0, Proto: packets.ProtoUDP}
		ip.Payload = packets.UDP(ip.Src, ip.Dst, 1024, 53, make([]byte, 10*i))
		f := packets.Ethernet(boxMAC(0), hostMAC(0, src), nil, packets.EtherIPv4, ip.Bytes(), nil)
		list = append(list, &probe{kind: "waiting", frames: [sides][]byte{f, f}})
	}
	return list
}

// collect waits until each side has sent so many frames.
func (r *rig) collect(t *testing.T, n int, outs *[sides][]output) {
	t.Helper()
	for end := time.Now().Add(lab.Patience); len(outs[sinter]) < n || len(outs[linux]) < n; {
		if time.Now().After(end) {
			t.Fatalf("after %s Sinter had sent %d frames and Linux %d, want %d", lab.Patience, len(outs[sinter]), len(outs[linux]), n)
		}
		if _, idle := r.poll(outs); idle {
			cpu.Nap(time.Millisecond)
		}
	}
}

// judgeAll compares what became of packets.
func (c *comparison) judgeAll(t *testing.T, probes []*probe, outs [sides][]output) {
	t.Helper()
	by, ok := owners(probes, outs)
	if !ok {
		t.Fatal("a frame came out that is no answer to any of the packets")
	}
	for _, p := range probes {
		c.judge(p, by[p], true)
	}
	if len(c.unexplained) > 0 {
		t.Error(c.report())
	}
}

func TestSilentHostsAreAskedForAndReportedAsLinuxDoes(t *testing.T) {
	lab.Require(t)
	const hosts, each = 5, 3
	c := newComparison(newRig(t, asking, nil), map[string]int{})
	var probes []*probe
	for i := range hosts {
		probes = append(probes, waiting(uint16(1+i*each), number(asking.interfaces[1].prefix().Masked().Addr())+20+uint32(i), each)...)
	}
	outs := c.exchange(t, probes)
	if len(outs[sinter])+len(outs[linux]) > 0 {
		t.Fatalf("packets to silent hosts were answered at once, with %d and %d frames", len(outs[sinter]), len(outs[linux]))
	}
	c.collect(t, len(probes), &outs)
	c.judgeAll(t, probes, outs)
	if s, l := questions(c.asked[sinter]), questions(c.asked[linux]); !slices.Equal(s, l) {
		t.Errorf("ARP requests differ: Sinter sent %q, Linux %q", s, l)
	}
}

func TestPacketsThatWaitForARPLeaveInOrderAsWithLinux(t *testing.T) {
	lab.Require(t)
	c := newComparison(newRig(t, asking, nil), map[string]int{})
	host := asking.interfaces[1].prefix().Masked().Addr().As4()
	host[3] += 30
	target := uint32(host[0])<<24 | uint32(host[1])<<16 | uint32(host[2])<<8 | uint32(host[3])
	probes := waiting(1, target, 8)
	outs := c.exchange(t, probes)
	mac := packets.MAC{2, 1, 1, 0, 0, 30}
	for side := range sides {
		reply := packets.ARP(packets.ARPReply, mac, target, boxMAC(1), c.own(1))
		if err := c.wires[side][1].Send(packets.Ethernet(boxMAC(1), mac, nil, packets.EtherARP, reply, nil)); err != nil {
			t.Fatal(err)
		}
	}
	c.collect(t, len(probes), &outs)
	c.judgeAll(t, probes, outs)
	for side := range sides {
		for i, o := range outs[side] {
			if id, _ := tag(o.frame); id != uint16(1+i) {
				t.Errorf("%s sent the packet with the identification %d in place %d", sideNames[side], id, i+1)
			}
		}
	}
}

// questions are ARP requests without those that are repeated, and without the announcements of RFC 5227, which Sinter sends and Linux does not.
func questions(list []output) []string {
	set := map[string]bool{}
	for _, o := range list {
		if string(o.frame[28:32]) == string(o.frame[38:42]) {
			continue
		}
		set[fmt.Sprintf("%d %x", o.out, o.frame)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func (s *scenario) own(i int) uint32 { return number(s.interfaces[i].prefix().Addr()) }
