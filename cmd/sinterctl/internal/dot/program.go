package dot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// rows is how many groups of a segment the picture shows; the rest is counted.
const rows = 24

// program draws the synthesized program: each segment one read, each group of
// its classes one line with the one write that its packets get.
func (d *drawing) program(p *programpb.Program) {
	d.panel("program", "the packet program", programFacts(p))
	for i, n := range p.GetInterfaces() {
		d.iface("p", i, n.GetName(), "in")
		d.line(`    p_if%d -> s%d:head`, i, n.GetSegment())
		d.iface("q", i, n.GetName(), "out")
	}
	for i, t := range p.GetTables() {
		d.line(`    t%d [shape=cylinder, style=filled, %s, label=<<b>%s</b><br/><font point-size="8.5">%s</font>>]`,
			i, statePaint.attrs(), escape(t.GetName()), escape(program.TableHolds(t)))
	}
	for _, r := range p.GetRuns() {
		d.line(`    t%d -> s%d:head [color=%q, style=dashed, constraint=false, label=" %s "]`,
			r.GetTable(), r.GetSegment(), statePaint.line, escape(r.GetName()))
	}
	for i, shown := range drawn(p) {
		if shown {
			d.segment(p, i)
		}
	}
	d.line("  }")
}

// drawn tells which segments the picture has: those that read, and those that edges lead to. Others only send an answer back.
func drawn(p *programpb.Program) []bool {
	out := make([]bool, len(p.GetSegments()))
	for i, s := range p.GetSegments() {
		out[i] = len(describe.Reads(s)) > 0
	}
	for _, n := range p.GetInterfaces() {
		out[n.GetSegment()] = true
	}
	for _, r := range p.GetRuns() {
		out[r.GetSegment()] = true
	}
	for before := []bool(nil); !slices.Equal(before, out); { // until no edge leads to another one
		before = slices.Clone(out)
		for i := range out {
			if !out[i] {
				continue
			}
			for _, to := range followers(p, i) {
				out[to] = true
			}
		}
	}
	return out
}

// followers are the segments that the rows of one lead to.
func followers(p *programpb.Program, segment int) (to []uint32) {
	groups, _ := partDrops(describe.Groups(p, segment))
	for _, g := range groups[:min(len(groups), rows)] {
		for _, l := range g.Class.GetLegs() {
			to = append(to, program.LeadsTo(l)...)
		}
	}
	return to
}

func programFacts(p *programpb.Program) string {
	var classes, boxes int
	for _, s := range p.GetSegments() {
		classes += len(s.GetClasses())
		boxes += len(s.GetTable().GetClasses()) + len(s.GetLow().GetClasses())
	}
	return fmt.Sprintf("%s, %s, %s: read once, write once",
		describe.Count(len(p.GetSegments()), "segment"), describe.Count(boxes, "box"), describe.Count(classes, "class"))
}

// segment draws one classification as a table.
func (d *drawing) segment(p *programpb.Program, i int) {
	s := p.GetSegments()[i]
	groups, drops := partDrops(describe.Groups(p, i))
	var b strings.Builder
	fmt.Fprintf(&b, `<table border="0" cellborder="1" cellspacing="0" cellpadding="5" color="#cbd5e1" bgcolor="#ffffff">`)
	fmt.Fprintf(&b, `<tr><td port="head" colspan="3" bgcolor=%q color=%q align="left"><b>%s</b> &#160;reads %s</td></tr>`,
		readPaint.fill, readPaint.line, escape(s.GetName()), escape(cmp.Or(strings.Join(describe.Reads(s), ", "), "nothing")))
	for k, g := range groups {
		if k == rows {
			fmt.Fprintf(&b, `<tr><td colspan="3" align="left">… and %d more</td></tr>`, len(groups)-rows)
			break
		}
		fmt.Fprintf(&b, `<tr><td align="left">%s</td><td align="left">%s</td>%s</tr>`, match(s, g), operations(p, g.Class), outcome(p, i, g, k))
	}
	b.WriteString(dropRow(p, drops))
	b.WriteString("</table>")
	d.line(`    s%d [shape=plain, style="", label=<%s>]`, i, b.String())
	for k, g := range groups[:min(len(groups), rows)] {
		for _, l := range g.Class.GetLegs() {
			d.leg(p, i, k, l)
		}
	}
}

// partDrops parts the groups that only drop from the others.
func partDrops(all []describe.Group) (others, drops []describe.Group) {
	for _, g := range all {
		if legs := g.Class.GetLegs(); len(legs) == 1 && legs[0].GetDrop() != nil {
			drops = append(drops, g)
		} else {
			others = append(others, g)
		}
	}
	return others, drops
}

// dropRow is one row for all that a segment drops at once.
func dropRow(p *programpb.Program, drops []describe.Group) string {
	if len(drops) == 0 {
		return ""
	}
	var reasons []string
	boxes := 0
	for _, g := range drops {
		boxes += g.Boxes
		if r := program.Reason(p, g.Class.GetLegs()[0].GetDrop()); !slices.Contains(reasons, r) {
			reasons = append(reasons, r)
		}
	}
	return fmt.Sprintf(`<tr><td align="left"><font point-size="9">%s</font></td><td colspan="2" align="left" bgcolor=%q>drop: %s</td></tr>`,
		describe.Count(boxes, "box"), dropPaint.fill, escape(strings.Join(reasons, ", ")))
}

