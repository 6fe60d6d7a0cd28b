package telemetry

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/balance"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/offload"
	"github.com/sinter-nfv/sinter/dataplane/agent/rollout"
	"github.com/sinter-nfv/sinter/dataplane/agent/sharing"
	"github.com/sinter-nfv/sinter/dataplane/binding"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// testSeen is an agent whose engine runs the wanted program under traffic.
func testSeen(t *testing.T) *Seen {
	t.Helper()
	p := agenttest.Program(t, "fw/deny", "in", "out")
	hash := func() []byte { b, _ := hex.DecodeString(p.Hash); return b }()
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	sample := func(seconds int, n uint64) *engine.Sample {
		return &engine.Sample{At: start.Add(time.Duration(seconds) * time.Second), Stats: &controlpb.Stats{
			Hash: hash,
			Ports: []*controlpb.PortStats{
				{Interface: "in", RxPackets: 1000 * n, RxBytes: 64000 * n, TxPackets: 10 * n, TxBytes: 640 * n, RxMissed: 5 * n},
				{Interface: "out", RxPackets: 500 * n, RxBytes: 32000 * n},
			},
			Counters: []*controlpb.CounterStats{{Packets: 70 * n, Bytes: 7000 * n}},
			Classes:  []*controlpb.ClassStats{{Packets: 100 * n, Bytes: 6400 * n}},
			Drops: []*controlpb.DropStats{
				{Reason: "fw/deny", Kind: programpb.DropKind_DROP_KIND_DECISION, Packets: 100 * n, Bytes: 6400 * n},
				{Reason: "arp", Kind: programpb.DropKind_DROP_KIND_CONSUMED, Packets: 7 * n, Bytes: 420 * n},
				{Reason: "tx-full", Kind: programpb.DropKind_DROP_KIND_LOSS, Packets: 20 * n, Bytes: 1280 * n},
			},
			Tables: []*programpb.TableStats{{Name: "nat", Sessions: 12, Created: 30 * n, Expired: 20 * n, Exhausted: n, Evicted: 3 * n}, {Name: "lim/all", Meter: &programpb.MeterStats{
				Green: &programpb.MeterCount{Packets: 7 * n, Bytes: 700 * n}, Yellow: &programpb.MeterCount{Packets: n, Bytes: 100 * n},
			}}, {Name: "ids/inspect", Inspector: &programpb.InspectStats{
				Packets: 50 * n, Bytes: 5000 * n, Rules: []*programpb.InspectCount{{Name: "sid 1: tunnel", Packets: 2 * n}},
			}}},
			Observation: &programpb.ObservationStats{Name: "mon", Packets: 1300 * n, Bytes: 83_200 * n, Sampled: 13 * n, Records: 12 * n, LostRecords: n, LostPackets: 3 * n, LostBytes: 900 * n},
			Wires:       testWires(n),
			Hosts:       []*controlpb.HostStats{{Interface: "out", Address: 0xc0000202}, {Interface: "in", Address: 0xc0000302, Down: true}},
			Subscribers: testSubscribers(n),
			Workers: []*controlpb.WorkerStats{{
				Lcore: 1, Packets: 1500 * n, BusyCycles: 150_000 * n, IdleCycles: 50_000 * n, TscHz: 2_000_000_000,
				Latency:     []uint64{9: 2 * n, 10: 10 * n, 11: n},
				StageCycles: []uint64{10 * n, 20 * n, 30 * n, 40 * n, 50 * n, 60 * n},
				CacheHits:   1400 * n,
				CacheMisses: 100 * n,
			}},
		}}
	}
	return &Seen{
		At:   start.Add(6 * time.Second),
		Node: "node-1",
		State: rollout.State{
			Wanted:  rollout.Wanted{Instance: agenttest.Instance("edge-1"), Program: p},
			Version: "0.1.0", Hash: p.Hash, Program: p,
			Loaded: &controlpb.Loaded{
				Hash: hash, BuildNs: 2_000_000, SwapNs: 30_000, Walks: []*controlpb.Walk{{Steps: 7.5, Longest: 17}, {Low: true, Steps: 3, Longest: 3}},
			}, Loads: 1,
		},
		Before: sample(1, 10),
		Now:    sample(6, 20),
		Dispatch: offload.State{Ports: []offload.PortState{
			{Interface: "in", Dispatcher: v1alpha1.DispatcherSoftware, Reason: "one core takes all packets; net_af_packet offers neither flow rules nor RSS"},
			{
				Interface: "out", Dispatcher: v1alpha1.DispatcherFlow, Reason: "one core takes all packets; net_mlx5 drops and marks packets by class",
				Rules: 24, Refused: 1, Withdrawn: 3, Dropped: offload.Count{Packets: 700, Bytes: 44800},
			},
		}},
		Binding: &binding.Plan{Workers: []int{3}, Devices: []binding.Device{{Interface: "in", Device: "net1", Link: "net1", Driver: binding.AFPacket}}},
	}
}

