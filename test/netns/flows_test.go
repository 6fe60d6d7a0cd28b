package netns

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/collector"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Addresses of the world of config/samples/flows.yaml.
const (
	flowsSample = "../../config/samples/flows.yaml"
	flowsHost   = "10.0.0.2"
	flowsServer = "203.0.113.254"
)

// traffic is packets and bytes of IP packets.
type traffic struct{ packets, bytes uint64 }

func (n traffic) plus(packets, bytes uint64) traffic {
	return traffic{n.packets + packets, n.bytes + bytes}
}

// addFlows adds the packets among frames to flows, which are named as the collector shows them. Those of ICMP have
// no ports here.
func addFlows(to map[string]traffic, frames [][]byte) {
	for _, f := range frames {
		v, ok := packets.Parse(f)
		if !ok || v.EtherType != packets.EtherIPv4 {
			continue
		}
		src, dst := packets.Addr(v.IP.Src).String(), packets.Addr(v.IP.Dst).String()
		if sport, dport, ok := v.IP.Ports(); ok && v.IP.Proto != packets.ProtoICMP {
			src, dst = fmt.Sprintf("%s:%d", src, sport), fmt.Sprintf("%s:%d", dst, dport)
		}
		k := fmt.Sprintf("%d %s > %s", v.IP.Proto, src, dst)
		to[k] = to[k].plus(1, uint64(20+len(v.IP.Options)+len(v.IP.Payload)))
	}
}

// received is how many packets came in by all interfaces.
func received(t *testing.T, e *lab.Engine) (n uint64) {
	t.Helper()
	for _, p := range e.Counters(t).GetPorts() {
		n += p.GetRxPackets()
	}
	return n
}

// useLine talks to the servers outside, and tells from which port most bytes are sent, so many.
func useLine(t *testing.T, inside *lab.Space, most int) (heaviest string) {
	t.Helper()
	for i, to := range []struct {
		network, port string
		size          int
	}{{"tcp", "443", most}, {"udp", "53", 60}, {"tcp", "80", 500}, {"udp", "53", 1200}, {"tcp", "443", 3000}} {
		d, err := dial(inside, to.network, flowsHost+":0", flowsServer+":"+to.port)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.answered([]byte(strings.Repeat("x", to.size))); err != nil {
			t.Error(err)
		}
		if i == 0 {
			heaviest = d.LocalAddr().String()
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	inside.Run(t, "ping", "-c", "3", "-i", "0.2", "-W", "5", flowsServer)
	return heaviest
}

// TestACollectorIsToldOfEachPacket runs the sample with a collector on a management network, as operators do. nfdump
// shows packets and bytes of each flow, in both directions, as they were in front of the NAPT; and `sinterctl top`
// lists the heaviest first.
func TestACollectorIsToldOfEachPacket(t *testing.T) {
	lab.Require(t, "ping")
	inside, outside, box, office := lab.New(t, "inside"), lab.New(t, "outside"), lab.New(t, "engine"), lab.New(t, "office")
	lab.Cable(t, lab.End{Space: inside, Device: "eth0", Address: flowsHost + "/24"}, lab.End{Space: box, Device: "inside"})
	lab.Cable(t, lab.End{Space: outside, Device: "eth0", Address: flowsServer + "/24"}, lab.End{Space: box, Device: "outside"})
	lab.Cable(t, lab.End{Space: office, Device: "eth0", Address: "198.51.100.9/24"}, lab.End{Space: box, Device: "mgmt", Address: "198.51.100.1/24"})
	inside.Run(t, "ip", "route", "add", "default", "via", "10.0.0.1")
	for _, port := range []string{"53", "80", "443"} {
		serveEcho(t, outside, flowsServer+":"+port)
	}
	c := collector.StartIn(t, office, netip.MustParseAddrPort("198.51.100.9:4739"))
	engine := lab.StartSinterctl(t, box, flowsSample, []string{"inside=inside", "outside=outside"})
	out, back := startTap(t, box, "inside"), startTap(t, inside, "eth0")

	most := 0
	lab.Until(t, 20*time.Second, func() error { // an interval may begin between a question and its answer: then there is a larger one
		most += 40_000
		heaviest := useLine(t, inside, most)
		time.Sleep(2 * time.Second) // cells are emptied within a second
		text, err := box.Try(lab.Sinterctl(t), "top", "flows", "--running", "--limit", "2", "--socket", engine.Socket)
		if err != nil {
			return err
		}
		if n := strings.Count(text, heaviest); n != 2 {
			return fmt.Errorf("%s is in %d of the two heaviest flows:\n%s", heaviest, n, text)
		}
		return nil
	})
	lab.Until(t, 10*time.Second, func() error { // connections end
		before := received(t, engine)
		time.Sleep(300 * time.Millisecond)
		if n := received(t, engine) - before; n > 0 {
			return fmt.Errorf("%d packets came meanwhile", n)
		}
		return nil
	})
	want := map[string]traffic{}
	addFlows(want, out.stop())
	addFlows(want, back.stop())
	engine.Process.Stop(t)
	got := map[string]traffic{}
	for _, f := range c.Flows() {
		k := fmt.Sprintf("%s %s:%s > %s:%s", f.Protocol, f.Source, f.SourcePort, f.Destination, f.DestinationPort)
		if f.Protocol == fmt.Sprint(packets.ProtoICMP) {
			k = fmt.Sprintf("%s %s > %s", f.Protocol, f.Source, f.Destination)
		}
		got[k] = got[k].plus(f.Packets, f.Bytes)
	}
	if !maps.Equal(got, want) || len(want) < 2*4 {
		t.Errorf("nfdump shows %d flows\n%v\nthe wires had %d\n%v", len(got), got, len(want), want)
	}
}
