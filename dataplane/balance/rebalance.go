package balance

import (
	"cmp"
	"slices"
	"time"
)

// plan is the moves of a step, and who would own what after them.
type plan struct {
	policy  Policy
	now     time.Time
	shards  []track
	owner   []int     // by shard
	load    []float64 // by core
	working int
	moves   []planned
}

type planned struct{ index, to int }

func newPlan(p Policy, shards []track, other []float64, cores, working int, now time.Time) *plan {
	l := &plan{policy: p, now: now, shards: shards, working: min(max(working, 1), cores), owner: make([]int, len(shards)), load: make([]float64, cores)}
	copy(l.load, other)
	for i, t := range shards {
		l.owner[i] = t.Core
		if t.Core >= 0 && t.Core < cores {
			l.load[t.Core] += t.work
		}
	}
	return l
}

func (l *plan) works(core int) bool { return core >= 0 && core < l.working }

func (l *plan) move(i, to int) {
	if from := l.owner[i]; from >= 0 && from < len(l.load) {
		l.load[from] -= l.shards[i].work
	}
	l.load[to] += l.shards[i].work
	l.owner[i] = to
	l.moves = append(l.moves, planned{i, to})
}

func (l *plan) full() bool { return len(l.moves) >= l.policy.Most }

// settle gives the shards from first on, as far as they have no working core, one: the
// heaviest first, each to the idlest (LPT).
func (l *plan) settle(first int) {
	var homeless []int
	for i, core := range l.owner {
		if i >= first && !l.works(core) {
			homeless = append(homeless, i)
		}
	}
	slices.SortStableFunc(homeless, func(a, b int) int { return cmp.Compare(l.shards[b].work, l.shards[a].work) })
	for _, i := range homeless {
		if l.full() {
			return
		}
		l.move(i, l.idlest())
	}
}

func (l *plan) idlest() int {
	least := 0
	for c := range l.working {
		if l.load[c] < l.load[least] {
			least = c
		}
	}
	return least
}

// rebalance moves single shards to the idlest core, each from the busiest core of which a
// shard can be moved with gain. It tells whether there is more to do.
func (l *plan) rebalance(active bool) bool {
	limit := l.policy.Start
	if active {
		limit = l.policy.Stop
	}
	for !l.full() {
		if !l.step(limit) {
			return false
		}
		limit = l.policy.Stop
	}
	return true
}

// step makes one move, if a pair of cores is further apart than the limit and it gains
// something.
func (l *plan) step(limit float64) bool {
	to := l.idlest()
	tried := uint64(0)
	for {
		from := -1
		for c := range l.working {
			if tried&(1<<c) == 0 && l.load[c]-l.load[to] > limit && (from < 0 || l.load[c] > l.load[from]) {
				from = c
			}
		}
		if from < 0 {
			return false
		}
		if i := l.best(from, to); i >= 0 {
			l.move(i, to)
			return true
		}
		tried |= 1 << from
	}
}

// kin is how much more a gain counts if the other core works on the shard's group
// already: classes of one operation are kept together.
const kin = 1.1

// best is the shard whose move gains most: how much lower the busier of two cores gets,
// less what the move costs. -1 if none gains anything.
func (l *plan) best(from, to int) int {
	gap := l.load[from] - l.load[to]
	groups := l.groups(to)
	best, most := -1, 0.0
	for i, t := range l.shards {
		resting := l.load[from] < 1 && !t.moved.IsZero() && l.now.Sub(t.moved) < l.policy.Rest
		if l.owner[i] != from || t.Core != from || resting {
			continue
		}
		gain := min(t.work, gap-t.work)*l.policy.Horizon.Seconds() - l.policy.cost(t.work)
		if groups[t.ID.Group] {
			gain *= kin
		}
		if gain > most {
			best, most = i, gain
		}
	}
	return best
}

// groups that a core works on.
func (l *plan) groups(core int) map[string]bool {
	known := map[string]bool{}
	for i, t := range l.shards {
		if l.owner[i] == core {
			known[t.ID.Group] = true
		}
	}
	return known
}

func (l *plan) list() []Move {
	var list []Move
	for _, m := range l.moves {
		list = append(list, Move{l.shards[m.index].ID, l.shards[m.index].Core, m.to})
	}
	return list
}
