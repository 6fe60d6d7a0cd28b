// Package classes lists what a program's traffic classes are and do.
package classes

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
)

// Listing is a program for people and machines.
type Listing struct {
	Chain    string    `json:"chain"`
	Hash     string    `json:"program"`
	Bytes    int       `json:"bytes"`
	Elements int       `json:"elements"` // of the chain
	Segments []Segment `json:"segments"`
	Runs     []Run     `json:"runs,omitempty"`
	Cuts     []Cut     `json:"cuts,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Segment is one classification.
type Segment struct {
	Name  string   `json:"name"`
	Reads []string `json:"reads"`
	Apart string   `json:"apart,omitempty"` // packets that are classified by a table of their own
	// Walk and WalkApart are what look-ups in the segment's table take, and in that of the packets apart; absent: these are no trees.
	Walk      *Walk   `json:"walk,omitempty"`
	WalkApart *Walk   `json:"walkApart,omitempty"`
	Classes   []Class `json:"classes"`
}

// Walk is how many nodes and groups of boxes a look-up reads: on average, and at most (trees.Walk).
type Walk struct {
	Steps   float64 `json:"steps"`
	Longest int     `json:"longest"`
}

func (w *Walk) String() string { return fmt.Sprintf("%.0f steps, %d at most", w.Steps, w.Longest) }

func walkOf(w trees.Walk) *Walk {
	if w.Longest == 0 {
		return nil
	}
	return &Walk{math.Round(w.Steps*10) / 10, w.Longest}
}

// Class is a traffic class.
type Class struct {
	Class int `json:"class"`
	// Boxes are the filters that lead to the class, each with its rank in the segment's order.
	Boxes []Box `json:"boxes"`
	Legs  []Leg `json:"legs"`
	does  string
	boxes int
}

// Box is a filter of a classifier.
type Box struct {
	Rank   int    `json:"rank"`
	Apart  bool   `json:"apart,omitempty"`
	Filter string `json:"filter"`
}

// Leg is one copy's operations and outcome.
type Leg struct {
	Operations []string `json:"operations"`
	Outcome    string   `json:"outcome"`
	Ends       []End    `json:"ends"`
	Counters   []string `json:"counters,omitempty"`
}

// End is how packets of a leg end; the first that names them holds.
type End struct {
	Packets string `json:"packets,omitempty"` // absent: all that are left
	Does    string `json:"does"`
	// Unless are the reasons under which one may be dropped instead, as state, load or its length want it.
	Unless []string `json:"unless,omitempty"`
}

// Run is NAPTs in a row that became one translation.
type Run struct {
	Name  string   `json:"name"`
	NAPTs []string `json:"napts"`
	Table string   `json:"table"`
}

// Cut is where packets are classified again, and why (synth.Cut).
type Cut struct {
	Segment  string   `json:"segment"` // begins here
	Function string   `json:"function"`
	From     []string `json:"from"` // segments
	Behind   []string `json:"behind,omitempty"`
	Reason   string   `json:"reason"`
	Units    int      `json:"units,omitempty"`
	Limit    int      `json:"limit,omitempty"`
	One      *Walk    `json:"one,omitempty"`
	Apart    *Walk    `json:"apart,omitempty"`
	Message  string   `json:"message"`
}

// List makes the listing of a compiled chain.
func List(c *compile.Chain) Listing { return list(c, false) }

// Brief is List with no more than the first box of each class: what Text needs of a program that may have millions.
func Brief(c *compile.Chain) Listing { return list(c, true) }

func list(c *compile.Chain, brief bool) Listing {
	p := c.Result.Program
	l := Listing{
		Chain: c.Graph.Chain, Hash: c.Hash, Bytes: len(c.Encoded), Elements: len(c.Graph.Nodes),
		Warnings: c.Warnings(),
	}
	for i := range p.GetSegments() {
		l.Segments = append(l.Segments, segment(p, i, brief))
	}
	for _, r := range c.Result.Runs {
		l.Runs = append(l.Runs, Run{r.Name, r.Nodes, r.Table})
	}
	for _, x := range c.Result.Cuts {
		l.Cuts = append(l.Cuts, Cut{x.Segment, x.Function, x.From, x.Behind, x.Reason.String(), x.Units, x.Limit, walkOf(x.One), walkOf(x.Apart), x.String()})
	}
	return l
}

func segment(p *programpb.Program, at int, brief bool) Segment {
	s := p.GetSegments()[at]
	out := Segment{Name: s.GetName(), Reads: describe.Reads(s), Apart: describe.Apart(s), Classes: make([]Class, len(s.GetClasses()))}
	filters := describe.NewFilters(p, at)
	add := func(t *programpb.Table, apart bool) {
		for rank, class := range t.GetClasses() {
			c := &out.Classes[class]
			if c.boxes++; !brief || c.boxes == 1 {
				c.Boxes = append(c.Boxes, Box{rank, apart, describe.Filter(describe.BoxFilter(t, rank))})
			}
			filters.Add(t, rank)
		}
	}
	add(s.GetTable(), false)
	out.Walk = walkOf(trees.Of(s.GetTable(), false))
	if s.GetLow() != nil {
		add(s.GetLow(), true)
		out.WalkApart = walkOf(trees.Of(s.GetLow(), true))
	}
	for i, c := range s.GetClasses() {
		class, of := &out.Classes[i], filters.Of(i)
		class.Class, class.does = i, describe.ClassOf(p, at, c, of)
		for _, leg := range c.GetLegs() {
			class.Legs = append(class.Legs, newLeg(p, at, leg, of))
		}
	}
	return out
}

func newLeg(p *programpb.Program, segment int, l *programpb.Leg, filters []headerspace.Filter) Leg {
	ends := describe.Left(program.Ends(p, segment, l), filters)
	out := Leg{Outcome: describe.Ends(p, l, ends), Operations: []string{}}
	for i := range ends {
		out.Ends = append(out.Ends, End{ends[i].Words, describe.End(p, l, &ends[i]), ends[i].Unless})
	}
	for _, op := range l.GetOps() {
		out.Operations = append(out.Operations, program.OpText(p, op))
	}
	for _, c := range l.GetCounters() {
		out.Counters = append(out.Counters, p.GetCounters()[c])
	}
	return out
}

// Text writes the listing as tables, a class per line.
func (l Listing) Text(w io.Writer) error {
	var b strings.Builder
	boxes, classes := 0, 0
	for _, s := range l.Segments {
		classes += len(s.Classes)
		for _, c := range s.Classes {
			boxes += c.boxes
		}
	}
	fmt.Fprintf(&b, "chain %s: %d elements → %d segments, %d classes, %d boxes; program %.12s, %d bytes\n",
		l.Chain, l.Elements, len(l.Segments), classes, boxes, l.Hash, l.Bytes)
	for _, r := range l.Runs {
		if len(r.NAPTs) > 1 {
			fmt.Fprintf(&b, "%s are one translation, kept in %s\n", strings.Join(r.NAPTs, " and "), r.Table)
		}
	}
	for _, c := range l.Cuts {
		fmt.Fprintf(&b, "%s\n", c.Message)
	}
	for _, s := range l.Segments {
		s.text(&b)
	}
	if unless := l.unless(); len(unless) > 0 {
		fmt.Fprintf(&b, "\nfor what no header says, a packet may be dropped instead as %s\n", strings.Join(unless, ", "))
	}
	for _, warning := range l.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s", warning)
	}
	if len(l.Warnings) > 0 {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unless are the reasons for which no class can speak.
func (l Listing) unless() []string {
	all := map[string]bool{}
	for _, s := range l.Segments {
		for _, c := range s.Classes {
			for _, leg := range c.Legs {
				for _, e := range leg.Ends {
					for _, reason := range e.Unless {
						all[reason] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// walks tells whether a look-up is long enough to be told of.
func (s Segment) walks() bool { return s.Walk != nil && s.Walk.Longest > 2 }

func (s Segment) text(b *strings.Builder) {
	reads := "nothing"
	if len(s.Reads) > 0 {
		reads = strings.Join(s.Reads, ", ")
	}
	if s.walks() {
		reads += fmt.Sprintf(" (%s)", s.Walk)
	}
	if s.Apart != "" {
		reads += "; apart: " + s.Apart
		if s.WalkApart != nil && s.walks() {
			reads += fmt.Sprintf(" (%s)", s.WalkApart)
		}
	}
	fmt.Fprintf(b, "\nsegment %s reads %s\n", s.Name, reads)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  CLASS\tBOXES\tFILTER\tOPERATION → OUTCOME")
	for _, c := range s.Classes {
		fmt.Fprintf(t, "  %d\t%d\t%s\t%s\n", c.Class, c.boxes, filter(c.Boxes, c.boxes), c.does)
	}
	_ = t.Flush() // a strings.Builder takes all
}

// filter is the class's filter if it has one, else the first of them.
func filter(boxes []Box, n int) string {
	if len(boxes) == 0 {
		return "none"
	}
	text := boxes[0].Filter
	if boxes[0].Apart {
		text = "apart: " + text
	}
	const width = 64
	if r := []rune(text); len(r) > width {
		text = string(r[:width-1]) + "…"
	}
	if n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	return text
}
