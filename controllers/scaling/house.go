package scaling

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// home is a pod and the shards that it should own.
type home struct {
	open   bool    // takes shards
	load   float64 // wanted of it, in cores
	name   string
	groups map[string][]ShardLoad
}

func (h *home) has(group string) bool { return len(h.groups[group]) > 0 }

func (h *home) list() []Shard {
	var list []Shard
	for _, g := range h.groups {
		for _, l := range g {
			list = append(list, l.Shard)
		}
	}
	slices.SortFunc(list, Shard.compare)
	return list
}

func (h *home) works() []float64 {
	var works []float64
	for _, name := range slices.Sorted(maps.Keys(h.groups)) {
		for _, l := range h.groups[name] {
			works = append(works, l.Work)
		}
	}
	return works
}

func (h *home) add(l ShardLoad) {
	h.groups[l.Shard.Group] = append(h.groups[l.Shard.Group], l)
	h.load += l.Work
}

func (h *home) take(l ShardLoad) {
	g := slices.DeleteFunc(h.groups[l.Shard.Group], func(o ShardLoad) bool { return o.Shard == l.Shard })
	if h.groups[l.Shard.Group] = g; len(g) == 0 {
		delete(h.groups, l.Shard.Group)
	}
	h.load -= l.Work
}

// heaviest are a group's shards, the heaviest first.
func (h *home) heaviest(group string) []ShardLoad {
	return slices.SortedFunc(slices.Values(h.groups[group]), heavierFirst)
}

func heavierFirst(a, b ShardLoad) int {
	return cmp.Or(cmp.Compare(b.Work, a.Work), a.Shard.compare(b.Shard))
}

// house is all pods of a chain.
type house struct {
	homes []*home
	open  []*home
	full  float64 // load of a pod above which it has too much
	left  int     // handovers that may still be decided
	moved map[Shard]Handover
}

// house says which pod owns which shard. A shard stays where it is unless its pod goes
// or is gone, or has too much.
func (s *Scaler) house(in Input, keep int) *house {
	h := &house{full: in.Bounds.Target * float64(in.Bounds.MaxCores), moved: map[Shard]Handover{}}
	free := make(map[Shard]bool, len(in.Shards))
	for _, shard := range in.Shards {
		free[shard] = true
	}
	over := map[*home]bool{}
	for i, p := range in.Pods {
		pod := &home{name: p.Name, open: p.Ready && i < keep, load: sum(p.others()), groups: map[string][]ShardLoad{}}
		for _, l := range p.Report.Shards {
			if free[l.Shard] { // known, and not another pod's
				delete(free, l.Shard)
				pod.add(l)
			}
		}
		h.homes = append(h.homes, pod)
		if pod.open {
			h.open = append(h.open, pod)
		}
		over[pod] = pod.load > h.full || s.drowns(in, p)
	}
	if len(h.open) == 0 {
		return h
	}
	for i, p := range in.Pods {
		if !p.Ready {
			h.empty(h.homes[i], math.MaxInt) // nothing works there any more
		}
	}
	h.left = s.policy.Handovers // from here on entries are copied
	h.deal(free)
	if in.Hold {
		return h // what was begun goes on later
	}
	for i, p := range in.Pods {
		if p.Ready && !h.homes[i].open {
			h.empty(h.homes[i], h.left)
		}
	}
	h.level(over, s.levelling)
	s.levelling = h.left == 0
	return h
}

// deal gives out the shards that nobody owns. Nothing is known of their load, so each
// pod gets an equal run of each group.
func (h *house) deal(free map[Shard]bool) {
	groups := map[string][]Shard{}
	for shard := range free {
		groups[shard.Group] = append(groups[shard.Group], shard)
	}
	for _, list := range groups {
		slices.SortFunc(list, Shard.compare)
		for i, shard := range list {
			to := h.open[i*len(h.open)/len(list)]
			to.add(ShardLoad{Shard: shard})
			h.moved[shard] = Handover{Shard: shard, To: to.name}
		}
	}
}

// empty hands so many shards of a pod to others, group by group: whole to a pod that has
// the group already, or to the idlest, if there is room; else shard by shard.
func (h *house) empty(from *home, most int) {
	for _, group := range from.byLoad(nil) {
		list := from.heaviest(group)
		load := loadOf(list)
		to := roomiest(h.open, group)
		if to.load+load > h.full {
			to = roomiest(h.open, "")
		}
		whole := to.load+load <= h.full
		for _, l := range list {
			if most == 0 {
				return
			}
			if !whole {
				to = roomiest(h.open, "")
			}
			h.hand(l, from, to)
			most--
		}
	}
}

func (h *house) hand(l ShardLoad, from, to *home) {
	from.take(l)
	to.add(l)
	h.left = max(h.left-1, 0)
	moved, again := h.moved[l.Shard]
	if !again {
		moved = Handover{Shard: l.Shard, From: from.name}
	}
	moved.To = to.name
	h.moved[l.Shard] = moved
}

// handovers are the shards that changed their pod.
func (h *house) handovers() []Handover {
	var list []Handover
	for _, m := range h.moved {
		if m.From != m.To {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b Handover) int { return a.Shard.compare(b.Shard) })
	return list
}

// roomiest is the idlest pod, of those that have the group if there are any.
func roomiest(open []*home, group string) *home {
	return slices.MinFunc(open, func(a, b *home) int {
		return cmp.Or(-boolCompare(a.has(group), b.has(group)), cmp.Compare(a.load, b.load))
	})
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
