package netns

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// A generator of 80 % load takes the CPU that compiler and engine build on; a device that replays a file
// from memory takes none, and keeps the worker busy to the full. So this test tells how soon a
// change is live when the other CPU is free, and the one beside it that nothing is lost.
func TestAChangedRuleIsLiveInTimeWhileTheWorkerHasAllThatItCanDo(t *testing.T) {
	lab.Require(t)
	cpus := lab.CPUs(t)
	if len(cpus) < 2 {
		t.Skip("needs two CPUs: one for the engine's worker, one for the rest")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as sinterctl does
	mac := packets.MAC{2, 0, 0, 0, 0, 0x11}
	chain := strings.Replace(ispChain, "{name: inside,", fmt.Sprintf("{name: inside, mac: %q,", "02:00:00:00:00:11"), 1)
	dir := t.TempDir()
	acl := aclText(t)
	write(t, dir, "acl", acl)
	bundles := map[string]*manifest.Bundle{}
	for _, action := range []string{"Accept", "Drop"} {
		bundles[action] = lab.Parse(t, write(t, dir, action+".yaml", fmt.Sprintf(chain, action)))
	}
	capture := filepath.Join(dir, "flows.pcap")
	writeFlows(t, capture, mac, accepted(t, acl, aclFlows))
	box := lab.New(t, "engine")
	s := &isp{engine: lab.StartEngine(t, box,
		[]string{"inside=net_pcap0,rx_pcap=" + capture + ",infinite_rx=1", "outside=net_null0,no-rx=1"},
		"--", "-l", fmt.Sprintf("%d,%d", cpus[0], cpus[1]))}
	s.load(t, bundles["Accept"])
	lab.Until(t, lab.Patience, func() error { // all flows are open
		if n := s.engine.Counters(t).GetTables()[0].GetSessions(); n < aclFlows {
			return fmt.Errorf("%d of %d flows are open", n, aclFlows)
		}
		return nil
	})
	fastest := time.Hour
	for _, action := range changes {
		before := s.engine.Counters(t)
		fastest = min(fastest, s.load(t, bundles[action]))
		after := s.engine.Counters(t)
		worked := after.GetWorkers()[0].GetPackets() - before.GetWorkers()[0].GetPackets()
		if worked == 0 {
			t.Error("the worker stood still while the program changed")
		}
	}
	s.inTime(t, fastest)
	stats := s.engine.Counters(t)
	for _, d := range stats.GetDrops() {
		t.Errorf("%d packets dropped as %s; all are of flows that every program passes", d.GetPackets(), d.GetReason())
	}
	if n := stats.GetTables()[0].GetCreated(); n != aclFlows {
		t.Errorf("%d bindings were made for %d flows: some did not outlive a change", n, aclFlows)
	}
}

// writeFlows writes a capture with a packet of each flow.
func writeFlows(t *testing.T, path string, to packets.MAC, flows []tuple) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, flow := range flows {
		p := packets.IPv4{Src: flow.src, Dst: flow.dst, Proto: flow.proto, TTL: 64}
		if flow.proto == packets.ProtoTCP {
			p.Payload = packets.TCP(flow.src, flow.dst, flow.sport, flow.dport, flow.flags&^(packets.FIN|packets.RST), 1, nil, nil)
		} else {
			p.Payload = packets.UDP(flow.src, flow.dst, flow.sport, flow.dport, nil)
		}
		frame := packets.Ethernet(to, hostMAC, nil, packets.EtherIPv4, p.Bytes(), make([]byte, 6))
		if err := w.WritePacket(gopacket.CaptureInfo{CaptureLength: len(frame), Length: len(frame)}, frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
