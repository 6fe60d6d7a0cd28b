package runner

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/enginetest"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/collector"
	"github.com/sinter-nfv/sinter/test/packets"
)

// received stops the chain when so many packets have come in.
type received struct {
	packets uint64
	stop    func()
}

// Show implements View.
func (r received) Show(_ *programpb.Program, _, now *controlpb.Stats) error {
	var n uint64
	for _, p := range now.GetPorts() {
		n += p.GetRxPackets()
	}
	if n >= r.packets {
		r.stop()
	}
	return nil
}

// TestACollectorGetsEachPacketThatTheChainForwarded runs a chain on a capture, with a NAPT behind its monitor, and has nfdump show the flows: packets and bytes
// are those of the capture.
func TestACollectorGetsEachPacketThatTheChainForwarded(t *testing.T) {
	if _, err := engine.Find("sinter-engine", engineDir); err != nil {
		t.Skipf("the engine is not built (make engine): %v", err)
	}
	c := collector.Start(t)
	dir := t.TempDir()
	chain := liveHead + fmt.Sprintf(`  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1, neighbors: [{address: 203.0.113.1, mac: "02:00:00:00:00:bb"}]}
  functions:
  - {name: mon, monitor: {export: {collector: {address: %s, port: %d}}}}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [203.0.113.64/28]}}
  path: [inside, mon, rt, nat, outside]
`, c.Addr.Addr(), c.Addr.Port())
	if err := os.WriteFile(filepath.Join(dir, "chain.yaml"), []byte(chain), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string][2]uint64{}
	var sent [][]byte
	for i := range uint32(20_000) {
		flow := i % 300 * (i % 7) / 5
		src, sport := 10<<24|1<<16|flow, uint16(2000+flow)
		f := enginetest.UDP(src, 198<<24|51<<16|100<<8|1, sport, 53)
		sent = append(sent, f)
		k := fmt.Sprintf("17 10.1.%d.%d:%d", flow>>8, flow&255, sport)
		want[k] = [2]uint64{want[k][0] + 1, want[k][1] + uint64(binary.BigEndian.Uint16(f[16:]))}
	}
	capture := filepath.Join(dir, "in.pcap")
	if err := packets.WriteCapture(capture, sent); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := Run(ctx, Config{
		Input: compile.Input{Paths: []string{filepath.Join(dir, "chain.yaml")}}, Every: 100 * time.Millisecond, For: time.Minute, View: received{uint64(len(sent)), stop},
		Binds:  map[string]string{"inside": "net_pcap0,rx_pcap=" + capture, "outside": "net_null1,no-rx=1"},
		Engine: engine.Config{Dir: engineDir, Socket: filepath.Join(dir, "s"), Workers: 1, NoHuge: true, EAL: []string{"--no-pci", "--no-telemetry"}, Log: t.Output()},
		Say:    t.Logf,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]uint64{}
	for _, f := range c.Flows() {
		k := fmt.Sprintf("%s %s:%s", f.Protocol, f.Source, f.SourcePort)
		got[k] = [2]uint64{got[k][0] + f.Packets, got[k][1] + f.Bytes}
	}
	if !maps.Equal(got, want) {
		var packets, all uint64
		for k, n := range got {
			packets += n[0]
			if want[k] != n {
				t.Logf("%s: got %v, want %v", k, n, want[k])
			}
		}
		for _, n := range want {
			all += n[0]
		}
		t.Errorf("nfdump shows %d packets of %d flows, sent were %d of %d", packets, len(got), all, len(want))
	}
}
