package scaling

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Function is one that runs in a container beside the engine, in each pod, and takes so many packets and no more.
type Function struct {
	Name string
	// Load of all pods together: 1 is as much as the function of one pod can do.
	Load float64
	// Target is the load of a pod's function above which another pod is wanted.
	Target float64
}

// fill is how many pods have the function at its target.
func (f Function) fill() float64 { return f.Load / f.Target }

// resolution is the least work that is reported of a shard. A function that is much slower than the engine is full of packets that are no work to the engine:
// shards without any are alike then.
const resolution = 0.001

// withFunctions is the input as if the engine had to do what functions do: a pod whose fullest function is at its target has as much work as its cores at
// theirs. Each shard has a part of that by the work that the engine does for it.
func (in Input) withFunctions() Input {
	f := in.fullest()
	if f == nil {
		return in
	}
	total := f.fill() * in.Bounds.Target * float64(in.Bounds.MaxCores)
	parts := 0.0
	for _, p := range in.Pods {
		for _, l := range p.Report.Shards {
			parts += l.Work + resolution
		}
	}
	in.Pods = slices.Clone(in.Pods)
	for i := range in.Pods {
		r := &in.Pods[i].Report
		r.Shards = slices.Clone(r.Shards)
		for k := range r.Shards {
			l := &r.Shards[k]
			l.Work = max(l.Work, total*(l.Work+resolution)/parts)
		}
	}
	return in
}

// works is what the engine has to do for shards.
func (in Input) works() map[shard.ID]float64 {
	all := map[shard.ID]float64{}
	for _, p := range in.Pods {
		for _, l := range p.Report.Shards {
			all[l.ID] = l.Work
		}
	}
	return all
}

// fullest is the function that wants most pods; nil: there is none, or none has packets.
func (in Input) fullest() *Function {
	var most *Function
	for i := range in.Functions {
		if f := &in.Functions[i]; f.Load > 0 && (most == nil || f.fill() > most.fill()) {
			most = f
		}
	}
	return most
}

// bottleneck is the function that wants more pods than the engine's work does; nil: none.
func (in Input) bottleneck() *Function {
	f := in.fullest()
	if f != nil && f.fill() > sum(worksOf(in.Pods))/(in.Bounds.Target*float64(in.Bounds.MaxCores)) {
		return f
	}
	return nil
}

// String is what the function is given.
func (f *Function) String() string {
	return fmt.Sprintf("packets for function %s are %.0f %% of one container's capacity, the target is %.0f %% of each", f.Name, 100*f.Load, 100*f.Target)
}

// noteFunctions says which function is given too much, though there may be no more pods of it.
func (d *Decision) noteFunctions(in Input, s *stabilizer) {
	f, pods := in.fullest(), float64(s.count)
	switch {
	case f == nil || f.fill() <= relief*pods:
		s.short = false
	case f.fill() > pods:
		s.short = true
	}
	if !s.short || s.count < in.Bounds.MaxPods || !in.allReady() {
		return
	}
	note := Note{"", AtMaximum, fmt.Sprintf("%s, and there may be no more than %d: raise maxInstances", f, in.Bounds.MaxPods)}
	if len(in.Pods) == 1 && in.Bounds.MaxPods == 1 {
		note = Note{in.Pods[0].Name, AtMaximum, fmt.Sprintf(
			"packets for function %s of instance %s are %.0f %% of its capacity, the target is %.0f %%: raise instances or maxInstances", f.Name, in.Pods[0].Name, 100*f.Load, 100*f.Target)}
	}
	d.Findings = append(d.Findings, note)
}
