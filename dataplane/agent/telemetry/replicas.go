package telemetry

import (
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// replica is one of a function outside of the chain.
type replica struct {
	inside, outside string // its wires
	table           string // of its flows
}

// replicasOf are those of a program's functions, by the function.
func replicasOf(p *program.Program) map[string][]replica {
	all := map[string][]replica{}
	eachLeg(p, func(l *programpb.Leg) {
		for _, r := range l.GetAssign().GetReplicas() {
			in := p.GetInterfaces()[r.GetInside()]
			it := replica{in.GetName(), p.GetInterfaces()[r.GetOutside()].GetName(), p.GetTables()[r.GetTable()].GetName()}
			if of := in.GetFunction(); !slices.Contains(all[of], it) {
				all[of] = append(all[of], it)
			}
		}
	})
	return all
}

// isUp tells whether packets come back from a replica in both directions.
func (r replica) isUp(wires []*controlpb.WireStats) bool {
	return !slices.ContainsFunc(wires, func(w *controlpb.WireStats) bool {
		return w.GetDown() && (w.GetBack() == r.inside || w.GetBack() == r.outside)
	})
}

// standIn tells whether flows of the replica that has a wire go to another one, which is up.
func standIn(replicas []replica, wires []*controlpb.WireStats) bool {
	return slices.ContainsFunc(replicas, func(r replica) bool { return r.isUp(wires) })
}

// addReplicas adds those of functions, each of which is ready if one of its replicas is.
func addReplicas(functions map[string]*v1alpha1.FunctionStatus, p *program.Program, s *controlpb.Stats) {
	for name, replicas := range replicasOf(p) {
		f := functions[name]
		if f == nil {
			continue
		}
		f.Ready = standIn(replicas, s.GetWires()) && len(f.Contradictions) == 0
		for _, r := range replicas {
			f.Replicas = append(f.Replicas, v1alpha1.ReplicaStatus{Name: v1alpha1.Name(r.inside), Ready: r.isUp(s.GetWires()), Flows: flowsOf(s, r.table)})
		}
	}
}

// measureReplicas fills in what left for each replica between two samples.
func measureReplicas(functions map[string]*v1alpha1.FunctionStatus, p *program.Program, before, now *controlpb.Stats, seconds float64) {
	for name, list := range replicasOf(p) {
		f := functions[name]
		if f == nil {
			continue
		}
		for i, r := range list {
			f.Replicas[i].SentRate = round(engine.PerSecond(r.sent(before), r.sent(now), seconds))
			f.Replicas[i].FullRate = round(engine.PerSecond(lostAt(before, p, r.has), lostAt(now, p, r.has), seconds))
		}
	}
}

// has tells whether an interface is one of the replica's wires.
func (r replica) has(wire *programpb.Interface) bool {
	return wire.GetName() == r.inside || wire.GetName() == r.outside
}

// sent is how many packets left for a replica, in both directions, without probes.
func (r replica) sent(s *controlpb.Stats) (n uint64) {
	for _, w := range s.GetWires() {
		if w.GetOut() == r.inside || w.GetOut() == r.outside {
			n += sentBy(s, w)
		}
	}
	return n
}

// flowsOf are how many flows a table has.
func flowsOf(s *controlpb.Stats, table string) int64 {
	for _, t := range s.GetTables() {
		if t.GetName() == table {
			return int64(t.GetSessions())
		}
	}
	return 0
}
