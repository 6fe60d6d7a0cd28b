package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

// blackboxes are the functions outside of the chain as all instances see them, by name.
func (s *View) blackboxes() (all []v1alpha1.FunctionStatus) {
	for i := range s.Instances {
		for _, f := range s.Instances[i].Status.Functions {
			f.UtilizationPercent = s.utilization(&f)
			at := slices.IndexFunc(all, func(o v1alpha1.FunctionStatus) bool { return o.Name == f.Name })
			if at < 0 {
				all = append(all, *f.DeepCopy())
				continue
			}
			add(&all[at], f)
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.FunctionStatus) int { return cmp.Compare(a.Name, b.Name) })
	for i := range all {
		slices.Sort(all[i].Contradictions)
		for _, said := range s.Chain.Status.Functions {
			if said.Name == all[i].Name {
				calm(&all[i], said)
			}
		}
	}
	return all
}

// utilization is how much of its capacity a function of an instance is given, in percent.
func (s *View) utilization(f *v1alpha1.FunctionStatus) int32 {
	for _, c := range s.Capacities {
		if c.Function == f.Name {
			return int32(min(math.Round(100*scaling.Busiest(f)/c.Rate), math.MaxInt32))
		}
	}
	return 0
}

func add(to *v1alpha1.FunctionStatus, f v1alpha1.FunctionStatus) {
	to.Ready = to.Ready && f.Ready
	to.SentRate += f.SentRate
	to.FullRate += f.FullRate
	to.ReturnedRate += f.ReturnedRate
	to.PastRate += f.PastRate
	to.UtilizationPercent = max(to.UtilizationPercent, f.UtilizationPercent)
	to.LatencyMedianMicroseconds = max(to.LatencyMedianMicroseconds, f.LatencyMedianMicroseconds)
	to.LatencyP99Microseconds = max(to.LatencyP99Microseconds, f.LatencyP99Microseconds)
	for _, r := range f.Replicas {
		at := slices.IndexFunc(to.Replicas, func(o v1alpha1.ReplicaStatus) bool { return o.Name == r.Name })
		if at < 0 {
			to.Replicas = append(to.Replicas, r)
			continue
		}
		to.Replicas[at].Ready = to.Replicas[at].Ready && r.Ready
		to.Replicas[at].SentRate += r.SentRate
		to.Replicas[at].FullRate += r.FullRate
		to.Replicas[at].Flows += r.Flows
	}
	for _, c := range f.Contradictions {
		if !slices.Contains(to.Contradictions, c) {
			to.Contradictions = append(to.Contradictions, c)
		}
	}
}

// calm keeps numbers as they were said if they are about the same, as steady does. A latency is, within a factor of two.
func calm(f *v1alpha1.FunctionStatus, said v1alpha1.FunctionStatus) {
	f.SentRate = steady(said.SentRate, f.SentRate)
	f.FullRate = steady(said.FullRate, f.FullRate)
	f.ReturnedRate = steady(said.ReturnedRate, f.ReturnedRate)
	f.PastRate = steady(said.PastRate, f.PastRate)
	f.UtilizationPercent = int32(steady(int64(said.UtilizationPercent), int64(f.UtilizationPercent)))
	for i := range f.Replicas {
		for _, r := range said.Replicas {
			if r.Name == f.Replicas[i].Name {
				f.Replicas[i].SentRate = steady(r.SentRate, f.Replicas[i].SentRate)
				f.Replicas[i].FullRate = steady(r.FullRate, f.Replicas[i].FullRate)
				f.Replicas[i].Flows = steady(r.Flows, f.Replicas[i].Flows)
			}
		}
	}
	f.LatencyMedianMicroseconds = within(2, said.LatencyMedianMicroseconds, f.LatencyMedianMicroseconds)
	f.LatencyP99Microseconds = within(2, said.LatencyP99Microseconds, f.LatencyP99Microseconds)
}

func within(factor, said, now int64) int64 {
	if max(said, now) <= factor*min(said, now) {
		return said
	}
	return now
}
