package click

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
)

// Bounds of what a text may expand to.
const (
	maxElements    = 4096
	maxConnections = 16384
	// maxArguments and maxExpanded are the most bytes of arguments with parameters substituted, of one element and of all.
	maxArguments = 1 << 17
	maxExpanded  = 1 << 22
	// maxClasses is the most element classes of one's own in a scope.
	maxClasses = 256
)

// expander takes abstractions out of a configuration.
type expander struct {
	problems problems
	config   Config
	// nodes are elements, and the inputs and outputs of compound elements, which have no element.
	nodes []node
	edges []edge
	// connected are the connections that were made.
	connected map[edge]bool
	names     map[string]Pos
	// anonymous counts elements without a name.
	anonymous int
	expanded  int
	stopped   bool
}

// node is an element, or a side of a compound element: "input" or "output".
type node struct {
	name    string
	element int // index among the configuration's; -1: a side
	// in and out are the nodes that packets come to, and from which they come: of an element itself, of a compound element its sides.
	in, out int
	pos     Pos
}

type edge struct {
	from, fromPort, to, toPort int
	pos                        Pos
}

// inner is a scope that is expanded.
type inner struct {
	*scope
	prefix string
	outer  *inner
	params map[string]string
	// names are the nodes of this scope's elements, by name.
	names map[string]int
	// classes are those that elementclass statements so far made.
	classes map[string]definition
	// input and output are the nodes of the compound element's sides; -1: there are none.
	input, output int
	depth         int
}

// definition is a class of one's own, and the scope that it was written in.
type definition struct {
	class
	in *inner
	// before are the classes that were known there.
	before map[string]definition
}

func (x *expander) fail(at Pos, value, format string, args ...any) {
	if !x.stopped {
		x.problems.fail(at, value, format, args...)
	}
}

func (x *expander) stop(at Pos, format string, args ...any) {
	x.fail(at, "", format, args...)
	x.stopped = true
}

func (x *expander) expand(top *scope) {
	x.names, x.connected = map[string]Pos{}, map[edge]bool{}
	x.run(&inner{scope: top, params: map[string]string{}, input: -1, output: -1})
	if !x.stopped {
		x.connect()
	}
}

// run expands a scope: names first, so that connections may use those that are declared below them.
func (x *expander) run(s *inner) {
	s.names, s.classes = map[string]int{}, map[string]definition{}
	x.group(s, s.scope)
}

func (x *expander) group(s *inner, of *scope) {
	for i := range of.statements {
		st := &of.statements[i]
		switch {
		case st.define != nil:
			x.define(s, st.define)
		case st.class != nil:
			x.elementclass(s, st.class)
		}
		for k := range st.connect {
			for n := range st.connect[k].ends {
				if e := &st.connect[k].ends[n]; e.class != nil && e.name != "" {
					x.declare(s, e)
				}
			}
		}
	}
	for i := range of.statements {
		x.connection(s, of.statements[i].connect)
	}
}

// define sets parameters: "define($a 1, $b 2)".
func (x *expander) define(s *inner, args []rich) {
	for _, a := range args {
		name, value, _ := strings.Cut(a.s, " ")
		if i := strings.IndexAny(a.s, "\t\n\r "); i >= 0 {
			name, value = a.s[:i], strings.TrimSpace(a.s[i:])
		}
		if bare, ok := strings.CutPrefix(name, "$"); !ok || bare == "" || nameLen(bare) != len(bare) {
			x.fail(a.at(0), name, "not a parameter; write define($name value)")
			continue
		}
		r, unknown, ok := literal(value, a.at(len(name))).substituted(s.lookup, maxArguments)
		switch {
		case !ok:
			x.stop(a.at(0), "the value gets longer than %d bytes", maxArguments)
		case unknown != "":
			x.fail(a.at(0), "$"+unknown, "no parameter of this name is defined here; write define($%s value) before", unknown)
		default:
			s.params[name[1:]] = r.s
		}
	}
}

// lookup finds what a parameter stands for.
func (s *inner) lookup(name string) (string, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.params[name]; ok {
			return v, true
		}
	}
	return "", false
}

func (s *inner) class(name string) (definition, bool) {
	for ; s != nil; s = s.outer {
		if d, ok := s.classes[name]; ok {
			return d, true
		}
	}
	return definition{}, false
}

// elementclass names a class. One of the same name from before is known within it, and hidden behind it.
func (x *expander) elementclass(s *inner, st *classStatement) {
	if len(s.classes) >= maxClasses {
		x.stop(st.pos, "more than %d element classes; use fewer", maxClasses)
		return
	}
	before := map[string]definition{}
	for k, d := range s.classes {
		before[k] = d
	}
	s.classes[st.name] = definition{st.of, s, before}
}

// declare makes the element of a declaration.
func (x *expander) declare(s *inner, e *listed) {
	if at, ok := s.names[e.name]; ok {
		x.fail(e.pos, e.name, "the name is taken by the element of line %d; elements need names of their own", x.nodes[at].pos.Line)
		return
	}
	if e.name == "input" || e.name == "output" {
		x.fail(e.pos, e.name, "is the name of a compound element's side; give the element another one")
		return
	}
	s.names[e.name] = x.make(s, e.name, *e.class, e.config, e.pos)
}

