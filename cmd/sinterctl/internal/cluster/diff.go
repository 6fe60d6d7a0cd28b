package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Diff writes in what two revisions of a chain differ.
func (c *Cluster) Diff(ctx context.Context, w io.Writer, name, from, to string) error {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return err
	}
	programs, err := c.revisions(ctx, chain)
	if err != nil {
		return err
	}
	var objects [2]*v1alpha1.ChainProgram
	var unpacked [2]*delivery.Program
	for i, rev := range []string{from, to} {
		if objects[i], err = programs.find(rev); err != nil {
			return fmt.Errorf("chain %s: %w", name, err)
		}
		if unpacked[i], err = delivery.Unpack(objects[i]); err != nil {
			return fmt.Errorf("ChainProgram %s: %w", objects[i].Name, err)
		}
	}
	fmt.Fprintf(w, "revision %d (%s) → revision %d (%s)\n", objects[0].Spec.Revision, objects[0].Name, objects[1].Spec.Revision, objects[1].Name)
	changed := writeDifferences(w, unpacked[0].Program, unpacked[1].Program)
	switch {
	case objects[0].Spec.Hash == objects[1].Spec.Hash:
		fmt.Fprintln(w, "\nthey are the same program")
	case !changed:
		fmt.Fprintln(w, "\nno class, interface or limit differs; only the order or the layout of the tables does")
	}
	return nil
}

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

// writeDifferences tells whether there are any.
func writeDifferences(w io.Writer, a, b *programpb.Program) bool {
	before, after := linesOf(a), linesOf(b)
	all := maps.Clone(before)
	maps.Copy(all, after)
	order := slices.SortedFunc(maps.Keys(all), func(x, y heading) int {
		if x.part != y.part {
			return strings.Compare(x.part, y.part)
		}
		return strings.Compare(x.class, y.class)
	})
	part := ""
	for _, h := range order {
		gone, come := without(before[h], after[h]), without(after[h], before[h])
		if len(gone)+len(come) == 0 {
			continue
		}
		if h.part != part {
			part = h.part
			fmt.Fprintf(w, "\n%s\n", part)
		}
		if h.class != "" {
			fmt.Fprintf(w, "  class %s%s\n", h.class, born(before[h], after[h]))
		}
		for _, line := range gone {
			fmt.Fprintln(w, "  -", line)
		}
		for _, line := range come {
			fmt.Fprintln(w, "  +", line)
		}
	}
	return part != ""
}

// born says of a class that only one of the programs has it.
func born(before, after map[string]bool) string {
	switch {
	case len(before) == 0:
		return "  (new)"
	case len(after) == 0:
		return "  (gone)"
	}
	return ""
}

// without are the lines of a that are not in b, sorted.
func without(a, b map[string]bool) []string {
	var out []string
	for line := range a {
		if !b[line] {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
