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
			p := v1alpha1.GroupPlace{Instance: i.Name, Name: g.Name, Shards: g.Shards, Node: i.Status.Node}
			for _, c := range g.Cores {
				// Cores are counted within the pod; the agent reports which CPUs they are.
				if int(c) < len(i.Status.Cores) {
					core := &i.Status.Cores[c]
					p.Cores = append(p.Cores, core.LCore)
					p.LoadPercent = max(p.LoadPercent, core.LoadPercent)
				}
			}
			before := slices.IndexFunc(said, func(o v1alpha1.GroupPlace) bool { return o.Instance == p.Instance && o.Name == p.Name })
			p.Owners = ownersOf(i, g.Name)
			if before >= 0 && slices.Equal(said[before].Cores, p.Cores) {
				p.LoadPercent = steadyLoad(said[before].LoadPercent, p.LoadPercent)
				steadyOwners(said[before].Owners, p.Owners)
			}
			out = append(out, p)
		}
	}
	return out
}

// ownersOf are the cores that own a group's shards, as the agent reports.
func ownersOf(i *v1alpha1.ChainInstance, group v1alpha1.Name) []v1alpha1.CoreShards {
	for _, g := range i.Status.Groups {
		if g.Name == group {
			return slices.Clone(g.Owners)
		}
	}
	return nil
}

// steadyOwners keeps the loads of cores as they were said unless they have really changed.
func steadyOwners(said, now []v1alpha1.CoreShards) {
	for k := range now {
		before := slices.IndexFunc(said, func(o v1alpha1.CoreShards) bool { return o.LCore == now[k].LCore })
		if before >= 0 {
			now[k].LoadPercent = steadyLoad(said[before].LoadPercent, now[k].LoadPercent)
		}
	}
}

// steadyLoad keeps a load as it was said unless it differs by ten points.
func steadyLoad(said, now int32) int32 {
	if max(said, now)-min(said, now) < 10 {
		return said
	}
	return now
}