// testWires are both ways through a blackbox: one of them is down.
func testWires(n uint64) []*controlpb.WireStats {
	return []*controlpb.WireStats{
		{
			Out: "ips-inside", Back: "ips-outside", Watched: true, Probes: 100 * n, Answers: 99 * n, Checked: 10 * n, Returned: 9 * n, Lost: n,
			Contradictions: []*controlpb.Contradiction{{What: "SourcePort", Packets: n}}, Times: []uint64{n, 2 * n, 6 * n, 0}, TimeNs: 25_000 * n,
		},
		{Out: "ips-outside", Back: "ips-inside", Watched: true, Down: true, Probes: 100 * n, Answers: 2 * n},
		{Out: "dpi-inside", Back: "dpi-outside", Checked: n},
	}
}

// testSubscribers are those of a NAPT, and the hosts of a connection limiter.
func testSubscribers(n uint64) []*programpb.SubscriberStats {
	return []*programpb.SubscriberStats{
		{Name: "nat", Subscribers: 3, Heaviest: []*programpb.Subscriber{
			{Prefix: 0x0a000007, PrefixLen: 32, Sessions: 9, TcpPorts: 3, UdpPorts: 5, IcmpPorts: 1, Refused: 2 * n},
		}},
		{Name: "guard", Subscribers: 2, Connections: true, Heaviest: []*programpb.Subscriber{
			{Prefix: 0x0a000000, PrefixLen: 24, Sessions: 100, Refused: 3 * n},
		}},
	}
}

func TestTheStatusTellsWhatTheEngineDoes(t *testing.T) {
	s := testSeen(t)
	got := s.Status(nil)
	for what, c := range map[string]struct{ got, want any }{
		"generation":        {got.ObservedGeneration, int64(3)},
		"wanted program":    {got.Program, "edge-1"},
		"applied hash":      {got.AppliedHash, s.State.Hash},
		"engine":            {got.EngineVersion, "0.1.0"},
		"node":              {got.Node, "node-1"},
		"load":              {got.LoadPercent, int32(75)},
		"packets a second":  {got.PacketRate, int64(3000)},
		"drops a second":    {got.DropRate, int64(2 * (100 + 20 + 5))}, // ARP is no drop
		"losses a second":   {got.LossRate, int64(2 * (20 + 5))},
		"sessions":          {got.Sessions, int64(12)},
		"core":              {got.Cores[0], v1alpha1.CoreStatus{LCore: 3, LoadPercent: 75, Packets: 30_000, CyclesPerPacket: 100}},
		"group":             {got.Groups[0], v1alpha1.GroupStatus{Name: "all", Packets: 30_000, Bytes: 1_920_000}},
		"drops of a reason": {got.Drops[1], v1alpha1.DropCount{Reason: "fw/deny", Kind: v1alpha1.DropDecision, Packets: 2000}},
		"missed packets":    {got.Drops[2], v1alpha1.DropCount{Reason: "rx-missed", Kind: v1alpha1.DropLoss, Packets: 100}},
		"dispatch":          {got.Dispatch[0], v1alpha1.InterfaceDispatch{Interface: "in", Dispatcher: v1alpha1.DispatcherSoftware, Reason: "one core takes all packets; net_af_packet offers neither flow rules nor RSS"}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", what, c.got, c.want)
		}
	}
}

