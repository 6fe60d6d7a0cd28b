package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Difference is in what two revisions of a chain's program differ. Scripts read it, so names stay.
type Difference struct {
	From Revision `json:"from"`
	To   Revision `json:"to"`
	// Same is true of one and the same program. Programs without sections may differ, too: in the order or the layout of their tables.
	Same     bool      `json:"same"`
	Sections []Section `json:"sections"`
}

// Revision names a program.
type Revision struct {
	Revision int64  `json:"revision"`
	Name     string `json:"name"`
	Hash     string `json:"hash"`
}

// Section is what differs in a part of the program, or of a class in it: which packets come to it.
type Section struct {
	Part    string   `json:"part"`
	Class   string   `json:"class,omitempty"`
	OnlyIn  string   `json:"onlyIn,omitempty"` // from or to, if the other program has no such class
	Removed []string `json:"removed"`
	Added   []string `json:"added"`
}

// Diff compares two revisions of a chain.
func (c *Cluster) Diff(ctx context.Context, name, from, to string) (*Difference, error) {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return nil, err
	}
	programs, err := c.revisions(ctx, chain)
	if err != nil {
		return nil, err
	}
	var found [2]Revision
	var unpacked [2]*programpb.Program
	for i, rev := range []string{from, to} {
		o, err := programs.find(rev)
		if err != nil {
			return nil, fmt.Errorf("chain %s: %w", name, err)
		}
		p, err := delivery.Unpack(o)
		if err != nil {
			return nil, fmt.Errorf("ChainProgram %s: %w", o.Name, err)
		}
		found[i], unpacked[i] = Revision{o.Spec.Revision, o.Name, o.Spec.Hash}, p.Program
	}
	return &Difference{
		From: found[0], To: found[1], Same: found[0].Hash == found[1].Hash, Sections: sections(unpacked[0], unpacked[1]),
	}, nil
}

// Text writes a difference for people.
func (d *Difference) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "revision %d (%s) → revision %d (%s)\n", d.From.Revision, d.From.Name, d.To.Revision, d.To.Name)
	part := ""
	for _, s := range d.Sections {
		if s.Part != part {
			part = s.Part
			fmt.Fprintf(&b, "\n%s\n", part)
		}
		if s.Class != "" {
			fmt.Fprintf(&b, "  class %s%s\n", s.Class, born[s.OnlyIn])
		}
		for _, line := range s.Removed {
			fmt.Fprintln(&b, "  -", line)
		}
		for _, line := range s.Added {
			fmt.Fprintln(&b, "  +", line)
		}
	}
	switch {
	case d.Same:
		fmt.Fprintln(&b, "\nthey are the same program")
	case len(d.Sections) == 0:
		fmt.Fprintln(&b, "\nno class, interface or limit differs; only the order or the layout of the tables does")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// born says of a class that only one of the programs has it.
var born = map[string]string{"from": "  (gone)", "to": "  (new)"}

// lines are what a program says, sorted under headings.
type lines map[heading]map[string]bool

// heading is a part of a program, or a class within one of its segments.
type heading struct{ part, class string }

func (l lines) add(h heading, line string) {
	if l[h] == nil {
		l[h] = map[string]bool{}
	}
	l[h][line] = true
}

// linesOf are all the lines of a program.
func linesOf(p *programpb.Program) lines {
	l := lines{}
	for _, part := range describe.Parts(p) {
		l.add(heading{part: part.Name}, part.Text)
	}
	for i, s := range p.GetSegments() {
		add := func(t *programpb.Table, apart string) {
			for box, class := range t.GetClasses() {
				does := describe.Class(p, i, s.GetClasses()[class]) + describe.Counters(p, s.GetClasses()[class])
				l.add(heading{"segment " + s.GetName(), does}, apart+describe.Box(t, box))
			}
		}
		add(s.GetTable(), "")
		add(s.GetLow(), "("+describe.Apart(s)+") ")
	}
	return l
}

// sections are the differences of two programs, sorted.
func sections(a, b *programpb.Program) []Section {
	before, after := linesOf(a), linesOf(b)
	all := maps.Clone(before)
	maps.Copy(all, after)
	order := slices.SortedFunc(maps.Keys(all), func(x, y heading) int {
		return cmp.Or(strings.Compare(x.part, y.part), strings.Compare(x.class, y.class))
	})
	out := []Section{}
	for _, h := range order {
		s := Section{Part: h.part, Class: h.class, Removed: without(before[h], after[h]), Added: without(after[h], before[h])}
		if len(s.Removed)+len(s.Added) == 0 {
			continue
		}
		switch {
		case h.class == "":
		case len(before[h]) == 0:
			s.OnlyIn = "to"
		case len(after[h]) == 0:
			s.OnlyIn = "from"
		}
		out = append(out, s)
	}
	return out
}

// without are the lines of a that are not in b, sorted.
func without(a, b map[string]bool) []string {
	out := []string{}
	for line := range a {
		if !b[line] {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
