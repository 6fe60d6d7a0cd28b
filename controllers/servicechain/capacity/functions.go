package capacity

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

// functions is what was seen of those whose capacity is known. Instances report rates of some seconds, and shards that were handed over are counted by both
// meanwhile: nothing is read then.
type functions struct {
	rates map[v1alpha1.Name]float64 // packets per second, whatever the capacity is by now
	quiet time.Time                 // when to read again
}

// move notes that shards are being handed over.
func (m *functions) move(now time.Time) { m.quiet = now.Add(carry) }

// see is what functions of instances are given together, and after what time to look again; 0: not before a report.
func (m *functions) see(now time.Time, known []scaling.Capacity, instances []v1alpha1.ChainInstance) (out []scaling.Function, again time.Duration) {
	rates := map[v1alpha1.Name]float64{}
	for _, c := range known {
		rate, had := m.rates[c.Function]
		if !had || !now.Before(m.quiet) {
			rate = given(c.Function, rate, instances)
		}
		rates[c.Function] = rate
		out = append(out, scaling.Function{Name: string(c.Function), Load: rate / c.Rate, Target: c.Target})
	}
	if m.rates = rates; len(known) > 0 {
		again = max(0, m.quiet.Sub(now))
	}
	return out, again
}

// divisible tells whether instances can have parts of the chain's packets, as far as is known: whether there is state, and several shards of it.
func divisible(instances []v1alpha1.ChainInstance) bool {
	return !slices.ContainsFunc(instances, func(i v1alpha1.ChainInstance) bool {
		c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionBalanced)
		return c != nil && (c.Reason == v1alpha1.ReasonNoState || c.Reason == v1alpha1.ReasonOneShard)
	})
}

// given is how many packets per second the busiest containers of a function have, of all instances together. A function that is down gets nothing: then
// what it had before counts, if that was more.
func given(name v1alpha1.Name, before float64, instances []v1alpha1.ChainInstance) (sum float64) {
	ready := true
	for i := range instances {
		all := instances[i].Status.Functions
		if k := slices.IndexFunc(all, func(f v1alpha1.FunctionStatus) bool { return f.Name == name }); k >= 0 {
			sum += scaling.Busiest(&all[k])
			ready = ready && all[k].Ready
		}
	}
	if !ready {
		return max(sum, before)
	}
	return sum
}
