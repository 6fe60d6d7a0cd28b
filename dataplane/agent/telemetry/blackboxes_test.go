package telemetry

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// seeing is testSeen of a program with two functions, at two times.
func seeing(t *testing.T, before, now *controlpb.Stats) *Seen {
	t.Helper()
	s := testSeen(t)
	for _, side := range []string{"inside", "outside"} {
		for _, function := range []string{"ips", "dpi"} {
			s.State.Program.Interfaces = append(s.State.Program.Interfaces, &programpb.Interface{Name: function + "-" + side, Wire: true, Function: function})
		}
	}
	first := uint32(len(s.State.Program.Reasons))
	s.State.Program.Reasons = append(slices.Clone(s.State.Program.Reasons), "ips/full", "dpi/full")
	for _, i := range s.State.Program.Interfaces {
		if k := slices.Index([]string{"ips", "dpi"}, i.GetFunction()); k >= 0 {
			i.Full = first + uint32(k) + 1
		}
	}
	s.Before.Stats.Drops = append(slices.Clone(s.Before.Stats.Drops), before.GetDrops()...)
	s.Now.Stats.Drops = append(slices.Clone(s.Now.Stats.Drops), now.GetDrops()...)
	s.State.Program.Counters = append(slices.Clone(s.State.Program.Counters), "ips/past-inside", "ips/past", "ips/past-outside", "ips/bypassed", "dpi/bypassed")
	s.Before.Stats.Counters = append(slices.Clone(s.Before.Stats.Counters), before.GetCounters()...)
	s.Now.Stats.Counters = append(slices.Clone(s.Now.Stats.Counters), now.GetCounters()...)
	s.Before.Stats.Ports, s.Before.Stats.Wires = before.GetPorts(), before.GetWires()
	s.Now.Stats.Ports, s.Now.Stats.Wires = now.GetPorts(), now.GetWires()
	return s
}

// through is so many packets that each passed ips from inside to outside, dpi, and ips back, where half of them remained.
func through(n uint64) *controlpb.Stats {
	port := func(name string, sent, received uint64) *controlpb.PortStats {
		return &controlpb.PortStats{Interface: name, TxPackets: sent, RxPackets: received}
	}
	way := func(out, back string, times ...uint64) *controlpb.WireStats {
		return &controlpb.WireStats{Out: out, Back: back, Times: times}
	}
	s := &controlpb.Stats{
		Ports: []*controlpb.PortStats{
			port("ips-inside", n+7*n, n/2+5*n), port("ips-outside", n, n+4*n), port("dpi-inside", n, 0), port("dpi-outside", 0, n),
		},
		Wires: []*controlpb.WireStats{
			way("ips-inside", "ips-outside", 0, 0, n), way("dpi-inside", "dpi-outside", 0, 0, 0, n), way("ips-outside", "ips-inside", 0, 0, 0, 0, n),
		},
	}
	for reason, lost := range map[string]uint64{"ips/full": n, "tx-full": 4 * n} {
		s.Drops = append(s.Drops, &controlpb.DropStats{Reason: reason, Kind: programpb.DropKind_DROP_KIND_LOSS, Packets: lost})
	}
	s.Drops = append(s.Drops, &controlpb.DropStats{Reason: "dpi/full", Kind: programpb.DropKind_DROP_KIND_DECISION, Packets: n}) // of another function before
	for i := range uint64(5) {
		s.Counters = append(s.Counters, &controlpb.CounterStats{Packets: n << (2 * i)})
	}
	s.Wires[0].Watched, s.Wires[0].Probes, s.Wires[0].Answers = true, 7*n, 4*n
	s.Wires[2].Watched, s.Wires[2].Answers = true, 5*n
	return s
}

