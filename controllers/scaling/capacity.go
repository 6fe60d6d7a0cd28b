package scaling

import (
	"cmp"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Capacity is what a container of a function can do.
type Capacity struct {
	Function v1alpha1.Name
	Rate     float64 // packets per second
	Target   float64 // the part of that above which another pod is wanted
}

// CapacityOf is that of a chain's function; false: nothing is said of it, or what is said is no rate, which compiling has refused.
func CapacityOf(name v1alpha1.Name, b *v1alpha1.Blackbox) (Capacity, bool) {
	if b.Image == "" || b.Scaling == nil {
		return Capacity{}, false
	}
	rate, refused := rules.ParseRate(string(b.Scaling.Capacity))
	if refused != "" || !rate.Packets {
		return Capacity{}, false
	}
	const usual = 70 // the schema's default
	return Capacity{name, float64(rate.PerSecond), float64(cmp.Or(b.Scaling.TargetUtilization, usual)) / 100}, true
}

// Busiest is how many packets per second there are for the function's container in an instance, those included that it does not take: for the one that has
// most, if there are replicas.
func Busiest(f *v1alpha1.FunctionStatus) float64 {
	most := f.SentRate + f.FullRate
	if len(f.Replicas) > 0 {
		most = 0
	}
	for _, r := range f.Replicas {
		most = max(most, r.SentRate+r.FullRate)
	}
	return float64(most)
}
