package scaling

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Groups is the plan as the spec of a ChainInstance has it: by name, with runs of
// shards, and the first cores for each.
func (p PodPlan) Groups() []v1alpha1.InstanceGroup {
	sets := map[string]shard.Set{}
	for _, id := range p.Shards {
		set := sets[id.Group]
		set.Add(id.Number)
		sets[id.Group] = set
	}
	var list []v1alpha1.InstanceGroup
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		g := v1alpha1.InstanceGroup{Name: v1alpha1.Name(name), Shards: shard.Text[v1alpha1.ShardRange](sets[name])}
		for c := range p.Cores {
			g.Cores = append(g.Cores, int32(c))
		}
		list = append(list, g)
	}
	return list
}

// Shards are the shards of a group of an instance, and an error for a range that is none.
func Shards(group v1alpha1.Name, ranges []v1alpha1.ShardRange) (shard.Set, error) {
	set, err := shard.Parse(ranges)
	if err != nil {
		return shard.Set{}, fmt.Errorf("group %s: shards: %w", group, err)
	}
	return set, nil
}

// ReportOf is what an instance's agent reported: of each shard that the instance should
// have, who owns it and what it wants. The packets of cores are not in it: they are
// counted from a report to the next, by CoresSince.
func ReportOf(i *v1alpha1.ChainInstance) (load.Report, error) {
	core := map[int32]int{}
	for k, c := range i.Status.Cores {
		core[c.LCore] = k
	}
	works, owners := map[v1alpha1.Name][]int32{}, map[shard.ID]int{}
	for _, g := range i.Status.Groups {
		works[g.Name] = g.Work
		for _, o := range g.Owners {
			owned, err := Shards(g.Name, o.Shards)
			if err != nil {
				return load.Report{}, err
			}
			for n := range owned.All() {
				owners[shard.ID{Group: string(g.Name), Number: n}] = core[o.LCore]
			}
		}
	}
	r := load.Report{At: i.Status.LastReportTime.Time}
	for _, g := range i.Spec.Groups {
		set, err := Shards(g.Name, g.Shards)
		if err != nil {
			return load.Report{}, err
		}
		for n := range set.All() {
			id := shard.ID{Group: string(g.Name), Number: n}
			l := load.Shard{ID: id, Core: owners[id]}
			if w := works[g.Name]; n < len(w) {
				l.Work = float64(w[n]) / 1000
			}
			r.Shards = append(r.Shards, l)
		}
	}
	return r, nil
}

// CoresSince is what cores did between two reports, and do beside shards by the second. Of
// counters that were reset it knows nothing.
func CoresSince(before, now []v1alpha1.CoreStatus) []load.Core {
	list := make([]load.Core, len(now))
	for i, n := range now {
		if i < len(before) && before[i].LCore == n.LCore && before[i].Packets <= n.Packets && before[i].Lost <= n.Lost {
			list[i] = load.Core{Packets: float64(n.Packets - before[i].Packets), Lost: float64(n.Lost - before[i].Lost)}
		}
		list[i].Other = float64(n.Other) / 1000
	}
	return list
}
