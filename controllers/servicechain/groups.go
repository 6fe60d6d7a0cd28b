package servicechain

import (
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// groupPlaces are the groups of all instances. The load is as it was said unless it has really changed.
func groupPlaces(said []v1alpha1.GroupPlace, instances []v1alpha1.ChainInstance) []v1alpha1.GroupPlace {
	const most = 1024 // that the schema takes
	var out []v1alpha1.GroupPlace
	for k := range instances {
		i := &instances[k]
		for _, g := range i.Spec.Groups {
			if len(out) == most {
				return out
			}
			p := v1alpha1.GroupPlace{Instance: i.Name, Name: g.Name, Tag: g.Tag, Shards: g.Shards, Node: i.Status.Node}
			for _, c := range g.Cores {
				// Cores are counted within the pod; the agent reports which CPUs they are.
				if int(c) < len(i.Status.Cores) {
					core := &i.Status.Cores[c]
					p.Cores = append(p.Cores, core.LCore)
					p.LoadPercent = max(p.LoadPercent, core.LoadPercent)
				}
			}
			before := slices.IndexFunc(said, func(o v1alpha1.GroupPlace) bool { return o.Instance == p.Instance && o.Name == p.Name })
			if before >= 0 && slices.Equal(said[before].Cores, p.Cores) {
				p.LoadPercent = steadyLoad(said[before].LoadPercent, p.LoadPercent)
			}
			out = append(out, p)
		}
	}
	return out
}

// steadyLoad keeps a load as it was said unless it differs by ten points.
func steadyLoad(said, now int32) int32 {
	if max(said, now)-min(said, now) < 10 {
		return said
	}
	return now
}
