package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// heavy is a chain with a NAPT that copies each packet to a probe 60 times, so that few packets load a core: rings are long in time
// then, and bear that the tests' machine gives an engine's core to others for a while.
func heavy(t *testing.T) *delivery.Program {
	t.Helper()
	var outputs, links []string
	for i := range 16 {
		outputs = append(outputs, fmt.Sprintf("c%d", i))
	}
	for _, tee := range []string{"one", "two", "three", "four"} {
		for i, out := range outputs {
			if tee != "one" || i > 3 {
				links = append(links, fmt.Sprintf("{from: %s.%s, to: way}", tee, out))
			}
		}
	}
	kind := "kind: tee, tee: {outputs: [" + strings.Join(outputs, ", ") + "]}}"
	text := `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.2/24, gateway: 198.51.100.1, neighbors: [{address: 198.51.100.1, mac: "02:00:00:00:00:01"}]}
  - {name: probe, address: 10.9.0.1/24, gateway: 10.9.0.2, neighbors: [{address: 10.9.0.2, mac: "02:00:00:00:00:02"}]}
  functions:
  - name: copies
    elements:
      ports: [inside, outside, probe]
      elements:
      - {name: one, ` + kind + `
      - {name: two, ` + kind + `
      - {name: three, ` + kind + `
      - {name: four, ` + kind + `
      - {name: way, kind: lookup, lookup: {routes: [{prefix: 0.0.0.0/0, output: out, via: 10.9.0.2}]}}
      links: [{from: inside, to: one}, {from: outside, to: inside}, {from: one.c0, to: outside}, {from: way.out, to: probe},
              {from: one.c1, to: two}, {from: one.c2, to: three}, {from: one.c3, to: four}, ` + strings.Join(links, ", ") + `]
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  links:
  - {from: inside, to: copies.inside}
  - {from: copies.outside, to: rt.inside}
  - {from: rt.outside, to: nat.inside}
  - {from: nat.outside, to: outside}
  - {from: copies.probe, to: probe, direction: Forward}
`
	return synthesized(t, text)
}

