package hostile_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/agenttest"
	"github.com/sinter-nfv/sinter/test/hostile"
	"github.com/sinter-nfv/sinter/test/packets"
)

// gateway has two functions with a million sessions each, as they have by default.
const gateway = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: gateway}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/8, mac: "02:00:00:00:00:01"}
  - name: outside
    address: 203.0.113.1/24
    gateway: 203.0.113.254
    neighbors: [{address: 203.0.113.254, mac: "02:00:00:00:00:fe"}]
  functions:
  - name: fw
    firewall: {stateful: true, rules: [{name: all, from: Inside, action: Accept}], default: Drop}
  - name: nat
    napt: {pool: [203.0.113.16/28], mapping: EndpointIndependent, limits: {maxSessions: 1000000}}
  path: [inside, fw, nat, outside]
`

const (
	many  = 700_000 // flows of a host each
	crowd = 100_000 // of one port of one host, which have one shard
	ports = 20      // of that host, with few flows each …
	few   = 10_000  // … that are many for a shard
	all   = many + crowd + ports*few
)

// TestAnEngineWithTheMemoryOfItsChainLivesWithAllItsSessions has hosts open a million sessions in each of two functions, in the ways that cost most. The
// engine has no more memory than its pod would.
func TestAnEngineWithTheMemoryOfItsChainLivesWithAllItsSessions(t *testing.T) {
	bundle, found := manifest.Parse("gateway.yaml", []byte(gateway), nil)
	if found.HasErrors() {
		t.Fatal(found)
	}
	chain := bundle.Chains[0]
	outcome := compile.Chain(chain, compile.Inputs{})
	if outcome.Program == nil {
		t.Fatal(outcome.Message)
	}
	p, _, err := compiler.Compile(compiler.Sources{Chain: chain})
	if err != nil {
		t.Fatal(err)
	}
	limit := int64(outcome.Program.EngineMemoryMiB+outcome.Program.CoreMemoryMiB) << 20

	dir := agenttest.Folder(t)
	capture := filepath.Join(dir, "in.pcap")
	frames := flood()
	if err := packets.WriteCapture(capture, slices.Concat(frames, frames)); err != nil { // for known flows, too, there is memory
		t.Fatal(err)
	}
	memory := hostile.NewMemory(t, limit)
	engine := agenttest.StartWith(t, filepath.Join(dir, "s"), "5", []string{"inside=net_pcap0,rx_pcap=" + capture, "outside=net_null0,no-rx=1"},
		"--memory", "128", "--buffers", "8191", "--rx-desc", "512", "--tx-desc", "512")
	// Packet buffers, which a pod has on hugepages, were taken before.
	memory.Hold(t, engine.PID())
	c, err := control.Dial(t.Context(), filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Load(t.Context(), p.Encoded, p.Hash); err != nil {
		t.Fatal(err)
	}
	agenttest.Eventually(t, func() error {
		stats, err := c.Stats(context.Background())
		if err != nil {
			t.Fatalf("the engine does not answer: %v; of %d MiB it had at most %d", err, limit>>20, memory.Used(t)>>20)
		}
		for _, table := range stats.GetTables() {
			if table.GetSessions() != all {
				return fmt.Errorf("%s has %d sessions, want %d: %v", table.GetName(), table.GetSessions(), all, dropped(stats))
			}
		}
		if n := stats.GetPorts()[0].GetRxPackets(); n != 2*all {
			return fmt.Errorf("%d packets came, want %d", n, 2*all)
		}
		return nil
	})
	used := memory.Used(t)
	t.Logf("two functions with %d sessions each: %d MiB of %d", all, used>>20, limit>>20)
	if used < 128<<20 {
		t.Errorf("the engine took %d MiB for two million sessions: they are counted elsewhere", used>>20)
	}
}

func dropped(s *controlpb.Stats) (list []string) {
	for _, d := range s.GetDrops() {
		list = append(list, fmt.Sprintf("%s %d", d.GetReason(), d.GetPackets()))
	}
	return list
}

// flood is a UDP packet of each flow.
func flood() (frames [][]byte) {
	add := func(src, dst uint32, port uint16) {
		p := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64}
		p.Payload = packets.UDP(src, dst, port, 9, nil)
		frames = append(frames, packets.Ethernet([6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2}, nil, packets.EtherIPv4, p.Bytes(), nil))
	}
	const host, remote = 0x0a010000, 0x2d000000
	for i := range uint32(many) {
		add(host+0x10000+i, remote, 4000)
	}
	for i := range uint32(crowd) {
		add(host+2, remote+i, 5000)
	}
	for port := range uint16(ports) {
		for i := range uint32(few) {
			add(host+2, remote+i, 6000+port)
		}
	}
	return frames
}