func TestHardwareDispatchSaysWhatIsInForceAndWhyNothingStronger(t *testing.T) {
	const af = "one core takes all packets; net_af_packet offers neither flow rules nor RSS"
	for name, c := range map[string]struct {
		change  func(*Seen)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"one interface has rules, the other cannot": {
			func(*Seen) {}, metav1.ConditionFalse, v1alpha1.ReasonSoftwareDispatch,
			"in: " + af + "; out: one core takes all packets; net_mlx5 drops and marks packets by class",
		},
		"both cannot, for the same reason": {
			func(s *Seen) {
				s.Dispatch.Ports[1].Dispatcher, s.Dispatch.Ports[1].Reason = v1alpha1.DispatcherSoftware, af
			},
			metav1.ConditionFalse, v1alpha1.ReasonSoftwareDispatch, "in, out: " + af,
		},
		"both have rules": {
			func(s *Seen) {
				s.Dispatch.Ports[0].Dispatcher, s.Dispatch.Ports[0].Reason = v1alpha1.DispatcherFlow, "flow rules choose"
			},
			metav1.ConditionTrue, v1alpha1.ReasonInForce, "in: flow rules choose; out: one core",
		},
		"another NUMA node": {
			func(s *Seen) { s.Binding.Remote = []string{"interface out: 0000:03:00.1 is on NUMA node 1"} },
			metav1.ConditionFalse, v1alpha1.ReasonSoftwareDispatch, "by class; interface out: 0000:03:00.1 is on NUMA node 1",
		},
		"an engine that tells nothing": {
			func(s *Seen) { s.Dispatch = offload.State{Unknown: "no memory"} },
			metav1.ConditionFalse, v1alpha1.ReasonSoftwareDispatch, "in, out: the engine does not report the capabilities of its devices: no memory",
		},
		"not asked yet": {
			func(s *Seen) { s.Dispatch = offload.State{} },
			metav1.ConditionFalse, v1alpha1.ReasonSoftwareDispatch, "in, out: the device's capabilities are not known yet",
		},
		"no engine": {
			func(s *Seen) { s.State.Engine = engine.ErrNone },
			metav1.ConditionFalse, v1alpha1.ReasonSoftwareDispatch, "in, out: the engine does not answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSeen(t)
			c.change(s)
			got := meta.FindStatusCondition(s.Status(nil).Conditions, v1alpha1.ConditionHardwareDispatch)
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %s, %s: %q; want %s, %s: %q", got.Status, got.Reason, got.Message, c.status, c.reason, c.message)
			}
		})
	}
}

func TestEveryReasonOfProgrammedIsReached(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Seen)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"the wanted program runs": {
			func(*Seen) {}, metav1.ConditionTrue, v1alpha1.ReasonApplied, "edge-1 runs",
		},
		"the pod is being drained": {
			func(s *Seen) { s.Draining = true }, metav1.ConditionTrue, v1alpha1.ReasonApplied, "being drained",
		},
		"the engine is down": {
			func(s *Seen) { s.State.Engine, s.State.Hash = errors.New("connection refused"), "" },
			metav1.ConditionFalse, v1alpha1.ReasonEngineDown, "connection refused",
		},
		"the engine refused the program": {
			func(s *Seen) {
				s.State.Wanted.Program = &delivery.Program{Hash: "other"}
				s.State.Refused = errors.New("interface dmz is bound to no device")
			},
			metav1.ConditionFalse, v1alpha1.ReasonLoadFailed, "edge-1: interface dmz is bound to no device; program " + "",
		},
		"the ChainProgram is damaged": {
			func(s *Seen) { s.State.Wanted.Program, s.State.Wanted.Err = nil, errors.New("not a gzip stream") },
			metav1.ConditionFalse, v1alpha1.ReasonLoadFailed, "not a gzip stream; program ",
		},
		"the ChainProgram is not there yet": {
			func(s *Seen) {
				s.State.Wanted.Program, s.State.Wanted.Err, s.State.Wanted.Again = nil, errors.New("ChainProgram edge-1 is not there"), true
			},
			metav1.ConditionFalse, v1alpha1.ReasonNoProgram, "edge-1 is not there; program ",
		},
		"the program is for the next pod": {
			func(s *Seen) {
				s.State.Wanted.Program = &delivery.Program{Hash: "other"}
				s.State.Waits = errors.New("this pod has no device for interface dmz: the next pod has")
			},
			metav1.ConditionFalse, v1alpha1.ReasonNoProgram, "edge-1: this pod has no device for interface dmz: the next pod has; program ",
		},
		"the engine has no program yet": {
			func(s *Seen) { s.State.Hash = "" }, metav1.ConditionFalse, v1alpha1.ReasonNoProgram, "no program runs, packets wait",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSeen(t)
			c.change(s)
			got := meta.FindStatusCondition(s.Status(nil).Conditions, v1alpha1.ConditionProgrammed)
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.message) || got.ObservedGeneration != 3 {
				t.Errorf("got %s, %s: %q (generation %d), want %s, %s: %q", got.Status, got.Reason, got.Message, got.ObservedGeneration, c.status, c.reason, c.message)
			}
		})
	}
}