// make makes an element, or what a compound element expands to, and tells its node.
func (x *expander) make(s *inner, name string, c class, config *rich, at Pos) int {
	full := s.prefix + name
	if first, taken := x.names[full]; taken {
		x.fail(at, full, "the name is taken by the element of line %d; elements need names of their own", first.Line)
	}
	x.names[full] = at
	if len(x.nodes) >= maxElements {
		x.stop(at, "the configuration expands to more than %d elements; use fewer, or compound elements within fewer others", maxElements)
	}
	args, undefined := x.arguments(s, config, at)
	def := definition{class: c, in: s}
	for depth := 0; def.compound == nil && !x.stopped; depth++ {
		d, ok := find(def, def.name)
		if !ok {
			break
		}
		if depth > maxDepth {
			x.stop(at, "element classes are synonyms of each other in a circle; name one that exists")
		}
		def = d
	}
	n := len(x.nodes)
	if def.compound == nil {
		x.nodes = append(x.nodes, node{name: full, element: len(x.config.Elements), in: n, out: n, pos: at})
		x.config.Elements = append(x.config.Elements, Element{Name: full, Class: def.name, Args: args, Pos: at, Undefined: undefined})
		return n
	}
	x.nodes = append(x.nodes,
		node{name: full, element: -1, in: n, out: n + 1, pos: at}, node{name: full, element: -1, in: n, out: n + 1, pos: at})
	if s.depth >= maxDepth {
		x.stop(at, "compound elements are nested more than %d deep", maxDepth)
	}
	if x.stopped {
		return n
	}
	outer := *def.in // with the classes that were known where it was written
	if def.before != nil {
		outer.classes = def.before
	}
	in := &inner{scope: def.compound, prefix: full + "/", outer: &outer, input: n, output: n + 1, depth: s.depth + 1}
	if in.params = x.bind(def.compound, args, full, at); in.params != nil {
		x.run(in)
	}
	return n
}

// find is what a name means where a class was written.
func find(d definition, name string) (definition, bool) {
	if d.before != nil {
		if of, ok := d.before[name]; ok {
			return of, true
		}
		return d.in.outer.class(name)
	}
	return d.in.class(name)
}

// arguments are those of a configuration, with the parameters of the scope substituted.
func (x *expander) arguments(s *inner, config *rich, at Pos) (args []Arg, undefined string) {
	if config == nil || x.stopped {
		return nil, ""
	}
	r, unknown, ok := config.substituted(s.lookup, maxArguments)
	if x.expanded += len(r.s); !ok || x.expanded > maxExpanded {
		x.stop(at, "the arguments get longer than %d bytes of an element, or %d of all", maxArguments, maxExpanded)
		return nil, ""
	}
	for _, a := range r.arguments() {
		args = append(args, Arg{Text: a.s, Pos: a.at(0), text: a})
	}
	if unknown != "" {
		undefined = "$" + unknown
	}
	return args, undefined
}

// bind gives the parameters of a compound element their values; nil if they do not fit.
func (x *expander) bind(c *scope, args []Arg, name string, at Pos) map[string]string {
	out := map[string]string{}
	used := make([]bool, len(args))
	positional := 0
	for _, p := range c.params {
		switch p.keyword {
		case rest:
			var texts []string
			for i, a := range args {
				if !used[i] {
					texts = append(texts, a.Text)
					used[i] = true
				}
			}
			out[p.name] = strings.Join(texts, ", ")
			continue
		case "":
			for positional < len(args) && used[positional] {
				positional++
			}
			if positional < len(args) {
				out[p.name], used[positional] = args[positional].Text, true
				continue
			}
			x.fail(at, name, "needs %d arguments for %s, has %d", len(c.params), c.describe(), len(args))
			return nil
		}
		found := false
		for i, a := range args {
			if key, value, ok := Keyword(a.Text); ok && key == p.keyword && !used[i] {
				out[p.name], used[i], found = value, true, true
			}
		}
		if !found {
			x.fail(at, name, "has no argument %s; write %s and its value", p.keyword, p.keyword)
			return nil
		}
	}
	for i, u := range used {
		if !u {
			x.fail(args[i].Pos, args[i].Text, "%s takes no such argument; its parameters are %s", name, c.describe())
			return nil
		}
	}
	return out
}

// describe lists the parameters.
func (c *scope) describe() string {
	var out []string
	for _, p := range c.params {
		out = append(out, strings.TrimSpace(p.keyword+" $"+p.name))
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// resolve is the node of an element in a connection.
func (x *expander) resolve(s *inner, e *listed) (int, bool) {
	switch {
	case e.class != nil && e.name == "":
		x.anonymous++
		return x.make(s, fmt.Sprintf("@%d", x.anonymous), *e.class, e.config, e.pos), true
	case (e.name == "input" || e.name == "output") && s.input < 0:
		x.fail(e.pos, e.name, "is the side of a compound element, and this is none; name a device: FromDevice(name) or ToDevice(name)")
		return 0, false
	case e.name == "input":
		return s.input, true
	case e.name == "output":
		return s.output, true
	}
	if n, ok := s.names[e.name]; ok {
		if e.config != nil && e.class == nil {
			x.fail(e.pos, e.name, "is an element, and has its arguments where it is declared; leave them out here")
		}
		return n, true
	}
	if _, own := s.class(e.name); !own && e.config == nil && !looksLikeClass(e.name) {
		var known []string
		for name := range s.names {
			known = append(known, name)
		}
		x.fail(e.pos, e.name, "no element of this name is declared here%s", finding.DidYouMean(e.name, known))
		return 0, false
	}
	x.anonymous++
	return x.make(s, fmt.Sprintf("%s@%d", e.name, x.anonymous), class{name: e.name, pos: e.pos}, e.config, e.pos), true
}

// looksLikeClass tells whether a word may be the name of an element class: those begin with a capital.
func looksLikeClass(s string) bool { return s[0] >= 'A' && s[0] <= 'Z' }
