package click

import "slices"

// Keyword splits an argument "KEYWORD value"; ok is false if it has not that form.
func Keyword(text string) (key, value string, ok bool) {
	n := 0
	for n < len(text) && (text[n] >= 'A' && text[n] <= 'Z' || text[n] == '_' || n > 0 && isDigit(text[n])) {
		n++
	}
	if n == 0 || n < len(text) && !isSpace(text[n]) {
		return "", "", false
	}
	for i := n; i < len(text); i++ {
		if !isSpace(text[i]) {
			return text[:n], text[i:], true
		}
	}
	return text[:n], "", true
}

// side is where packets leave a list of a connection, or come to one.
type side struct{ node, port int }

// connection makes the edges of a connection: from each list to the next.
func (x *expander) connection(s *inner, chain []link) {
	var before []side
	for i := range chain {
		l := &chain[i]
		var ins, outs []side
		for k := range l.ends {
			in, out, ok := x.ports(s, &l.ends[k], chain, i)
			if !ok || x.stopped {
				return
			}
			ins, outs = append(ins, in...), append(outs, out...)
		}
		if i > 0 {
			x.join(&chain[i-1], l, before, ins)
		}
		before = outs
	}
}

// ports are the inputs and outputs of an element that a connection uses.
func (x *expander) ports(s *inner, e *listed, chain []link, i int) (ins, outs []side, ok bool) {
	first, last := i == 0, i == len(chain)-1
	var in, out int
	given := e.in
	switch {
	case e.group != nil:
		in, out = x.makeGroup(s, e)
		e = x.countGroup(e, in, out)
		given = e.in
	case e.name == "" && e.class == nil:
		if s.input < 0 || first == last {
			x.fail(e.pos, "", "the name of an element is missing")
			return nil, nil, false
		}
		if first { // "[1] ->" is the compound element's input
			return nil, sides(s.input, e.in), true
		}
		return sides(s.output, e.in), nil, true
	default:
		n, found := x.resolve(s, e)
		if !found {
			return nil, nil, false
		}
		in, out = x.nodes[n].in, x.nodes[n].out
		switch n { // within, one puts packets to the output side, and takes them from the input side
		case s.input:
			in, out = -1, s.input
		case s.output:
			in, out = s.output, -1
		}
	}
	if !first {
		if in < 0 {
			x.fail(e.pos, "input", "nothing can be connected to a compound element's input from within; use output")
			return nil, nil, false
		}
		ins = sides(in, given)
	}
	if !last {
		if out < 0 {
			x.fail(e.pos, "output", "nothing comes out of a compound element's output within it; use input")
			return nil, nil, false
		}
		outs = sides(out, e.out)
	}
	return ins, outs, true
}

// unsaid is the port of a side whose number was not given: 0, or all where a "=>" counts them.
const unsaid = -1

func sides(n int, ports []portNumber) (out []side) {
	if ports == nil {
		return []side{{n, unsaid}}
	}
	for _, p := range ports {
		out = append(out, side{n, p.n})
	}
	return out
}

// makeGroup expands an element group. Its elements are the scope's, its sides its own.
func (x *expander) makeGroup(s *inner, e *listed) (in, out int) {
	n := len(x.nodes)
	x.nodes = append(x.nodes, node{name: s.prefix + "(group)", element: -1, in: n, out: n + 1, pos: e.pos},
		node{name: s.prefix + "(group)", element: -1, in: n, out: n + 1, pos: e.pos})
	g := *s
	g.input, g.output, g.depth = n, n+1, s.depth+1
	if n > maxElements || g.depth > maxDepth {
		x.stop(e.pos, "element groups are too many, or nested more than %d deep", maxDepth)
		return n, n + 1
	}
	x.group(&g, e.group)
	return n, n + 1
}

