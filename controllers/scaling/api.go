package scaling

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Groups is the plan as the spec of a ChainInstance has it: by name, with runs of
// shards, and the first cores for each. Tags are given elsewhere.
func (p PodPlan) Groups() []v1alpha1.InstanceGroup {
	numbers := map[string][]int{}
	for _, s := range p.Shards {
		numbers[s.Group] = append(numbers[s.Group], s.Number)
	}
	var list []v1alpha1.InstanceGroup
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		g := v1alpha1.InstanceGroup{Name: v1alpha1.Name(name), Shards: Ranges(numbers[name])}
		for c := range p.Cores {
			g.Cores = append(g.Cores, int32(c))
		}
		list = append(list, g)
	}
	return list
}

// Ranges are unbroken runs of shards.
func Ranges(numbers []int) []v1alpha1.ShardRange {
	slices.Sort(numbers)
	var list []v1alpha1.ShardRange
	for i := 0; i < len(numbers); {
		k := i
		for k+1 < len(numbers) && numbers[k+1] == numbers[k]+1 {
			k++
		}
		run := strconv.Itoa(numbers[i])
		if k > i {
			run += "-" + strconv.Itoa(numbers[k])
		}
		list = append(list, v1alpha1.ShardRange(run))
		i = k + 1
	}
	return list
}

// ShardsOf are the shards of an instance's groups, and an error for a range that is none.
func ShardsOf(groups []v1alpha1.InstanceGroup) ([]Shard, error) {
	var list []Shard
	for _, g := range groups {
		for _, r := range g.Shards {
			first, last, isRun := strings.Cut(string(r), "-")
			if !isRun {
				last = first
			}
			from, err := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			if err != nil || err2 != nil || from < 0 || from > to || to > mostShard {
				return nil, fmt.Errorf(`group %s: shards: %q: want a shard ("7") or a run of shards ("0-127"), up to %d`, g.Name, r, mostShard)
			}
			for n := from; n <= to; n++ {
				list = append(list, Shard{string(g.Name), n})
			}
		}
	}
	return list, nil
}

// ReportOf is what an instance's agent reported: of each shard that the instance should
// have, who owns it and what it wants. The packets of cores are not in it: they are
// counted from a report to the next, by CoresSince.
func ReportOf(i *v1alpha1.ChainInstance) (Report, error) {
	shards, err := ShardsOf(i.Spec.Groups)
	if err != nil {
		return Report{}, err
	}
	core := map[int32]int{}
	for k, c := range i.Status.Cores {
		core[c.LCore] = k
	}
	works, owners := map[string][]int32{}, map[Shard]int{}
	for _, g := range i.Status.Groups {
		works[string(g.Name)] = g.Work
		for _, o := range g.Owners {
			owned, err := ShardsOf([]v1alpha1.InstanceGroup{{Name: g.Name, Shards: o.Shards}})
			if err != nil {
				return Report{}, err
			}
			for _, shard := range owned {
				owners[shard] = core[o.LCore]
			}
		}
	}
	r := Report{At: i.Status.LastReportTime.Time}
	for _, shard := range shards {
		l := ShardLoad{Shard: shard, Core: owners[shard]}
		if w := works[shard.Group]; shard.Number < len(w) {
			l.Work = float64(w[shard.Number]) / 1000
		}
		r.Shards = append(r.Shards, l)
	}
	return r, nil
}

// CoresSince is what cores did between two reports, and do beside shards by the second. Of
// counters that began anew it knows nothing.
func CoresSince(before, now []v1alpha1.CoreStatus) []CoreLoad {
	list := make([]CoreLoad, len(now))
	for i, n := range now {
		if i < len(before) && before[i].LCore == n.LCore && before[i].Packets <= n.Packets && before[i].Lost <= n.Lost {
			list[i] = CoreLoad{Packets: float64(n.Packets - before[i].Packets), Lost: float64(n.Lost - before[i].Lost)}
		}
		list[i].Other = float64(n.Other) / 1000
	}
	return list
}

// Working is how many cores, the first ones, an instance's groups name.
func Working(i *v1alpha1.ChainInstance) int {
	most := int32(0)
	for _, g := range i.Spec.Groups {
		for _, c := range g.Cores {
			most = max(most, c+1)
		}
	}
	return int(most)
}

const mostShard = 9999 // that the schema of a range takes
