package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reasons for how a decision came out, where it is not one node's reason.
const (
	Placed     Reason = "Placed"
	NoNodes    Reason = "NoNodes"
	NoNodeFits Reason = "NoNodeFits"
)

// Decision is a short list of nodes, or why there is none.
type Decision struct {
	Candidates []Candidate // the best first; none: refused
	Refusals   []Refusal   // the nodes that were asked and do not fit
	Asked      int         // nodes that were asked
	Nodes      int         // nodes that there were
	Named      string      // the node that the chain names
}

// Candidate is a node that fits, as it was when asked.
type Candidate struct {
	Node      string
	Weight    int32 // from 100 down to 1, as preferred node affinity has it
	Load      float64
	FreeCores int
	Used      bool // holds an instance of the chain already
}

// Refusal says what a node lacks.
type Refusal struct {
	Node   string
	Reason Reason
	Lack   Lack
}

// String names the node and what it lacks.
func (r Refusal) String() string { return r.Node + " (" + r.Lack.String() + ")" }

// Placed tells whether there is a node that fits.
func (d Decision) Placed() bool { return len(d.Candidates) > 0 }

// Required are the candidates' names: the only nodes that kube-scheduler may take.
func (d Decision) Required() []string {
	names := make([]string, len(d.Candidates))
	for i, c := range d.Candidates {
		names[i] = c.Node
	}
	return names
}

// Reason is the reason of the condition Placed. Where all nodes are refused for
// one reason it is that one.
func (d Decision) Reason() Reason {
	switch {
	case d.Placed():
		return Placed
	case len(d.Refusals) == 0:
		return NoNodes
	}
	first := d.Refusals[0].Reason
	if slices.ContainsFunc(d.Refusals, func(r Refusal) bool { return r.Reason != first }) {
		return NoNodeFits
	}
	return first
}

// Message is the message of the condition Placed.
func (d Decision) Message() string {
	switch {
	case d.Placed():
		return d.choice()
	case d.Named != "":
		return "the chain names " + d.Refusals[0].String()
	case len(d.Refusals) == 0:
		return "the cluster has no node to run on"
	}
	return d.refused()
}

func (d Decision) choice() string {
	var parts []string
	for _, c := range d.Candidates {
		text := fmt.Sprintf("%s (load %.2f, %d free cores)", c.Node, c.Load, c.FreeCores)
		if c.Used {
			text += " next to another instance"
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", else ")
	if d.Named != "" {
		return text + ", which the chain names"
	}
	return fmt.Sprintf("%s; %d of %d nodes asked", text, d.Asked, d.Nodes)
}

// shown is how many nodes per reason a message names.
const shown = 3

func (d Decision) refused() string {
	by := map[Reason][]Refusal{}
	for _, r := range d.Refusals {
		by[r.Reason] = append(by[r.Reason], r)
	}
	reasons := slices.SortedFunc(maps.Keys(by), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range reasons {
		nodes := by[reason]
		slices.SortFunc(nodes, func(a, b Refusal) int { return cmp.Compare(a.Node, b.Node) })
		var named []string
		for _, r := range nodes[:min(shown, len(nodes))] {
			named = append(named, r.String())
		}
		text := fmt.Sprintf("%s on %s", reason, strings.Join(named, ", "))
		if more := len(nodes) - len(named); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("none of %d nodes fits: %s", d.Nodes, strings.Join(parts, "; "))
}