// synthesized is the program of a chain.
func synthesized(t *testing.T, text string) *delivery.Program {
	t.Helper()
	encoded, err := program.Encode(lab.Compile(t, lab.ParseText(t, text)).Program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := delivery.Check(encoded, program.Hash(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const flowsPerHost = 16 // heavy enough to be worth a move each

// capture is a file with a packet of each of an inside host's UDP flows.
func capture(t *testing.T, dir string, host uint8) string {
	t.Helper()
	var frames [][]byte
	for n := range uint16(flowsPerHost) {
		src, dst := 0x0a000000|uint32(host), uint32(0xcb007105)
		ip := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, dst, 1024+n, 53, nil)}
		// DPDK gives the first of its pcap devices this address.
		frames = append(frames, packets.Ethernet(packets.MAC{2, 'p', 'c', 'a', 'p', 0}, packets.MAC{2, 0, 0, 0, 0, 9}, nil, packets.EtherIPv4, ip.Bytes(), make([]byte, 18)))
	}
	path := filepath.Join(dir, fmt.Sprintf("host-%d.pcap", host))
	if err := packets.WriteCapture(path, frames); err != nil {
		t.Fatal(err)
	}
	return path
}

// observer looks at an engine beside its agent.
type observer struct {
	*control.Client
	t *testing.T
}

func observe(t *testing.T, socket string) *observer {
	t.Helper()
	c, err := control.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &observer{c, t}
}

func (o *observer) stats() *programpb.Stats {
	o.t.Helper()
	s, err := o.Stats(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return s
}

// bindings are the outside address and port of each inside one.
func (o *observer) bindings() map[[2]uint32][2]uint32 {
	o.t.Helper()
	list, err := o.Sessions(o.t.Context(), 0, 1000)
	if err != nil {
		o.t.Fatal(err)
	}
	out := map[[2]uint32][2]uint32{}
	for _, s := range list {
		out[[2]uint32{s.GetInsideAddress(), s.GetInsidePort()}] = [2]uint32{s.GetOutsideAddress(), s.GetOutsidePort()}
	}
	return out
}

// skew gives all shards to the first worker.
func (o *observer) skew(shards int) {
	o.t.Helper()
	moves := make([]*programpb.ShardMove, shards)
	for i := range moves {
		moves[i] = &programpb.ShardMove{Shard: uint32(i)}
	}
	if _, err := o.MoveShards(o.t.Context(), moves); err != nil {
		o.t.Fatal(err)
	}
}

// share is the part of the packets, by those of before, whose shards the first worker owns now.
func share(before, now *programpb.Stats) float64 {
	var own, all float64
	for i, s := range now.GetShards() {
		packets := float64(before.GetShards()[i].GetPackets())
		if all += packets; s.GetWorker() == 0 {
			own += packets
		}
	}
	return own / all
}

// spread waits until each of two workers has a third of the packets at least, and returns how long that took by the engine's clock.
func (o *observer) spread(before *programpb.Stats) (time.Duration, error) {
	for {
		now := o.stats()
		took := time.Duration(now.GetNowNs() - before.GetNowNs())
		part := share(before, now)
		if part > 1./3 && part < 2./3 {
			return took, nil
		}
		if took > patience/4 {
			return took, fmt.Errorf("after %s the first worker has %.0f %% of the packets", took, 100*part)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// refused is the packets that the chain would have passed and the engine dropped, by reason.
func refused(before, now *programpb.Stats) map[string]uint64 {
	out := map[string]uint64{}
	for _, d := range now.GetDrops() {
		out[d.GetReason()] = d.GetPackets()
	}
	for _, d := range before.GetDrops() {
		if out[d.GetReason()] -= d.GetPackets(); out[d.GetReason()] == 0 {
			delete(out, d.GetReason())
		}
	}
	return out
}

// SINTER_STEP_LOAD is the frames per second and queue of a step load for the policy as it is, on a machine that nobody else uses: as
// many as load one core by a half, 120000 or so. The log has the times.
var stepLoad = os.Getenv("SINTER_STEP_LOAD")

// The agent's own loop, a real engine and traffic; the policy acts on smaller differences, as a load that differs more could not be
// borne by a machine that others use. It may stop everybody for a while: what is demanded in a second, and without loss, may be
// tried some times, and is not demanded where packets are lost without moves; that load spreads and bindings stay, always.
func TestAnAgentSpreadsTheLoadOfOneCoreOverTwoWithinASecondAndNoSessionChanges(t *testing.T) {
	if n := runtime.NumCPU(); n < 2 {
		t.Skipf("two workers need two CPUs, this process may use %d", n)
	}
	p := heavy(t)
	i := testInstance("edge-1")
	i.Spec.Cores, i.Spec.Groups[0].Cores = 2, []int32{0, 1}
	c := newCluster(t, i, chainProgram(t, "edge-1", p))
	dir := folder(t)
	d := &pod{dir: dir}
	d.engine = startEngineWith(t, filepath.Join(dir, "s"), "0", []string{
		fmt.Sprintf("inside=net_pcap0,rx_pcap=%s,rx_pcap=%s,infinite_rx=1", capture(t, dir, 2), capture(t, dir, 3)),
		"outside=net_null0,no-rx=1", "probe=net_null1,no-rx=1",
	}, "--pace", "inside="+cmp.Or(stepLoad, "30000"), "--workers", "2", "--idle-sleep", "50", "--memory", "256", "--buffers", "32767", "--rx-desc", "4096", "--tx-desc", "1024")
	d.policy = balance.DefaultPolicy
	if stepLoad == "" {
		d.policy.Start, d.policy.Stop = 0.04, 0.02
	}
	d.startAgent(t, c)
	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", p)
	o := observe(t, d.engine.socket)
	eventually(t, func() error {
		if n := len(o.bindings()); n != 2*flowsPerHost {
			return fmt.Errorf("%d sessions, want %d", n, 2*flowsPerHost)
		}
		return nil
	})
	bindings := o.bindings()

	if s, err := o.Loads(t.Context()); err != nil || len(s.GetShards()) != 128 || len(s.GetWorkers()) != 2 || len(s.GetClasses())+len(s.GetTables()) != 0 {
		t.Fatalf("loads: %v, %v; want those of 128 shards and 2 workers, and no classes or tables", s, err)
	}

	var failed error
	busy, spreads := false, false
	for attempt := range 5 {
		time.Sleep(2 * time.Second) // shards that were moved rest a second
		before := o.stats()
		time.Sleep(time.Second)
		quiet := o.stats()
		o.skew(len(quiet.GetShards()))
		began := o.stats()
		took, err := o.spread(began)
		now := o.stats()
		if got := o.bindings(); !maps.Equal(got, bindings) {
			t.Fatalf("bindings changed: they are %v, were %v", got, bindings)
		}
		if n := now.GetTables()[0].GetCreated(); n != uint64(len(bindings)) {
			t.Fatalf("%d sessions were made for %d flows", n, len(bindings))
		}
		lost, usual := refused(quiet, now), refused(before, quiet)
		for reason := range lost {
			if reason != handoverFull {
				t.Fatalf("packets dropped: %v; want none, or %s for want of CPUs", lost, handoverFull)
			}
		}
		if failed = err; failed == nil && took > time.Second {
			failed = fmt.Errorf("spread after %s, want within a second", took)
		}
		busy, spreads = busy || len(usual) > 0, spreads || err == nil
		if len(lost) > 0 {
			failed = errors.Join(failed, fmt.Errorf("lost %v; in the second before, without a move, %v", lost, usual))
		}
		t.Logf("attempt %d: spread after %s; %d moves so far; %d packets; %v", attempt, took.Round(time.Millisecond), d.balance.moves.done.Load(), now.GetPorts()[0].GetRxPackets(), failed)
		if failed == nil {
			break
		}
	}
	if !spreads {
		t.Fatal(failed)
	}
	if failed != nil && busy {
		t.Skipf("this machine is too busy to tell: packets are lost without any move (%v)", failed)
	}
	if failed != nil {
		t.Error(failed)
	}
	eventually(t, func() error {
		s := c.instance(t).Status
		if len(s.Groups) != 1 || len(s.Groups[0].Owners) != 2 || len(s.Groups[0].Owners[0].Shards) == 0 || len(s.Groups[0].Owners[1].Shards) == 0 {
			return fmt.Errorf("groups: %+v, want shards on both cores", s.Groups)
		}
		return nil
	})
}