func match(s *programpb.Segment, g describe.Group) string {
	text := escape(wrap(g.Match, 46))
	text = strings.ReplaceAll(text, "\n", `<br align="left"/>`) + `<br align="left"/>`
	if g.Low {
		text = escape(describe.Apart(s)) + ": " + text
	}
	return `<font point-size="9">` + text + `</font>`
}

var opPaints = map[program.OpKind]paint{
	program.Write: writePaint, program.State: statePaint, program.Route: plainPaint, program.Note: countPaint,
}

// operations are the one write of a class.
func operations(p *programpb.Program, c *programpb.Class) string {
	var parts []string
	for _, l := range c.GetLegs() {
		for _, op := range l.GetOps() {
			ink := opPaints[program.OpKindOf(op)].line
			parts = append(parts, fmt.Sprintf(`<font color=%q>%s</font>`, ink, escape(program.OpText(p, op))))
		}
	}
	if len(parts) == 0 {
		return " "
	}
	return strings.Join(parts, `<br align="left"/>`) + `<br align="left"/>`
}

func outcome(p *programpb.Program, segment int, g describe.Group, row int) string {
	var parts []string
	fill := plainPaint.fill
	for _, l := range g.Class.GetLegs() {
		parts = append(parts, escape(describe.Ends(p, l, describe.Left(program.Ends(p, segment, l), g.Held))))
		switch l.GetOutcome().(type) {
		case *programpb.Leg_Generator:
			fill = makePaint.fill
		case *programpb.Leg_StateReturn, *programpb.Leg_Track, *programpb.Leg_Bypass, *programpb.Leg_Assign:
			fill = statePaint.fill
		case *programpb.Leg_Segment:
			fill = readPaint.fill
		}
	}
	return fmt.Sprintf(`<td port="r%d" bgcolor=%q align="left">→ %s</td>`, row, fill, strings.Join(parts, "<br/>→ "))
}

// leg draws where a row's packets go; drops and answers end in the row.
func (d *drawing) leg(p *programpb.Program, segment, row int, l *programpb.Leg) {
	for _, op := range l.GetOps() {
		if table, asks, ok := tableOf(p, op); ok {
			direction := ""
			if asks {
				direction = ", dir=both"
			}
			d.line(`    s%d:r%d -> t%d [color=%q%s, style=dotted]`, segment, row, table, statePaint.line, direction)
		}
	}
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Output:
		d.line(`    s%d:r%d -> q_if%d`, segment, row, o.Output)
	case *programpb.Leg_Segment:
		d.line(`    s%d:r%d -> s%d:head [color=%q]`, segment, row, o.Segment, readPaint.line)
	case *programpb.Leg_StateReturn:
		d.line(`    s%d:r%d -> t%d [color=%q]`, segment, row, o.StateReturn, statePaint.line)
	case *programpb.Leg_Track:
		d.byFlow(segment, row, o.Track.GetTable(), l)
	case *programpb.Leg_Bypass:
		d.byFlow(segment, row, o.Bypass.GetTable(), l)
	case *programpb.Leg_Assign:
		for _, r := range o.Assign.GetReplicas() {
			d.line(`    s%d:r%d -> t%d [color=%q, dir=both, style=dotted]`, segment, row, r.GetTable(), statePaint.line)
			d.line(`    s%d:r%d -> s%d:head [color=%q]`, segment, row, r.GetSegment(), readPaint.line)
		}
	case *programpb.Leg_Stop:
		d.line(`    s%d:r%d -> q_if%d`, segment, row, o.Stop.GetOut())
		d.line(`    q_if%d -> s%d:head [color=%q]`, o.Stop.GetBack(), o.Stop.GetSegment(), readPaint.line)
	case *programpb.Leg_Tap:
		d.line(`    s%d:r%d -> q_if%d`, segment, row, o.Tap.GetOut())
	case *programpb.Leg_Drop, *programpb.Leg_Generator:
	}
}

// byFlow draws where a row's packets go as a table says of their flow.
func (d *drawing) byFlow(segment, row int, table uint32, l *programpb.Leg) {
	d.line(`    s%d:r%d -> t%d [color=%q, dir=both, style=dotted]`, segment, row, table, statePaint.line)
	seen := map[uint32]bool{}
	for _, to := range program.LeadsTo(l) {
		if !seen[to] {
			d.line(`    s%d:r%d -> s%d:head [color=%q]`, segment, row, to, readPaint.line)
		}
		seen[to] = true
	}
}

// tableOf is the state table of an operation, and whether the packet gets something of it.
func tableOf(p *programpb.Program, op *programpb.Op) (table uint32, asks, ok bool) {
	switch o := op.GetOp().(type) {
	case *programpb.Op_StateForward:
		return p.GetRuns()[o.StateForward].GetTable(), true, true
	case *programpb.Op_Balance:
		return o.Balance, true, true
	case *programpb.Op_BalanceBack:
		return o.BalanceBack, true, true
	case *programpb.Op_Meter:
		return o.Meter, true, true
	case *programpb.Op_Inspect:
		return o.Inspect.GetTable(), true, true
	case *programpb.Op_Connect:
		return o.Connect.GetTable(), true, true
	case *programpb.Op_Admit:
		return o.Admit.GetTable(), false, true
	case *programpb.Op_Passed:
		return o.Passed.GetTable(), false, true
	case *programpb.Op_Assigned:
		return o.Assigned.GetTable(), false, true
	}
	return 0, false, false
}

// wrap breaks text at the two spaces between a filter's fields.
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for _, part := range strings.Split(text, "  ") {
		if line != "" && len(line)+len(part) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += "  "
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}
