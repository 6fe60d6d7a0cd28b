package scaling

import "github.com/sinter-nfv/sinter/api/v1alpha1"

// Bounds are what a chain's spec allows.
type Bounds struct {
	MinPods, MaxPods   int
	MinCores, MaxCores int // per pod: that work at least, that it owns
	// Target is the load of a core above which another one is put to work.
	Target float64
	// LoseNodes is how many nodes, those with most of the chain's pods, may be lost
	// without packets being lost for want of cores. 0: no headroom is kept.
	LoseNodes int
}

// BoundsOf reads a chain's spec. Where instances have state of their own, their number is fixed.
func BoundsOf(s *v1alpha1.Scaling) Bounds {
	pods := max(int(s.Instances), 1)
	target := float64(s.TargetUtilization) / 100
	if target == 0 {
		target = 0.7 // the schema's default
	}
	return Bounds{
		MinPods: pods, MaxPods: max(int(s.MaxInstances), pods),
		MinCores: max(int(s.MinCores), 1), MaxCores: int(s.OwnedCores()),
		Target: target, LoseNodes: int(s.NodeFailures),
	}
}
