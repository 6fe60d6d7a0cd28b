package telemetry

import (
	"cmp"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// functionsOf are the names of a program's functions, by their wires.
func functionsOf(p *delivery.Program) map[string]string {
	names := map[string]string{}
	for _, i := range p.GetInterfaces() {
		if i.GetWire() {
			names[i.GetName()] = i.GetFunction()
		}
	}
	return names
}

// traffic is of both ways through a blackbox, since the engine began.
type traffic struct {
	sent, returned uint64 // packets, without probes
	times          []uint64
}

func (t *traffic) add(s *controlpb.Stats, w *controlpb.WireStats) {
	for _, p := range s.GetPorts() {
		switch p.GetInterface() {
		case w.GetOut():
			t.sent += p.GetTxPackets() - w.GetProbes()
		case w.GetBack():
			t.returned += p.GetRxPackets() - w.GetAnswers()
		}
	}
	for i, n := range w.GetTimes() {
		if i == len(t.times) {
			t.times = append(t.times, 0)
		}
		t.times[i] += n
	}
}

// trafficOf is that of functions by their names, which are those of wires.
func trafficOf(s *controlpb.Stats, names map[string]string) map[string]*traffic {
	all := map[string]*traffic{}
	for _, w := range s.GetWires() {
		name := names[w.GetOut()]
		if all[name] == nil {
			all[name] = &traffic{}
		}
		all[name].add(s, w)
	}
	return all
}

// blackboxes are the functions outside of the chain, by name.
func (s *Seen) blackboxes(seconds float64) []v1alpha1.FunctionStatus {
	if s.Now == nil || s.State.Program == nil || s.Now.Hash() != s.State.Program.Hash {
		return nil
	}
	names := functionsOf(s.State.Program)
	functions := map[string]*v1alpha1.FunctionStatus{}
	for _, w := range s.Now.Stats.GetWires() {
		name := names[w.GetOut()]
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
	s.measure(functions, names, seconds)
	var out []v1alpha1.FunctionStatus
	for _, f := range functions {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b v1alpha1.FunctionStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// measure fills in what passed functions between two samples.
func (s *Seen) measure(functions map[string]*v1alpha1.FunctionStatus, names map[string]string, seconds float64) {
	if s.Before == nil || seconds <= 0 {
		return
	}
	before, now := trafficOf(s.Before.Stats, names), trafficOf(s.Now.Stats, names)
	for name, f := range functions {
		was, is := cmp.Or(before[name], &traffic{}), now[name]
		f.SentRate = round(engine.PerSecond(was.sent, is.sent, seconds))
		f.ReturnedRate = round(engine.PerSecond(was.returned, is.returned, seconds))
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
