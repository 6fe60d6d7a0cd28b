// Package longest finds the longest way of a packet through a program.
package longest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const (
	// Generations is how often a packet on its way can become an answer: nothing is answered to an ICMP error, but an
	// echo reply or a reset may cause one.
	Generations = 2
	// rounds bounds how often a packet passes a cycle of segments: each time it loses at least one of its TTL.
	rounds = 256
	// maxNamed is how many look-ups of a round an error names.
	maxNamed = 6
)

// Way is how many segments a packet of the program passes at most, those of its answers included: the longest way
// through the segments. Cycles count with as many rounds as a TTL allows, unless bound says that nothing goes round, and
// what is possible then; 0: that is not so.
func Way(p *programpb.Program, bound int) (int, error) {
	l := &wayLengths{p: p, next: make([][]uint32, len(p.Segments)*(Generations+1))}
	for s := range p.Segments {
		for g := range Generations + 1 {
			l.next[l.at(uint32(s), g)] = l.after(uint32(s), g)
		}
	}
	l.index, l.low, l.length = make([]int, len(l.next)), make([]int, len(l.next)), make([]int, len(l.next))
	longest := 0
	for _, i := range p.Interfaces {
		n := l.at(i.Segment, 0)
		l.visit(n)
		longest = max(longest, l.length[n])
	}
	if bound > 0 {
		longest = min(longest, bound)
	}
	if longest > program.MaxWay {
		return 0, fmt.Errorf("a packet could pass %d look-ups, at most %d are supported: it may go round between %s; "+
			"change routes so that fewer of them are on one round, or make their rules and routes fewer", longest, program.MaxWay, l.namesOf(l.ring))
	}
	return max(longest, 1), nil
}

// wayLengths finds longest ways by Tarjan's strongly connected components, in which ways from what comes behind are known
// when a component is complete. A node is a segment, after a number of answers.
type wayLengths struct {
	p          *programpb.Program
	next       [][]uint32
	index, low []int
	length     []int    // of the longest way from here on; 0: not known
	ring       []uint32 // the largest cycle
	stack      []uint32
	count      int
}

func (l *wayLengths) at(segment uint32, answers int) uint32 {
	return segment*(Generations+1) + uint32(answers)
}

// after are the nodes to which a packet can go from a segment.
func (l *wayLengths) after(s uint32, answers int) []uint32 {
	seen := map[uint32]bool{}
	var out []uint32
	add := func(segment uint32, answers int) {
		if n := l.at(segment, answers); answers <= Generations && !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	for _, c := range l.p.Segments[s].Classes {
		for _, leg := range c.Legs {
			switch o := leg.Outcome.(type) {
			case *programpb.Leg_Segment, *programpb.Leg_Track, *programpb.Leg_Bypass, *programpb.Leg_Assign:
				for _, to := range program.LeadsTo(leg) {
					add(to, answers)
				}
			case *programpb.Leg_StateReturn:
				for _, r := range l.p.Runs {
					if r.Table == o.StateReturn {
						add(r.Segment, answers)
					}
				}
			case *programpb.Leg_Generator:
				add(l.p.Generators[o.Generator].Segment, answers+1)
			case *programpb.Leg_Output: // too large: answered
				add(l.p.Interfaces[o.Output].Segment, answers+1)
			}
		}
	}
	return out
}

// visit is recursive to the depth of the longest chain of segments.
func (l *wayLengths) visit(n uint32) {
	l.count++
	l.index[n], l.low[n] = l.count, l.count
	l.stack = append(l.stack, n)
	for _, m := range l.next[n] {
		if l.index[m] == 0 {
			l.visit(m)
			l.low[n] = min(l.low[n], l.low[m])
		} else if l.length[m] == 0 { // on the stack
			l.low[n] = min(l.low[n], l.index[m])
		}
	}
	if l.low[n] == l.index[n] {
		l.complete(n)
	}
}

// complete takes the component of n from the stack.
func (l *wayLengths) complete(n uint32) {
	first := len(l.stack) - 1
	for l.stack[first] != n {
		first--
	}
	members := l.stack[first:]
	l.stack = l.stack[:first]
	behind, cycle := 0, len(members) > 1
	for _, m := range members {
		for _, k := range l.next[m] {
			behind = max(behind, l.length[k])
			cycle = cycle || k == m
		}
	}
	own := 1
	if cycle {
		own = rounds * len(members)
		if len(members) > len(l.ring) {
			l.ring = slices.Clone(members)
		}
	}
	for _, m := range members {
		l.length[m] = own + behind
	}
}

// namesOf names the first of some nodes' segments.
func (l *wayLengths) namesOf(nodes []uint32) string {
	var out []string
	for _, n := range nodes[:min(len(nodes), maxNamed)] {
		out = append(out, strconv.Quote(l.p.Segments[n/(Generations+1)].Name))
	}
	if more := len(nodes) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}