func TestAConditionThatStaysKeepsItsTimeAndThoseOfOthersAreLeftAlone(t *testing.T) {
	s := testSeen(t)
	first := s.Status([]metav1.Condition{{Type: "Foreign"}}).Conditions
	s.At = s.At.Add(time.Hour)
	second := s.Status(first).Conditions
	if len(second) != 3 || !second[0].LastTransitionTime.Equal(&first[0].LastTransitionTime) {
		t.Errorf("an hour before: %v\nnow: %v", first, second)
	}
	s.State.Engine = engine.ErrNone
	third := meta.FindStatusCondition(s.Status(second).Conditions, v1alpha1.ConditionProgrammed)
	if !third.LastTransitionTime.Time.Equal(s.At) {
		t.Errorf("the engine went down at %s, the condition says %s", s.At, third.LastTransitionTime)
	}
}

func TestWhatCostsSpeedIsSaid(t *testing.T) {
	s := testSeen(t)
	s.Binding.Remote = []string{"interface out is on NUMA node 1, CPUs 3 are not"}
	got := meta.FindStatusCondition(s.Status(nil).Conditions, v1alpha1.ConditionHardwareDispatch)
	if got.Status != metav1.ConditionFalse || got.Reason != v1alpha1.ReasonSoftwareDispatch || !strings.Contains(got.Message, "NUMA node 1") {
		t.Errorf("got %v", got)
	}
}

// twoCores is testSeen with a second core that owns every shard above 2.
func twoCores(t *testing.T) *Seen {
	t.Helper()
	s := testSeen(t)
	s.Moving, s.Balance, s.Binding.Workers = true, balance.State{Working: 2}, []int{3, 5}
	for _, sample := range []*engine.Sample{s.Before, s.Now} {
		sample.Stats.Workers = append(sample.Stats.Workers, &controlpb.WorkerStats{Lcore: 2, Packets: 100 * uint64(sample.At.Second()), BusyCycles: 1000 * uint64(sample.At.Second()), IdleCycles: 3000 * uint64(sample.At.Second())})
		for i := range 8 {
			sample.Stats.Shards = append(sample.Stats.Shards, &controlpb.ShardStats{Worker: uint32(min(i/3, 1))})
		}
	}
	return s
}

func TestTheStatusTellsWhichCoreOwnsWhichShards(t *testing.T) {
	s := twoCores(t)
	want := []v1alpha1.CoreShards{
		{LCore: 3, Shards: []v1alpha1.ShardRange{"0-2"}, LoadPercent: 75},
		{LCore: 5, Shards: []v1alpha1.ShardRange{"3-7"}, LoadPercent: 25},
	}
	if got := s.Status(nil).Groups[0].Owners; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.Balance.Work, s.Balance.Lost, s.Balance.Other = []int32{300, 0, 20}, []int64{40, 0}, []int32{15, 0}
	before := s.Status(nil)
	if !reflect.DeepEqual(before.Groups[0].Work, []int32{300, 0, 20}) || before.Cores[0].Lost != 40 || before.Cores[1].Lost != 0 || before.Cores[0].Other != 15 {
		t.Errorf("shards want %v and cores lost %d and %d; want 300, 0, 20 and 40, 0", before.Groups[0].Work, before.Cores[0].Lost, before.Cores[1].Lost)
	}
	s.Now.Stats.Shards[5].Worker = 0
	now := s.Status(nil)
	if factsChanged(&before, &now) || !numbersMoved(&before, &now) {
		t.Error("a move is to be written as numbers are: after a pause")
	}
}

