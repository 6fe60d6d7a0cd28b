package telemetry

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// replicating is testSeen of a program with a closed function of two replicas, of whose ways some are down.
func replicating(t *testing.T, down ...string) *Seen {
	t.Helper()
	s := testSeen(t)
	p := s.State.Program
	first, table := uint32(len(p.Interfaces)), uint32(len(p.Tables))
	reason := &programpb.Stop_Drop{Drop: uint32(len(p.Reasons))}
	p.Reasons = append(slices.Clone(p.Reasons), "ips/down", "ips/a-in/full", "ips/b-in/full")
	assign, class := &programpb.Assign{}, &programpb.Class{}
	s.Now.Stats.Wires, s.Now.Stats.Hosts = nil, nil
	for i, name := range []string{"a", "b"} {
		in, out := first+uint32(2*i), first+uint32(2*i)+1
		for _, wire := range []string{name + "-in", name + "-out"} {
			p.Interfaces = append(p.Interfaces, &programpb.Interface{Name: wire, Wire: true, Function: "ips", Full: reason.Drop + 2 + uint32(i)})
		}
		p.Tables = append(slices.Clone(p.Tables), &programpb.StateTable{Name: "ips/" + name + "-in", Assignment: &programpb.Assignment{}})
		s.Now.Stats.Tables = append(slices.Clone(s.Now.Stats.Tables), &programpb.TableStats{Name: "ips/" + name + "-in", Sessions: uint64(10 + i)})
		assign.Replicas = append(assign.Replicas, &programpb.Replica{Table: table + uint32(i), Inside: in, Outside: out})
		for _, stop := range []*programpb.Stop{{Out: in, Back: out, Down: reason}, {Out: out, Back: in, Down: reason}} {
			class.Legs = append(class.Legs, &programpb.Leg{Outcome: &programpb.Leg_Stop{Stop: stop}})
			back := p.Interfaces[stop.GetBack()].GetName()
			s.Now.Stats.Wires = append(s.Now.Stats.Wires, &controlpb.WireStats{
				Out: p.Interfaces[stop.GetOut()].GetName(), Back: back, Watched: true, Down: slices.Contains(down, back),
			})
		}
	}
	class.Legs = append(class.Legs, &programpb.Leg{Outcome: &programpb.Leg_Assign{Assign: assign}})
	p.Segments[0].Classes = append(p.Segments[0].Classes, class)
	return s
}

func TestAFunctionIsThereAsLongAsAReplicaIs(t *testing.T) {
	const moved, dropped = " does not answer probes: its flows go to another replica", " does not answer probes: packets are dropped as ips/down"
	for name, c := range map[string]struct {
		down   []string
		reason string
		says   string
		ready  [3]bool // the function, and its replicas
	}{
		"all are up":                  {nil, v1alpha1.ReasonAnswering, "a-in to a-out, a-out to a-in, b-in to b-out, b-out to b-in: probes come back", [3]bool{true, true, true}},
		"one is down in a direction":  {[]string{"a-out"}, v1alpha1.ReasonReplicaDown, "a-in to a-out" + moved + "; a-out to a-in, b-in to b-out, b-out to b-in: probes come back", [3]bool{true, false, true}},
		"each is down in a direction": {[]string{"a-out", "b-in"}, v1alpha1.ReasonFunctionDown, "a-in to a-out" + dropped + "; b-out to b-in" + dropped + "; a-out to a-in, b-in to b-out: probes come back", [3]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			status := replicating(t, c.down...).Status(nil)
			got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFunctionsUp)
			if got == nil || got.Reason != c.reason || got.Message != c.says || (got.Status == metav1.ConditionTrue) != (c.down == nil) {
				t.Errorf("got %v\nwant %s: %q", got, c.reason, c.says)
			}
			want := []v1alpha1.ReplicaStatus{{Name: "a-in", Ready: c.ready[1], Flows: 10}, {Name: "b-in", Ready: c.ready[2], Flows: 11}}
			if f := status.Functions; len(f) != 1 || f[0].Ready != c.ready[0] || !slices.Equal(f[0].Replicas, want) {
				t.Errorf("the status has %+v, want ready: %t and %+v", f, c.ready[0], want)
			}
		})
	}
}

func TestTheStatusHasWhatEachReplicaIsGiven(t *testing.T) {
	s := replicating(t)
	given := func(n uint64) (ports []*controlpb.PortStats) {
		for i, wire := range []string{"a-in", "a-out", "b-in", "b-out"} {
			ports = append(ports, &controlpb.PortStats{Interface: wire, TxPackets: n << i, RxPackets: 99 * n})
		}
		return ports
	}
	s.Before.Stats.Wires = nil
	for _, w := range s.Now.Stats.Wires {
		before := proto.CloneOf(w)
		before.Probes, w.Probes = 10, 20
		s.Before.Stats.Wires = append(s.Before.Stats.Wires, before)
	}
	s.Before.Stats.Ports, s.Now.Stats.Ports = given(1000), given(3000)
	full := func(a, b uint64) (drops []*controlpb.DropStats) {
		for i, n := range []uint64{a, b} {
			drops = append(drops, &controlpb.DropStats{Reason: []string{"ips/a-in/full", "ips/b-in/full"}[i], Kind: programpb.DropKind_DROP_KIND_LOSS, Packets: n})
		}
		return drops
	}
	s.Before.Stats.Drops, s.Now.Stats.Drops = full(1000, 1000), full(1000, 6000)
	seconds := int64(s.Now.At.Sub(s.Before.At).Seconds())
	f := s.Status(nil).Functions
	want := []v1alpha1.ReplicaStatus{
		{Name: "a-in", Ready: true, Flows: 10, SentRate: (2000 + 4000 - 20) / seconds}, {Name: "b-in", Ready: true, Flows: 11, SentRate: (8000 + 16000 - 20) / seconds, FullRate: 5000 / seconds},
	}
	if len(f) != 1 || !slices.Equal(f[0].Replicas, want) || f[0].SentRate != (30000-40)/seconds || f[0].FullRate != 5000/seconds {
		t.Errorf("got %+v, want %+v of %d packets per second", f, want, (30000-40)/seconds)
	}
}