func TestTheStatusHasWhatPassesFunctions(t *testing.T) {
	s := seeing(t, through(1000), through(3000))
	seconds := int64(s.Now.At.Sub(s.Before.At).Seconds())
	want := []v1alpha1.FunctionStatus{
		{Name: "dpi", Ready: true, SentRate: 2000 / seconds, ReturnedRate: 2000 / seconds, PastRate: 256 * 2000 / seconds, LatencyMedianMicroseconds: 6, LatencyP99Microseconds: 8},
		{Name: "ips", Ready: true, SentRate: 4000 / seconds, FullRate: 2000 / seconds, ReturnedRate: 3000 / seconds, PastRate: (1 + 16 + 64) * 2000 / seconds, LatencyMedianMicroseconds: 4, LatencyP99Microseconds: 16},
	}
	if got := s.Status(nil).Functions; !slices.EqualFunc(got, want, sameFunction) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The engine counts what leaves and comes back, and which of these are probes, one after the other, and is asked in between.
func TestAProbeThatIsCountedBeforeItsPacketIsNone(t *testing.T) {
	before, now := through(1000), through(1000)
	for _, s := range []*controlpb.Stats{before, now} {
		for _, p := range s.Ports {
			p.TxPackets, p.RxPackets = 70, 70
		}
		for _, w := range s.Wires {
			w.Probes, w.Answers = 70, 70
		}
	}
	now.Wires[0].Probes, now.Wires[0].Answers = 71, 71
	for _, f := range seeing(t, before, now).Status(nil).Functions {
		if f.SentRate != 0 || f.ReturnedRate != 0 {
			t.Errorf("%s has %d packets per second, and %d come back, want none of probes alone", f.Name, f.SentRate, f.ReturnedRate)
		}
	}
}

func TestTheCountersOfAnotherProgramTellNotHowManyPacketsGoPast(t *testing.T) {
	s := seeing(t, through(1000), through(3000))
	s.Before.Stats = proto.CloneOf(s.Before.Stats)
	s.Before.Stats.Hash = []byte("the one before")
	for _, f := range s.Status(nil).Functions {
		if f.PastRate != 0 || f.SentRate == 0 {
			t.Errorf("got %+v, want what was sent alone", f)
		}
	}
}

func sameFunction(a, b v1alpha1.FunctionStatus) bool {
	contradictions := slices.Equal(a.Contradictions, b.Contradictions)
	a.Contradictions, b.Contradictions = nil, nil
	return contradictions && a.Name == b.Name && a.Ready == b.Ready && a.SentRate == b.SentRate && a.FullRate == b.FullRate && a.ReturnedRate == b.ReturnedRate && a.PastRate == b.PastRate &&
		a.LatencyMedianMicroseconds == b.LatencyMedianMicroseconds && a.LatencyP99Microseconds == b.LatencyP99Microseconds
}

func TestAFunctionThatIsDownOrContradictedIsNotReady(t *testing.T) {
	now := through(1000)
	now.Wires[1].Contradictions = []*controlpb.Contradiction{{What: "DSCP", Packets: 2, Lately: true}, {What: "Source", Packets: 9}}
	now.Wires[2].Down = true
	s := seeing(t, through(1000), now)
	got := s.Status(nil).Functions
	if len(got) != 2 || got[0].Ready || got[1].Ready || !slices.Equal(got[0].Contradictions, []string{"DSCP"}) || got[1].Contradictions != nil {
		t.Errorf("got %+v, want dpi contradicted in DSCP, and ips down", got)
	}
	s.Before = nil
	if got := s.Status(nil).Functions; len(got) != 2 || got[0].SentRate != 0 {
		t.Errorf("from a first sample there are %+v, want functions without rates", got)
	}
	s.Now.Stats = proto.CloneOf(s.Now.Stats)
	s.Now.Stats.Hash = []byte("another")
	if got := s.Status(nil).Functions; got != nil {
		t.Errorf("of another program there are %+v", got)
	}
}

// A Tap has copies alone, so nothing can be said of it but how many those are.
func TestTheStatusHasCopiesForFunctions(t *testing.T) {
	copies := func(n uint64) *controlpb.Stats {
		s := through(n)
		s.Ports = append(s.Ports, &controlpb.PortStats{Interface: "ids-a", TxPackets: 2 * n, RxPackets: 1}, &controlpb.PortStats{Interface: "ids-b", TxPackets: n})
		return s
	}
	s := seeing(t, copies(1000), copies(3000))
	p := s.State.Program
	class := &programpb.Class{}
	for _, wire := range []string{"ids-a", "ids-b"} {
		p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: wire, Wire: true, Function: "ids"})
		class.Legs = append(class.Legs, &programpb.Leg{Outcome: &programpb.Leg_Tap{Tap: &programpb.Tap{Out: uint32(len(p.Interfaces) - 1)}}})
	}
	p.Segments[0].Classes = append(p.Segments[0].Classes, class)
	seconds := int64(s.Now.At.Sub(s.Before.At).Seconds())
	got := s.Status(nil).Functions
	want := v1alpha1.FunctionStatus{Name: "ids", Ready: true, SentRate: 6000 / seconds}
	if len(got) != 3 || got[0].Name != "dpi" || !sameFunction(got[1], want) || got[2].Name != "ips" {
		t.Errorf("got %+v, want %+v between the others", got, want)
	}
}

func TestOnlyATapHasNothingDeclared(t *testing.T) {
	s := testSeen(t)
	p := s.State.Program
	p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: "ids", Wire: true, Function: "ids"})
	tap := &programpb.Leg{Outcome: &programpb.Leg_Tap{Tap: &programpb.Tap{Out: uint32(len(p.Interfaces) - 1)}}}
	p.Segments[0].Classes = append(p.Segments[0].Classes, &programpb.Class{Legs: []*programpb.Leg{tap}})
	for _, c := range s.Status(nil).Conditions {
		if c.Type == v1alpha1.ConditionFunctionsAsDeclared || c.Type == v1alpha1.ConditionFunctionsUp {
			t.Errorf("there is a condition %s: %s", c.Type, c.Message)
		}
	}
}
