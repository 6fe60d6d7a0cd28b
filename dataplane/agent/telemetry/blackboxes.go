package telemetry

import (
	"cmp"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// functionsOf are the names of a program's functions, by their wires: of those that packets go through, and of those that get copies.
func functionsOf(p *delivery.Program) (through, taps map[string]string) {
	through, taps = map[string]string{}, map[string]string{}
	copies := map[uint32]bool{}
	eachLeg(p.Program, func(l *programpb.Leg) {
		if t := l.GetTap(); t != nil {
			copies[t.GetOut()] = true
		}
	})
	for i, w := range p.GetInterfaces() {
		switch {
		case !w.GetWire():
		case copies[uint32(i)]:
			taps[w.GetName()] = w.GetFunction()
		default:
			through[w.GetName()] = w.GetFunction()
		}
	}
	return through, taps
}

func eachLeg(p *program.Program, f func(*programpb.Leg)) {
	for _, s := range p.GetSegments() {
		for _, c := range s.GetClasses() {
			for _, l := range c.GetLegs() {
				f(l)
			}
		}
	}
}

// traffic is of both ways through a blackbox, since the engine began.
type traffic struct {
	sent, returned uint64 // packets, without probes
	full           uint64 // that its wires did not take
	past           uint64
	times          []uint64
}

func (t *traffic) add(s *controlpb.Stats, w *controlpb.WireStats) {
	t.sent += sentBy(s, w)
	for _, p := range s.GetPorts() {
		if p.GetInterface() == w.GetBack() {
			t.returned += without(p.GetRxPackets(), w.GetAnswers())
		}
	}
	for i, n := range w.GetTimes() {
		if i == len(t.times) {
			t.times = append(t.times, 0)
		}
		t.times[i] += n
	}
}

// without is packets without probes. The engine counts both one after the other, so there may be a probe among these alone.
func without(packets, probes uint64) uint64 { return packets - min(packets, probes) }

// sentBy is how many packets left by a wire, without probes.
func sentBy(s *controlpb.Stats, w *controlpb.WireStats) (n uint64) {
	for _, p := range s.GetPorts() {
		if p.GetInterface() == w.GetOut() {
			n += without(p.GetTxPackets(), w.GetProbes())
		}
	}
	return n
}

// lostAt is how many packets some wires of a program did not take.
func lostAt(s *controlpb.Stats, p *program.Program, has func(wire *programpb.Interface) bool) (n uint64) {
	var reasons []string
	for _, i := range p.GetInterfaces() {
		if i.GetFull() > 0 && has(i) {
			reasons = append(reasons, p.GetReasons()[i.GetFull()-1])
		}
	}
	for _, d := range s.GetDrops() {
		if d.GetKind() == programpb.DropKind_DROP_KIND_LOSS && slices.Contains(reasons, d.GetReason()) {
			n += d.GetPackets()
		}
	}
	return n
}

// pastOf is how many packets went past a function: as it had let enough of their flows through, or as it was down.
func pastOf(s *controlpb.Stats, p *delivery.Program, function string) (n uint64) {
	counters := []string{element.BypassCounter(function), element.PastCounter(function, "inside"), element.PastCounter(function, "outside")}
	for _, r := range replicasOf(p.Program)[function] {
		counters = append(counters, element.BypassCounter(r.table))
	}
	for i, c := range s.GetCounters() {
		if i < len(p.GetCounters()) && slices.Contains(counters, p.GetCounters()[i]) {
			n += c.GetPackets()
		}
	}
	return n
}

// trafficOf is that of functions of a program by their names.
func trafficOf(s *controlpb.Stats, program *delivery.Program) map[string]*traffic {
	through, taps := functionsOf(program)
	all := map[string]*traffic{}
	of := func(name string) *traffic {
		if all[name] == nil {
			all[name] = &traffic{}
		}
		return all[name]
	}
	for _, w := range s.GetWires() {
		of(through[w.GetOut()]).add(s, w)
	}
	for _, p := range s.GetPorts() {
		if name, is := taps[p.GetInterface()]; is {
			of(name).sent += p.GetTxPackets()
		}
	}
	hosts := hostsOf(program)
	for _, p := range s.GetPorts() {
		if name, is := hosts[p.GetInterface()]; is {
			of(name).sent += p.GetTxPackets()
			of(name).returned += p.GetRxPackets()
		}
	}
	for name, t := range all {
		t.past = pastOf(s, program, name)
		t.full = lostAt(s, program.Program, func(w *programpb.Interface) bool { return w.GetFunction() == name })
	}
	return all
}

// blackboxes are the functions outside of the chain, by name.
func (s *Seen) blackboxes(seconds float64) []v1alpha1.FunctionStatus {
	if s.Now == nil || s.State.Program == nil || s.Now.Hash() != s.State.Program.Hash {
		return nil
	}
	through, taps := functionsOf(s.State.Program)
	functions := map[string]*v1alpha1.FunctionStatus{}
	for _, name := range taps {
		functions[name] = &v1alpha1.FunctionStatus{Name: v1alpha1.Name(name), Ready: true}
	}
	for _, w := range s.Now.Stats.GetWires() {
		name := through[w.GetOut()]
		f := functions[name]
		if f == nil {
			f = &v1alpha1.FunctionStatus{Name: v1alpha1.Name(name), Ready: true}
			functions[name] = f
		}
		f.Ready = f.Ready && !w.GetDown()
		for _, c := range w.GetContradictions() {
			if c.GetLately() && !slices.Contains(f.Contradictions, c.GetWhat()) {
				f.Ready, f.Contradictions = false, append(f.Contradictions, c.GetWhat())
			}
		}
	}
	addHosts(functions, s.State.Program, s.Now.Stats)
	addReplicas(functions, s.State.Program.Program, s.Now.Stats)
	if s.Before != nil && seconds > 0 {
		measure(functions, trafficOf(s.Before.Stats, s.State.Program), trafficOf(s.Now.Stats, s.State.Program), seconds)
		measureReplicas(functions, s.State.Program.Program, s.Before.Stats, s.Now.Stats, seconds)
		if s.Before.Hash() != s.Now.Hash() { // another program's counters are others
			for _, f := range functions {
				f.PastRate = 0
			}
		}
	}
	var out []v1alpha1.FunctionStatus
	for _, f := range functions {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b v1alpha1.FunctionStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// measure fills in what passed functions between two samples.
func measure(functions map[string]*v1alpha1.FunctionStatus, before, now map[string]*traffic, seconds float64) {
	for name, f := range functions {
		was, is := cmp.Or(before[name], &traffic{}), cmp.Or(now[name], &traffic{})
		f.SentRate = round(engine.PerSecond(was.sent, is.sent, seconds))
		f.FullRate = round(engine.PerSecond(was.full, is.full, seconds))
		f.ReturnedRate = round(engine.PerSecond(was.returned, is.returned, seconds))
		f.PastRate = round(engine.PerSecond(was.past, is.past, seconds))
		f.LatencyMedianMicroseconds, f.LatencyP99Microseconds = microseconds(0.5, was, is), microseconds(0.99, was, is)
	}
}

func microseconds(q float64, was, is *traffic) int64 {
	at, ok := control.Quantile(q, was.times, is.times)
	if !ok {
		return 0
	}
	return max(1, round(1e6*control.WireTime(at)))
}
