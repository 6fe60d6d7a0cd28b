package program

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// edge leads from a segment to one that classifies again.
type edge struct {
	to     int
	lowers bool // the TTL
	raises bool // or sets the TTL
}

// cycles are the segments as a graph.
type cycles struct {
	p   *programpb.Program
	out [][]edge
}

// checkCycles lets segments lead back to each other only where every packet's TTL gets smaller on the way and so ends it: no
// leg on a cycle raises or sets the TTL, and every cycle has a leg that lowers it. The engine has the same rule
// (program/sn_program_cycles.c). Programs may come from strangers: it takes linear time and does not recurse.
func checkCycles(p *programpb.Program) error {
	c := cycles{p: p, out: make([][]edge, len(p.GetSegments()))}
	for s, segment := range p.GetSegments() {
		for _, class := range segment.GetClasses() {
			for _, l := range class.GetLegs() {
				for _, next := range LeadsTo(l) {
					c.out[s] = append(c.out[s], edgeOf(l, int(next)))
				}
			}
		}
	}
	component := c.components()
	for from, edges := range c.out {
		for _, e := range edges {
			if e.raises && component[from] == component[e.to] {
				return fmt.Errorf("%s, and the TTL is set or raised on the way: want it lowered alone", c.describe(c.back(from, e.to)))
			}
		}
	}
	if endless := c.endless(); endless != nil {
		return fmt.Errorf("%s, and the TTL is not lowered on the way: want an add_ttl below 0", c.describe(endless))
	}
	return nil
}

func edgeOf(l *programpb.Leg, to int) edge {
	e := edge{to: to}
	for _, o := range l.GetOps() {
		if known, _ := rule.OperationOf(o); known.TTL != nil {
			lowers, raises := known.TTL(o)
			e.lowers, e.raises = e.lowers || lowers, e.raises || raises
		}
	}
	return e
}

// components numbers the strongly connected components (Tarjan's algorithm): segments of one lead to each other.
func (c *cycles) components() []int {
	n := len(c.out)
	component, index, low, next := make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	var way, open []int
	count, closed := 0, 0
	enter := func(s int) {
		count++
		index[s], low[s] = count, count
		way, open = append(way, s), append(open, s)
	}
	for root := range n {
		if index[root] == 0 {
			enter(root)
		}
		for len(way) > 0 {
			at := way[len(way)-1]
			if next[at] < len(c.out[at]) {
				to := c.out[at][next[at]].to
				next[at]++
				if index[to] == 0 {
					enter(to)
				} else if component[to] == 0 {
					low[at] = min(low[at], index[to])
				}
				continue
			}
			way = way[:len(way)-1]
			if len(way) > 0 {
				from := way[len(way)-1]
				low[from] = min(low[from], low[at])
			}
			if low[at] < index[at] {
				continue
			}
			closed++
			for component[at] == 0 {
				component[open[len(open)-1]] = closed
				open = open[:len(open)-1]
			}
		}
	}
	return component
}

// back is the shortest cycle that begins with the edge between two segments of one component.
func (c *cycles) back(from, to int) []int {
	before := make([]int, len(c.out)) // the segment before it, from 1 on
	before[to] = to + 1
	for todo := []int{to}; before[from] == 0; todo = todo[1:] {
		for _, e := range c.out[todo[0]] {
			if before[e.to] == 0 {
				before[e.to] = todo[0] + 1
				todo = append(todo, e.to)
			}
		}
	}
	way := []int{from}
	for at := from; at != to; at = before[at] - 1 {
		way = append(way, before[at]-1)
	}
	return reversed(way)
}

// endless is a cycle of which no edge lowers the TTL, nil if there is none.
func (c *cycles) endless() []int {
	into, from := make([]int, len(c.out)), make([]int, len(c.out))
	each := func(s int, do func(to int)) {
		for _, e := range c.out[s] {
			if !e.lowers {
				do(e.to)
			}
		}
	}
	var ready []int
	for s := range c.out {
		each(s, func(to int) { into[to]++ })
	}
	for s := range c.out {
		if into[s] == 0 {
			ready = append(ready, s)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		each(ready[0], func(to int) {
			if into[to]--; into[to] == 0 {
				ready = append(ready, to)
			}
		})
	}
	// Into what is left leads something that is left: going back, it closes.
	start := -1
	for s := range c.out {
		if into[s] > 0 {
			start = s
			each(s, func(to int) { from[to] = s })
		}
	}
	if start < 0 {
		return nil
	}
	seen := make([]bool, len(c.out))
	for ; !seen[start]; start = from[start] {
		seen[start] = true
	}
	way := []int{start}
	for at := from[start]; at != start; at = from[at] {
		way = append(way, at)
	}
	return reversed(way)
}

func reversed(way []int) []int {
	for i, j := 0, len(way)-1; i < j; i, j = i+1, j-1 {
		way[i], way[j] = way[j], way[i]
	}
	return way
}

// maxNamed is how many segments of a cycle a message names.
const maxNamed = 4

// describe names the segments of a cycle.
func (c *cycles) describe(way []int) string {
	var s strings.Builder
	name := func(i int) { fmt.Fprintf(&s, "segments[%d] (%s)", i, c.p.GetSegments()[i].GetName()) }
	name(way[0])
	s.WriteString(": leads back to itself by ")
	for i, at := range way[1:] {
		if i == maxNamed {
			fmt.Fprintf(&s, "%d more", len(way)-1-maxNamed)
			break
		}
		if i > 0 {
			s.WriteString(", ")
		}
		name(at)
	}
	if len(way) == 1 {
		s.WriteString("itself")
	}
	return s.String()
}