func TestEveryReasonOfBalancedIsReached(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Seen)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"shards move by load": {func(*Seen) {}, metav1.ConditionTrue, v1alpha1.ReasonBalancing, "8 shards are balanced over 2 of 2 cores"},
		"one core":            {func(s *Seen) { *s = *testSeen(t) }, metav1.ConditionTrue, v1alpha1.ReasonOneCore, "one core does all work"},
		"a chain without state": {
			func(s *Seen) { s.Now.Stats.Shards = nil }, metav1.ConditionTrue, v1alpha1.ReasonNoState, "processes it",
		},
		"state that cannot be cut": {
			func(s *Seen) { s.Now.Stats.Shards = s.Now.Stats.Shards[:1] }, metav1.ConditionFalse, v1alpha1.ReasonOneShard, "cannot be divided",
		},
		"shards do not come to their pods": {
			func(s *Seen) {
				s.Sharing = &sharing.State{Failures: 3, Failed: errors.New("shards of edge-1: refused")}
			},
			metav1.ConditionFalse, v1alpha1.ReasonMovesFail, "shards could not be moved to the pods that they are assigned to: shards of edge-1: refused",
		},
		"shards have not come for a moment": {
			func(s *Seen) {
				s.Sharing = &sharing.State{Failures: 2, Failed: errors.New("shards of edge-1: refused")}
			},
			metav1.ConditionTrue, v1alpha1.ReasonBalancing, "8 shards are balanced over 2 of 2 cores",
		},
		"it is switched off": {func(s *Seen) { s.Moving = false }, metav1.ConditionFalse, v1alpha1.ReasonBalancingOff, "--balance=false"},
		"moves fail": {
			func(s *Seen) { s.Balance.Failed = errors.New("move: shard 5, there are 1") }, metav1.ConditionFalse, v1alpha1.ReasonMovesFail, "shard 5, there are 1",
		},
		"a shard is too heavy": {
			func(s *Seen) { s.Balance.Heavy = shard.Of(7) }, metav1.ConditionFalse, v1alpha1.ReasonShardTooHeavy, "shard 7 needs 90 % of a core or more",
		},
		"several are": {
			func(s *Seen) { s.Balance.Heavy = shard.Of(1, 2, 3, 7) }, metav1.ConditionFalse, v1alpha1.ReasonShardTooHeavy, "shards 1-3, 7 need 90 % of a core",
		},
		"the engine is down": {
			func(s *Seen) { s.State.Engine = engine.ErrNone }, metav1.ConditionUnknown, v1alpha1.ReasonEngineDown, "no engine runs a program",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoCores(t)
			c.change(s)
			got := meta.FindStatusCondition(s.Status(nil).Conditions, v1alpha1.ConditionBalanced)
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %s, %s: %q, want %s, %s: %q", got.Status, got.Reason, got.Message, c.status, c.reason, c.message)
			}
		})
	}
}

func TestSharingTellsWhatOthersMustKnow(t *testing.T) {
	s := &Seen{
		Now:     &engine.Sample{Stats: &controlpb.Stats{Shards: []*controlpb.ShardStats{{}, {Place: controlpb.ShardPlace_SHARD_GIVING}, {Place: controlpb.ShardPlace_SHARD_AWAY}, {Place: controlpb.ShardPlace_SHARD_TAKING}}}},
		Sharing: &sharing.State{Addresses: []*controlpb.Address{{Interface: "inside", Mac: []byte{2, 0, 0, 0, 0, 0xa}}}},
	}
	shards, macs := s.shared()
	if fmt.Sprint(shards) != "[0-1]" || fmt.Sprint(macs) != "[{inside 02:00:00:00:00:0a}]" {
		t.Errorf("shards %v, interfaces %v", shards, macs)
	}
	s.Sharing = nil
	if shards, macs = s.shared(); shards != nil || macs != nil {
		t.Errorf("a pod that shares nothing tells shards %v, interfaces %v", shards, macs)
	}
}
