package walk

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// runID is a run of elements that choose, as walked so far: a run before it, and the element that was added.
type runID int

const noRun runID = -1

// runs are all runs that the walk met; those that reached an end are used.
type runs struct {
	links []runLink
	index map[runLink]runID
	// used are the runs of the program, as nodes in order.
	used [][]int
	at   map[runID]int // index into used
}

type runLink struct {
	prev runID
	node int
}

func newRuns() runs { return runs{index: map[runLink]runID{}, at: map[runID]int{}} }

// extend is the run with an element more.
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

// last is the element whose choice stands.
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

// run is the index of a run; a new one has a way back, which is a segment.
func (w *Walker) run(r runID) int {
	i, fresh := w.runs.use(r)
	if fresh {
		last := w.runs.last(r)
		w.Table(last)
		w.segmentOf(start{kind: startReturn, node: last, run: i})
		for _, node := range w.runs.used[i] {
			w.run(w.single(node))
		}
	}
	return i
}

// single is the run of one element.
func (w *Walker) single(node int) runID { return w.runs.extend(noRun, node) }

// tables writes state tables and the runs that lead into them.
func (e *Emitter) tables() {
	for _, node := range e.w.tables {
		t := &programpb.StateTable{Name: e.w.g.Nodes[node].Name}
		if s, ok := e.w.means[node].(Sharing); ok {
			t.Name = s.TableName()
		}
		e.w.means[node].(Keeping).Keep(e, t)
		e.p.Tables = append(e.p.Tables, t)
	}
	for i, run := range e.w.runs.used {
		last := run[len(run)-1]
		r := &programpb.Run{
			Name: e.w.runName(i), Table: uint32(e.w.Table(last)),
			Segment: uint32(e.w.index[start{kind: startReturn, node: last, run: i}]),
		}
		var names []string
		for _, node := range run {
			if len(run) > 1 {
				r.Single = append(r.Single, uint32(e.w.run(e.w.single(node))))
			}
			names = append(names, e.w.g.Nodes[node].Name)
		}
		e.w.choosing(last).WriteRun(e, run, r)
		e.p.Runs = append(e.p.Runs, r)
		e.r.Runs = append(e.r.Runs, Run{Name: r.Name, Nodes: names, Table: e.p.Tables[r.Table].Name})
	}
}

// Run is the place in the program of the run that an operation of the leg at work leads into (see Choose).
func (e *Emitter) Run(o Op) uint32 { return uint32(e.w.run(e.runs[o.Arg])) }

// RunName is the name of the run at a place.
func (e *Emitter) RunName(place uint32) string { return e.w.runName(int(place)) }

// Milliseconds is a time as programs have it.
func Milliseconds(d time.Duration) uint32 { return uint32(d.Milliseconds()) }
