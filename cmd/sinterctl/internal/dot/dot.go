// Package dot draws chains and programs in the language of Graphviz.
package dot

import (
	"fmt"
	"io"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// SideBySide draws a chain as it was written and, beside it, the program that
// was synthesized of it. What has the same colour does the same kind of work.
func SideBySide(w io.Writer, g *graph.Graph, p *programpb.Program) error {
	d := &drawing{}
	d.open(g.Chain)
	d.chain(g)
	d.program(p)
	d.line("  c_if%d -> p_if0 [style=invis, minlen=2]", len(g.Interfaces)-1) // beside, not below
	d.line("}")
	_, err := io.WriteString(w, d.String())
	return err
}

// drawing is the text of a picture as it grows.
type drawing struct{ strings.Builder }

func (d *drawing) line(format string, args ...any) {
	fmt.Fprintf(d, format+"\n", args...)
}

func (d *drawing) open(name string) {
	d.line("digraph %q {", name)
	d.line(`  graph [rankdir=LR, compound=true, nodesep=0.22, ranksep=0.6, pad=0.3, bgcolor="#ffffff", fontname=%q, fontsize=12]`, font)
	d.line(`  node [shape=box, style="filled,rounded", penwidth=1.2, margin="0.12,0.06", fontname=%q, fontsize=10, fontcolor=%q]`, font, ink)
	d.line(`  edge [color="#64748b", arrowsize=0.7, penwidth=1.1, fontname=%q, fontsize=8, fontcolor="#475569"]`, font)
}

// panel opens one half of the picture.
func (d *drawing) panel(id, title, subtitle string) {
	d.line("  subgraph cluster_%s {", id)
	d.line(`    label=<<font point-size="17" color=%q><b>%s</b></font><br/><font point-size="11" color="#475569">%s</font>>; labelloc=t; style="rounded,filled"; color="#e2e8f0"; fillcolor="#ffffff"; margin=18`, ink, escape(title), escape(subtitle))
}

// escape makes text safe within Graphviz's HTML labels.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace
