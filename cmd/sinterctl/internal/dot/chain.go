package dot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// chain draws every element where its function has it, both directions in one
// frame that has the chain's name: the first interface to the left, what lies behind it to the right.
func (d *drawing) chain(g *graph.Graph) {
	l := layOut(g)
	d.panel("chain", g.Chain, chainFacts(g))
	for i, n := range g.Interfaces {
		address := n.Prefix.String()
		if n.Wire {
			address = "wire"
		}
		d.iface("c", i, n.Name, address)
	}
	for _, f := range l.functions {
		d.line("    subgraph cluster_f_%s {", identifier(f))
		d.line(`      label=<<b>%s</b>>; labeljust=l; fontcolor="#334155"; style="rounded,filled"; color="#cbd5e1"; fillcolor="#f8fafc"; margin=12`, escape(f))
		for i, n := range g.Nodes {
			if n.Function == f && !isInput(n) {
				d.element(i, n)
			}
		}
		d.line("    }")
	}
	d.wires(g, l)
	d.legend()
	d.line("  }")
}

func chainFacts(g *graph.Graph) string {
	var reads, writes, state int
	for _, n := range g.Nodes {
		if n.Function == "" {
			continue
		}
		t := n.Element.Traits()
		reads += min(len(t.Reads), 1)
		writes += min(len(t.Writes), 1)
		if t.Stateful {
			state++
		}
	}
	return fmt.Sprintf("%s read the header, %d write it, %d keep state", describe.Count(reads, "element"), writes, state)
}

func (d *drawing) iface(prefix string, i int, name, address string) {
	d.line(`    %s_if%d [shape=box, style="filled,rounded", %s, fontcolor="#ffffff", margin="0.2,0.09", label=<<b>%s</b><br/><font point-size="9">%s</font>>]`,
		prefix, i, ifacePaint.attrs(), escape(name), escape(address))
}

func (d *drawing) element(i int, n graph.Node) {
	_, local, ok := strings.Cut(n.Name, "/")
	if !ok {
		local = n.Name
	}
	p, detail := look(n.Element)
	shape := ""
	if n.Element.Traits().Stateful {
		shape = ", peripheries=2"
	}
	label := "<b>" + escape(local) + "</b>"
	if detail != "" {
		label += `<br/><font point-size="8.5" color="#334155">` + escape(detail) + "</font>"
	}
	d.line("      n%d [%s%s, label=<%s>]", i, p.attrs(), shape, label)
}

// layout is where a chain's nodes go in its picture.
type layout struct {
	functions []string
	id        []string       // of each node; an interface's own elements are one
	depth     map[string]int // distance from the first interface, by any way
}

// isInput tells an interface's own node. A function has those of its wires.
func isInput(n graph.Node) bool {
	_, is := n.Element.(element.Input)
	return is
}

func layOut(g *graph.Graph) layout {
	l := layout{id: make([]string, len(g.Nodes)), depth: map[string]int{}}
	for i, n := range g.Nodes {
		if n.Function != "" && !isInput(n) {
			l.id[i] = fmt.Sprintf("n%d", i)
			if !slices.Contains(l.functions, n.Function) {
				l.functions = append(l.functions, n.Function)
			}
			continue
		}
		for k, f := range g.Interfaces {
			if strings.HasPrefix(n.Name, f.Name+"/") || k == 0 {
				l.id[i] = fmt.Sprintf("c_if%d", k)
			}
		}
	}
	l.measure(g)
	return l
}