// countGroup gives a group whose ports were not listed all that are used within it.
func (x *expander) countGroup(e *listed, in, out int) *listed {
	ins, outs := 1, 1
	for _, k := range x.edges {
		if k.from == in {
			ins = max(ins, k.fromPort+1)
		}
		if k.to == out {
			outs = max(outs, k.toPort+1)
		}
	}
	all := func(n int) (ports []portNumber) {
		for i := range n {
			ports = append(ports, portNumber{i, e.pos})
		}
		return ports
	}
	counted := *e
	if counted.in == nil {
		counted.in = all(ins)
	}
	if counted.out == nil {
		counted.out = all(outs)
	}
	return &counted
}

// join makes the edges between two lists.
func (x *expander) join(from, to *link, outs, ins []side) {
	many := from.to == doubleArrow
	if many {
		outs, ins = counted(outs, len(ins)), counted(ins, len(outs))
		if len(outs) != len(ins) {
			x.fail(to.pos, "=>", "%d outputs cannot be connected to %d inputs one by one; list as many on both sides", len(outs), len(ins))
			return
		}
	} else if len(outs) > 1 && len(ins) > 1 {
		x.fail(to.pos, "->", "connects several outputs to several inputs; write => to connect them one by one")
		return
	}
	for i, o := range outs {
		for k, n := range ins {
			if many && i != k {
				continue
			}
			if len(x.edges) >= maxConnections {
				x.stop(to.pos, "the configuration has more than %d connections", maxConnections)
				return
			}
			x.edges = append(x.edges, edge{o.node, max(o.port, 0), n.node, max(n.port, 0), from.pos})
		}
	}
}

// counted gives a single side without a port the ports from 0 on.
func counted(s []side, n int) []side {
	if len(s) != 1 || s[0].port != unsaid {
		return s
	}
	out := make([]side, n)
	for i := range out {
		out[i] = side{s[0].node, i}
	}
	return out
}

// connect makes connections between elements of the edges: those by way of compound elements' sides are put together.
func (x *expander) connect() {
	next := map[side][]edge{}
	into := map[side]int{}
	for _, e := range x.edges {
		from := side{e.from, e.fromPort}
		if !slices.ContainsFunc(next[from], func(o edge) bool { return o.to == e.to && o.toPort == e.toPort }) {
			next[from] = append(next[from], e)
			into[side{e.to, e.toPort}]++
		}
	}
	x.checkSides(next, into)
	for _, e := range x.edges {
		n := &x.nodes[e.from]
		if n.element < 0 {
			continue
		}
		x.through(next, e, n.element, e, map[side]bool{})
	}
}

// through follows an edge to the elements that it leads to.
func (x *expander) through(next map[side][]edge, e edge, from int, origin edge, seen map[side]bool) {
	at := side{e.to, e.toPort}
	if x.stopped || seen[at] {
		return
	}
	if n := &x.nodes[e.to]; n.element >= 0 {
		c := Connection{from, origin.fromPort, n.element, e.toPort, origin.pos}
		key := edge{from, c.FromPort, c.To, c.ToPort, Pos{}}
		if !x.connected[key] {
			if len(x.config.Connections) >= maxConnections {
				x.stop(origin.pos, "the configuration has more than %d connections", maxConnections)
				return
			}
			x.config.Connections = append(x.config.Connections, c)
			x.connected[key] = true
		}
		return
	}
	seen[at] = true
	for _, further := range next[at] {
		x.through(next, further, from, origin, seen)
	}
}

// checkSides finds ports of compound elements that are used on one side only.
func (x *expander) checkSides(next map[side][]edge, into map[side]int) {
	for i := range x.nodes {
		n := &x.nodes[i]
		if n.element >= 0 {
			continue
		}
		what := "input"
		if i == n.out {
			what = "output"
		}
		for port := range maxPort + 1 {
			at := side{i, port}
			fed, used := into[at] > 0, len(next[at]) > 0
			switch {
			case fed && !used && what == "input":
				x.fail(n.pos, n.name, "has no input %d, and something is connected to it; use input[%d] within it", port, port)
			case used && !fed && what == "output":
				x.fail(n.pos, n.name, "has no output %d, and something is connected to it; use output[%d] within it", port, port)
			}
		}
	}
}
