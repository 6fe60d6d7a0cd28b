package synth

import "slices"

// runID is a NAPT run as walked so far: a run before it, and the NAPT that was added.
type runID int

const noRun runID = -1

// runs are all runs that the walk met; those that reached an end are used.
type runs struct {
	links []runLink
	index map[runLink]runID
	// used are the runs of the program, as NAPT nodes in order.
	used [][]int
	at   map[runID]int // index into used
}

type runLink struct {
	prev runID
	node int
}

func newRuns() runs { return runs{index: map[runLink]runID{}, at: map[runID]int{}} }

// extend is the run with a NAPT more.
func (r *runs) extend(run runID, node int) runID {
	l := runLink{run, node}
	id, ok := r.index[l]
	if !ok {
		id = runID(len(r.links))
		r.links = append(r.links, l)
		r.index[l] = id
	}
	return id
}

// last is the NAPT whose choice stands.
func (r *runs) last(run runID) int { return r.links[run].node }

// use numbers a run for the program; fresh tells that it is new.
func (r *runs) use(run runID) (i int, fresh bool) {
	if i, ok := r.at[run]; ok {
		return i, false
	}
	var nodes []int
	for id := run; id != noRun; id = r.links[id].prev {
		nodes = append(nodes, r.links[id].node)
	}
	slices.Reverse(nodes)
	i = len(r.used)
	r.at[run] = i
	r.used = append(r.used, nodes)
	return i, true
}

// forget takes runs out of use again but the first n.
func (r *runs) forget(n int) {
	r.used = r.used[:n]
	for id, i := range r.at {
		if i >= n {
			delete(r.at, id)
		}
	}
}