// measure finds each node's distance from the interfaces to the left: the first, and those that
// are linked to functions of the same make as it is.
func (l layout) measure(g *graph.Graph) {
	next := map[string][]string{}
	functions := map[string]map[string]bool{} // interface → make of the functions linked to it
	kinds := makes(g)
	for i, n := range g.Nodes {
		if n.Element.Traits().Generates {
			continue
		}
		for _, e := range n.Out {
			if e.To < 0 || l.id[i] == l.id[e.To] {
				continue
			}
			a, b := l.id[i], l.id[e.To]
			next[a], next[b] = append(next[a], b), append(next[b], a)
			for end, other := range map[string]string{a: g.Nodes[e.To].Function, b: n.Function} {
				if functions[end] == nil {
					functions[end] = map[string]bool{}
				}
				functions[end][kinds[other]] = true
			}
		}
	}
	var queue []string
	for k := range g.Interfaces {
		id := fmt.Sprintf("c_if%d", k)
		if k == 0 || maps.Equal(functions[id], functions["c_if0"]) {
			l.depth[id] = 0
			queue = append(queue, id)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, n := range next[queue[0]] {
			if _, seen := l.depth[n]; !seen {
				l.depth[n] = l.depth[queue[0]] + 1
				queue = append(queue, n)
			}
		}
	}
}

// makes is what each function is built from.
func makes(g *graph.Graph) map[string]string {
	out := map[string]string{}
	for _, n := range g.Nodes {
		out[n.Function] += n.Element.Kind() + " "
	}
	return out
}

// wires draws the edges. Those that lead back towards the first interface are told to
// Graphviz the other way round, so that both directions share one order of ranks.
func (d *drawing) wires(g *graph.Graph, l layout) {
	for i, n := range g.Nodes {
		var order []string
		ports := map[string][]int{}
		for port, e := range n.Out {
			if e.To < 0 || l.id[e.To] == l.id[i] {
				continue
			}
			to := l.id[e.To]
			if ports[to] == nil {
				order = append(order, to)
			}
			ports[to] = append(ports[to], port)
		}
		for _, to := range order {
			label := ""
			if n.Function != "" { // an interface's own are not drawn
				label = edgeLabel(n.Element, ports[to])
			}
			d.wire(l, l.id[i], to, edgeStyle(n.Element, to, g, l), label)
		}
		for k, f := range g.Interfaces {
			if slices.Contains(wiresOf(n.Element), f.Name) {
				d.wire(l, l.id[i], fmt.Sprintf("c_if%d", k), "", "")
			}
		}
	}
}

// wiresOf are the interfaces by which packets leave an element for functions outside of the chain.
func wiresOf(e element.Element) []string {
	switch of := e.(type) {
	case element.Stop:
		return of.Interfaces[:]
	case element.Tap:
		return []string{of.Interface}
	}
	return nil
}

func (d *drawing) wire(l layout, from, to, style, label string) {
	back := l.depth[from] > l.depth[to]
	if back {
		from, to = to, from
		style += ", dir=back"
	}
	if label != "" {
		style += fmt.Sprintf(`, label=" %s "`, label)
	}
	d.line("    %s -> %s [%s]", from, to, strings.TrimPrefix(style, ", "))
}

func edgeStyle(e element.Element, to string, g *graph.Graph, l layout) string {
	if e.Traits().Generates {
		return fmt.Sprintf(", style=dashed, color=%q, constraint=false", makePaint.line)
	}
	for i, n := range g.Nodes {
		if _, ok := n.Element.(element.Discard); ok && n.Function != "" && l.id[i] == to { // an interface's own is no drop of what it sends
			return fmt.Sprintf(", color=%q", dropPaint.line)
		}
	}
	return ""
}

// edgeLabel says what leaves by the ports.
func edgeLabel(e element.Element, ports []int) string {
	switch e := e.(type) {
	case element.Lookup:
		return lookupLabel(e, ports)
	case element.Classifier:
		var rules int
		for _, r := range e.Rules {
			if slices.Contains(ports, r.Out) {
				rules++
			}
		}
		switch {
		case slices.Contains(ports, e.Default) && rules > 0:
			return describe.Count(rules, "rule") + ", default"
		case slices.Contains(ports, e.Default):
			return "default"
		}
		return describe.Count(rules, "rule")
	}
	return ""
}

func lookupLabel(e element.Lookup, ports []int) string {
	var prefixes []string
	for r := range e.All() {
		if slices.Contains(ports, r.Out) {
			prefixes = append(prefixes, r.Prefix.String())
		}
	}
	switch {
	case len(prefixes) == 0:
		return "no route"
	case len(prefixes) > 2:
		return describe.Count(len(prefixes), "route")
	}
	return strings.Join(prefixes, `\n`)
}

// identifier makes a name fit for a Graphviz cluster.
func identifier(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
