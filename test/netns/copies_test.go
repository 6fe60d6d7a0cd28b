package netns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// overheard has a function of somebody else's that gets copies of what a firewall lets through, before a NAPT.
const overheard = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: overheard}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24}
  - {name: probe, wire: true}
  functions:
  - {name: fw, firewall: {stateful: true, rules: [{from: Inside, protocol: tcp, destinationPorts: [53], action: Drop}, {from: Inside, action: Accept}], default: Drop}}
  - {name: ids, blackbox: {attachment: Tap, inside: probe}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, fw, ids, nat, outside]
`

// capture is tcpdump on a device.
type capture struct {
	*lab.Process
	file string
}

func startCapture(t *testing.T, s *lab.Space, device string) *capture {
	t.Helper()
	file := filepath.Join(t.TempDir(), device+".pcap")
	c := &capture{s.Spawn(t, "tcpdump", "-n", "-i", device, "-Q", "inout", "-B", "16384", "--packet-buffered", "-Z", "root", "-w", file, "ip"), file}
	c.Said(t, 0, "listening on")
	return c
}

// packets are the IP packets that it has, without their checksums, which a host's own card may fill in.
func (c *capture) packets(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil // nothing is written yet
	}
	for {
		data, _, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		ip := data[14:]
		all = append(all, fmt.Sprintf("%x %x", ip[:10], ip[12:28])) // up to the ports and the sequence number
	}
}

// TestTcpdumpGetsEveryPacketOfItsClasses in a network whose kernel has the address of the server, and forwards.
func TestTcpdumpGetsEveryPacketOfItsClasses(t *testing.T) {
	lab.Require(t, "tcpdump")
	lan, wan, box := lanAndWAN(t)
	ids := lab.New(t, "ids")
	lab.Cable(t, lab.End{Space: ids, Device: "eth0", Address: "198.51.100.2/24"}, lab.End{Space: box, Device: "probe"})
	ids.Sysctl(t, "net.ipv4.ip_forward", "1")
	serveEcho(t, wan, "0.0.0.0:80")
	serveEcho(t, wan, "0.0.0.0:53")
	engine := lab.StartEngine(t, box, []string{"inside=lan", "outside=wan", "probe=probe"}, "--workers", "2")
	engine.Load(t, lab.Compile(t, lab.ParseText(t, overheard)))
	copies, sent := startCapture(t, ids, "eth0"), startCapture(t, lan, "eth0")

	clients := connect(t, lan, "10.1.0.2", 50)
	exchange(t, clients, "copied")
	udp, err := dial(lan, "udp", "10.1.0.2:4000", "198.51.100.2:53")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	if err := udp.answered([]byte("a datagram")); err != nil {
		t.Fatal(err)
	}
	if c, err := dialWithin(300e6, lan, "tcp", "10.1.0.2:0", "198.51.100.2:53"); err == nil {
		_ = c.Close()
		t.Error("there is a connection to port 53, which the firewall drops")
	}
	lab.Until(t, lab.Patience, func() error { return sameCopies(copies.packets(t), sent.packets(t)) })
	if s := engine.Counters(t); port(t, s, "probe").GetRxPackets() != 0 {
		t.Errorf("the kernel behind the tap sent %d packets, want none: the copies are not for it", port(t, s, "probe").GetRxPackets())
	}
	for _, c := range []*capture{copies, sent} {
		c.Stop(t)
		if !strings.Contains(c.Text(), "\n0 packets dropped by kernel") {
			t.Errorf("tcpdump did not get all packets:\n%s", c.Text())
		}
	}
}

// sameCopies compares copies with what a host sent and got: all are there, once, but what is for TCP port 53.
func sameCopies(copies, of []string) error {
	n := map[string]int{}
	for _, p := range copies {
		n[p]++
	}
	missing, dropped := 0, 0
	for _, p := range of {
		switch fields := strings.Fields(p); {
		case fields[0][18:] == "06" && fields[1][20:24] == "0035":
			dropped++
		case n[p] == 0:
			missing++
		default:
			n[p]--
		}
	}
	extra := 0
	for _, k := range n {
		extra += k
	}
	if len(of) < 500 || missing > 0 || extra > 0 || dropped == 0 {
		return fmt.Errorf("of %d packets of the host, of which the firewall dropped %d, %d have no copy, and %d copies are of no packet", len(of), dropped, missing, extra)
	}
	return nil
}
