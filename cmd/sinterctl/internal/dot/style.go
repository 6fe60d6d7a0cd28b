package dot

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

const (
	font = "DejaVu Sans"
	ink  = "#0f172a"
)

// paint is how one kind of work looks.
type paint struct{ fill, line string }

var (
	readPaint  = paint{"#dbeafe", "#2563eb"} // reads the header
	writePaint = paint{"#ffedd5", "#ea580c"} // writes the header
	statePaint = paint{"#ede9fe", "#7c3aed"} // keeps state
	makePaint  = paint{"#dcfce7", "#16a34a"} // makes packets
	dropPaint  = paint{"#fee2e2", "#dc2626"}
	countPaint = paint{"#ccfbf1", "#0d9488"}
	plainPaint = paint{"#f1f5f9", "#64748b"}
	ifacePaint = paint{"#1e293b", "#0f172a"}
)

// looks are how elements look, by type.
var looks = map[reflect.Type]func(element.Element) (paint, string){}

// draw gives a type of elements its colour and the line below its name.
func draw[E element.Element](p paint, detail func(E) string) {
	looks[reflect.TypeFor[E]()] = func(e element.Element) (paint, string) { return p, detail(e.(E)) }
}

func init() {
	draw(readPaint, func(e element.Classifier) string { return describe.Count(len(e.Rules), "rule") })
	draw(readPaint, func(e element.Lookup) string { return describe.Count(e.Len(), "route") })
	draw(readPaint, func(element.CheckIPHeader) string { return "header checksum" })
	draw(readPaint, func(e element.TTLGuard) string { return fmt.Sprintf("ttl ≥ %d", e.Min) })
	draw(writePaint, func(element.DecTTL) string { return "ttl −1" })
	draw(writePaint, func(e element.SetField) string {
		return fmt.Sprintf("%s := %s", e.Field, headerspace.Single(e.Value).Format(e.Field))
	})
	draw(writePaint, func(e element.StaticNAT) string { return describe.Count(len(e.Mappings), "fixed translation") })
	draw(statePaint, func(e element.NAPT) string { return napt(e) })
	draw(statePaint, func(e element.Meter) string { return meter(e) })
	draw(statePaint, func(e element.ConnLimit) string {
		return fmt.Sprintf("%s per /%d", describe.Count(e.PerHost.MaxSessions, "connection"), e.PerHost.PrefixLen)
	})
	draw(statePaint, func(element.Assign) string { return "to the flow's replica" })
	draw(statePaint, func(e element.Assigned) string { return e.Flows.Table })
	draw(statePaint, func(e element.Bypass) string { return "past after " + describe.Count(e.Packets, "packet") })
	draw(statePaint, func(e element.Inspect) string { return describe.Count(len(e.Rules), "rule") })
	draw(makePaint, func(e element.ICMPError) string { return fmt.Sprintf("type %d code %d", e.Type, e.Code) })
	draw(makePaint, func(element.EchoResponder) string { return "echo reply" })
	draw(makePaint, func(element.LocalHost) string { return "echo reply, unreachable or reset" })
	draw(makePaint, func(element.Reject) string { return "reset or prohibited" })
	draw(dropPaint, func(e element.Discard) string { return "drop: " + e.Reason })
	draw(countPaint, func(element.Counter) string { return "" })
	draw(countPaint, func(e element.Observe) string { return e.Lists() })
}

// look is an element's colour and the line below its name. One that says nothing here has the colour of what it does.
func look(e element.Element) (p paint, detail string) {
	if l, ok := looks[reflect.TypeOf(e)]; ok {
		return l(e)
	}
	switch t := e.Traits(); {
	case t.Generates:
		return makePaint, ""
	case t.Stateful:
		return statePaint, ""
	case len(t.Writes) > 0:
		return writePaint, ""
	case len(t.Reads) > 0:
		return readPaint, ""
	}
	return plainPaint, ""
}

func napt(e element.NAPT) string {
	if len(e.Pool) == 0 {
		return ""
	}
	s := e.Pool[0].String()
	if n := len(e.Pool); n > 1 {
		s += "–" + e.Pool[n-1].String()
	}
	return fmt.Sprintf("%s : %d–%d", s, e.PortMin, e.PortMax)
}

// short is a number with the largest prefix that leaves it whole: 10 M.
func short(n uint64) string {
	prefix := ""
	for _, p := range []string{"k", "M", "G"} {
		if n%1000 != 0 || n == 0 {
			break
		}
		n, prefix = n/1000, p
	}
	return fmt.Sprint(n, " ", prefix)
}

func meter(e element.Meter) string {
	unit := "bit/s"
	if e.Packets {
		unit = "pps"
	}
	s := short(e.Rate) + unit
	if u := e.Subscribers; u.PrefixLen > 0 {
		s += fmt.Sprintf(" per %s/%d", u.Field(), u.PrefixLen)
	}
	return s
}

func (p paint) attrs() string { return fmt.Sprintf("fillcolor=%q, color=%q", p.fill, p.line) }

// legend explains the colours in one row.
func (d *drawing) legend() {
	var cells strings.Builder
	for _, l := range []struct {
		p    paint
		text string
	}{
		{readPaint, "reads the header"},
		{writePaint, "writes the header"},
		{statePaint, "keeps state"},
		{makePaint, "makes a packet"},
		{dropPaint, "drops"},
		{countPaint, "counts"},
	} {
		fmt.Fprintf(&cells, `<td bgcolor=%q color=%q border="1"> %s </td>`, l.p.fill, l.p.line, l.text)
	}
	d.line(`    legend [shape=plain, style="", label=<<table border="0" cellborder="0" cellspacing="5" cellpadding="3"><tr>%s</tr></table>>]`, cells.String())
}
