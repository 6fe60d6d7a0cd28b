package dot

import (
	"fmt"
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

// look is an element's colour and the line below its name.
func look(e element.Element) (p paint, detail string) {
	switch e := e.(type) {
	case element.Classifier:
		return readPaint, describe.Count(len(e.Rules), "rule")
	case element.Lookup:
		return readPaint, describe.Count(len(e.Routes), "route")
	case element.CheckIPHeader:
		return readPaint, "header checksum"
	case element.DecTTL:
		return writePaint, "ttl −1"
	case element.SetField:
		return writePaint, fmt.Sprintf("%s := %s", e.Field, headerspace.Single(e.Value).Format(e.Field))
	case element.NAPT:
		return statePaint, napt(e)
	case element.ICMPError:
		return makePaint, fmt.Sprintf("type %d code %d", e.Type, e.Code)
	case element.EchoResponder:
		return makePaint, "echo reply"
	case element.LocalHost:
		return makePaint, "echo reply, unreachable or reset"
	case element.Reject:
		return makePaint, "reset or prohibited"
	case element.Discard:
		return dropPaint, e.Reason
	case element.Counter:
		return countPaint, ""
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
