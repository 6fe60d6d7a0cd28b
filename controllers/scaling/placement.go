package scaling

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// home is a pod and the shards that it should own.
type home struct {
	open   bool    // takes shards
	load   float64 // wanted of it, in cores
	name   string
	groups map[string][]load.Shard
}

func (h *home) has(group string) bool { return len(h.groups[group]) > 0 }

func (h *home) list() []shard.ID {
	var list []shard.ID
	for _, g := range h.groups {
		for _, l := range g {
			list = append(list, l.ID)
		}
	}
	slices.SortFunc(list, shard.ID.Compare)
	return list
}

// works is what the engine has to do for the pod's shards, by what it has to do for each.
func (h *home) works(of map[shard.ID]float64) []float64 {
	var works []float64
	for _, name := range slices.Sorted(maps.Keys(h.groups)) {
		for _, l := range h.groups[name] {
			works = append(works, of[l.ID])
		}
	}
	return works
}

func (h *home) add(l load.Shard) {
	h.groups[l.ID.Group] = append(h.groups[l.ID.Group], l)
	h.load += l.Work
}

func (h *home) take(l load.Shard) {
	g := slices.DeleteFunc(h.groups[l.ID.Group], func(o load.Shard) bool { return o.ID == l.ID })
	if h.groups[l.ID.Group] = g; len(g) == 0 {
		delete(h.groups, l.ID.Group)
	}
	h.load -= l.Work
}

// heaviest are a group's shards, the heaviest first.
func (h *home) heaviest(group string) []load.Shard {
	return slices.SortedFunc(slices.Values(h.groups[group]), heavierFirst)
}

func heavierFirst(a, b load.Shard) int {
	return cmp.Or(cmp.Compare(b.Work, a.Work), a.ID.Compare(b.ID))
}

// placement is all pods of a chain.
type placement struct {
	homes []*home
	open  []*home
	full  float64 // load of a pod above which it has too much
	left  int     // handovers that may still be decided
	moved map[shard.ID]Handover
}

// placement says which pod owns which shard. A shard stays where it is unless its pod goes
// or is gone, or has too much.
func (s *Scaler) placement(in Input, keep int) *placement {
	h := &placement{full: in.Bounds.Target * float64(in.Bounds.MaxCores), moved: map[shard.ID]Handover{}}
	free := make(map[shard.ID]bool, len(in.Shards))
	for _, shard := range in.Shards {
		free[shard] = true
	}
	over := map[*home]bool{}
	for i, p := range in.Pods {
		pod := &home{name: p.Name, open: p.Ready && i < keep, load: sum(p.others()), groups: map[string][]load.Shard{}}
		for _, l := range p.Report.Shards {
			if free[l.ID] { // known, and not another pod's
				delete(free, l.ID)
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
	h.rebalance(over, s.rebalancing)
	s.rebalancing = h.left == 0
	return h
}

// deal gives out the shards that nobody owns. Nothing is known of their load, so each
// pod gets an equal run of each group.
func (h *placement) deal(free map[shard.ID]bool) {
	groups := map[string][]shard.ID{}
	for shard := range free {
		groups[shard.Group] = append(groups[shard.Group], shard)
	}
	for _, list := range groups {
		slices.SortFunc(list, shard.ID.Compare)
		for i, shard := range list {
			to := h.open[i*len(h.open)/len(list)]
			to.add(load.Shard{ID: shard})
			h.moved[shard] = Handover{Shard: shard, To: to.name}
		}
	}
}

// empty hands so many shards of a pod to others, group by group: whole to a pod that has
// the group already, or to the idlest, if there is room; else shard by shard.
func (h *placement) empty(from *home, most int) {
	for _, group := range from.byLoad(nil) {
		list := from.heaviest(group)
		work := loadOf(list)
		to := roomiest(h.open, group)
		if to.load+work > h.full {
			to = roomiest(h.open, "")
		}
		whole := to.load+work <= h.full
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

func (h *placement) hand(l load.Shard, from, to *home) {
	from.take(l)
	to.add(l)
	h.left = max(h.left-1, 0)
	moved, again := h.moved[l.ID]
	if !again {
		moved = Handover{Shard: l.ID, From: from.name}
	}
	moved.To = to.name
	h.moved[l.ID] = moved
}

// handovers are the shards that changed their pod.
func (h *placement) handovers() []Handover {
	var list []Handover
	for _, m := range h.moved {
		if m.From != m.To {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b Handover) int { return a.Shard.Compare(b.Shard) })
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
