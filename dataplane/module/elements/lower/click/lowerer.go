package click

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// port is an output or input of one of Click's elements.
type port struct{ element, port int }

// place is an input of an element, and what is known of packets there.
type place struct {
	port
	state
}

// target is where packets go: the end of a link between elements of ours.
type target string

type lowerer struct {
	f      *Function
	config *click.Config
	// outs are the connections of an output; ins and nouts the numbers of an element's inputs and outputs that are connected.
	outs        map[port][]click.Connection
	ins, nouts  []int
	classes     []*class
	configs     []any
	devices     []device
	patterns    map[string]rewritePattern
	rewriters   []*translation
	readsPaint  []bool
	fixesSource []bool
	memo        map[place]target
	// open are places on the way to the one at hand, which have no element of ours yet.
	open map[place]bool
	// ends are elements of ours that drop all packets.
	ends    map[target]bool
	said    map[saying]bool
	stopped bool
}

// saying is a problem that is said once.
type saying struct {
	element int
	what    string
}

// say tells a problem. What is said of the elements of one compound element is said once.
func (l *lowerer) say(p click.Problem) {
	same := func(o click.Problem) bool { return o.Pos == p.Pos && o.Value == p.Value && o.Message == p.Message }
	if len(l.f.Problems) < maxProblems && !slices.ContainsFunc(l.f.Problems, same) {
		l.f.Problems = append(l.f.Problems, p)
	}
}

// fail says what is wrong with an element.
func (l *lowerer) fail(el int, at click.Pos, value, format string, args ...any) {
	e := &l.config.Elements[el]
	l.say(click.Problem{Pos: at, Element: e.String(), Value: value, Message: fmt.Sprintf(format, args...)})
}

// failOnce says what is wrong at an element, once for all packets that get there.
func (l *lowerer) failOnce(el int, warning bool, format string, args ...any) {
	e := &l.config.Elements[el]
	message := fmt.Sprintf(format, args...)
	if key := (saying{el, message}); !l.said[key] {
		l.said[key] = true
		l.say(click.Problem{Pos: e.Pos, Warning: warning, Element: e.String(), Message: message})
	}
}

// connect finds what outputs are connected to.
func (l *lowerer) connect() {
	n := len(l.config.Elements)
	l.ins, l.nouts = make([]int, n), make([]int, n)
	for _, c := range l.config.Connections {
		from := port{c.From, c.FromPort}
		l.outs[from] = append(l.outs[from], c)
		l.nouts[c.From] = max(l.nouts[c.From], c.FromPort+1)
		l.ins[c.To] = max(l.ins[c.To], c.ToPort+1)
	}
}

// configure reads the arguments of all elements, also of those that no packet gets to.
func (l *lowerer) configure() {
	n := len(l.config.Elements)
	l.classes, l.configs = make([]*class, n), make([]any, n)
	l.readInformation()
	for i := range l.config.Elements {
		e := &l.config.Elements[i]
		c := classes[e.Class]
		switch {
		case c == nil && refused[e.Class] != "":
			l.fail(i, e.Pos, e.Class, "%s", refused[e.Class])
			continue
		case c == nil:
			l.fail(i, e.Pos, e.Class, "no element class of this name is known%s", finding.DidYouMean(e.Class, known()))
			continue
		case e.Undefined != "" && !c.ignores:
			l.fail(i, e.Pos, e.Undefined, "no parameter of this name is defined; write define(%s value)", e.Undefined)
			continue
		}
		l.classes[i] = c
		if !c.ignores {
			l.checkPorts(i, c)
			r := newReader(l, i)
			l.configs[i] = c.configure(r)
			r.done()
		}
	}
	l.readsPaint = l.reaches(func(c *class) bool { return c.paint })
	l.fixesSource = l.reaches(func(c *class) bool { return c.fixes })
}

// checkPorts compares the connections of an element with the ports that its class has, as Click writes them: "1/1-2".
func (l *lowerer) checkPorts(el int, c *class) {
	e := &l.config.Elements[el]
	ins, outs, _ := strings.Cut(c.ports, "/")
	check := func(spec string, has int, what string) {
		least, most := portRange(spec)
		switch {
		case has > most && most == 0:
			l.fail(el, e.Pos, "", "has no %ss, and one is connected", what)
		case has > most:
			l.fail(el, e.Pos, "", "has %s, and %s %d is connected", count(most, what), what, has-1)
		case has < least && what == "output":
			l.fail(el, e.Pos, "", "has an output %d, which is not connected; connect it, to Discard if its packets are to be dropped", has)
		case has < least:
			l.fail(el, e.Pos, "", "has an input %d, to which nothing is connected; connect an element to it, or Idle, or take the element out", has)
		}
	}
	check(ins, l.ins[el], "input")
	check(outs, l.nouts[el], "output")
	for p := range l.nouts[el] {
		to := l.outs[port{el, p}]
		if len(to) == 0 {
			l.fail(el, e.Pos, fmt.Sprintf("[%d]", p), "the output is not connected, and one with a higher number is; connect it, to Discard if its packets are to be dropped")
		}
		if len(to) > 1 {
			l.fail(el, to[1].Pos, fmt.Sprintf("[%d]", p), "the output is connected twice, first in line %d; use Tee to copy packets", to[0].Pos.Line)
		}
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// portRange reads "1", "1-2", "1-" or "-".
func portRange(s string) (least, most int) {
	const any = 1 << 20
	low, high, ranged := strings.Cut(s, "-")
	fmt.Sscan(low, &least) //nolint:errcheck // empty: 0
	most = least
	if ranged {
		most = any
		fmt.Sscan(high, &most) //nolint:errcheck // empty: any number
	}
	return least, most
}

// reaches tells of each element whether packets may get from it to one of a class for which is holds.
func (l *lowerer) reaches(is func(*class) bool) []bool {
	back := make([][]int, len(l.config.Elements))
	for _, c := range l.config.Connections {
		back[c.To] = append(back[c.To], c.From)
	}
	out := make([]bool, len(l.config.Elements))
	var todo []int
	for i, c := range l.classes {
		if c != nil && is(c) {
			out[i] = true
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range back[i] {
			if !out[from] {
				out[from] = true
				todo = append(todo, from)
			}
		}
	}
	return out
}

// walk follows packets from the devices on.
func (l *lowerer) walk() {
	l.groupRewriters()
	if l.f.HasErrors() {
		return
	}
	l.f.Ports, l.f.Devices = l.ports()
	for _, p := range l.f.Ports {
		l.f.Spec.Ports = append(l.f.Spec.Ports, v1alpha1.Name(p))
	}
	for i, name := range l.f.Ports {
		var first target
		for _, d := range l.devices {
			if d.sends || d.port != name {
				continue
			}
			t := l.enter(port{d.element, 0}, fresh())
			switch {
			case first == "":
				first = t
				l.link(target(name), t)
			case first != t:
				l.failOnce(d.element, false, "takes packets from %s, as another element does, which leads them elsewhere; an interface has one way in", l.f.Devices[i])
			}
		}
		if first == "" { // nobody takes the device's packets
			l.link(target(name), l.drop("unread-"+name, click.Pos{Line: 1, Column: 1}))
		}
	}
	if len(l.f.Ports) == 0 {
		l.say(click.Problem{Pos: click.Pos{Line: 1, Column: 1}, Message: "no device is used; write FromDevice(name) and ToDevice(name) for the ports of the function"})
	}
}

// enter is where packets go that come to an input of one of Click's elements.
func (l *lowerer) enter(at port, st state) target {
	if !l.readsPaint[at.element] {
		st.paint = ""
	}
	if !l.fixesSource[at.element] {
		st.fix = false
	}
	key := place{at, st}
	if t, ok := l.memo[key]; ok {
		return t
	}
	if l.open[key] {
		l.failOnce(at.element, false, "packets would go round without end; no element on the way changes or drops them")
		return ""
	}
	if len(l.memo)+len(l.open) >= maxPlaces {
		if !l.stopped {
			l.stopped = true
			l.failOnce(at.element, false, "the configuration is too large: packets come to elements in more than %d ways", maxPlaces)
		}
		return ""
	}
	l.open[key] = true
	x := &visit{lowerer: l, place: key, el: &l.config.Elements[at.element]}
	t := l.classes[at.element].enter(x, l.configs[at.element])
	delete(l.open, key)
	l.memo[key] = t
	return t
}

// link leads packets from an output of an element of ours, or a port of the function.
func (l *lowerer) link(from, to target) {
	if from != "" && to != "" {
		l.f.Spec.Links = append(l.f.Spec.Links, v1alpha1.ElementLink{From: v1alpha1.Endpoint(from), To: v1alpha1.Endpoint(to)})
	}
}

// add makes an element of ours, whose name is unique: "name", "name~2".
func (l *lowerer) add(name string, e v1alpha1.Element, m Made) string {
	if len(l.f.Spec.Elements) >= maxMade {
		if !l.stopped {
			l.stopped = true
			l.say(click.Problem{Pos: m.Pos, Message: fmt.Sprintf("the configuration becomes more than %d elements; use fewer, or less paint", maxMade)})
		}
		return ""
	}
	unique := name
	for n := 2; ; n++ {
		if _, taken := l.f.Made[unique]; !taken && !slices.Contains(l.f.Ports, unique) {
			break
		}
		unique = fmt.Sprintf("%s~%d", name, n)
	}
	e.Name = v1alpha1.Name(unique)
	l.f.Spec.Elements = append(l.f.Spec.Elements, e)
	l.f.Made[unique] = m
	return unique
}

// drop is the end of packets, which are counted as "function/name".
func (l *lowerer) drop(name string, at click.Pos) target {
	if l.ends[target(name)] {
		return target(name)
	}
	t := target(l.add(name, v1alpha1.Element{}, Made{Pos: at, Make: func(full string) element.Element { return element.Discard{Reason: full} }}))
	l.ends[t] = true
	return t
}

// visit is an element as packets come to one of its inputs.
type visit struct {
	*lowerer
	place
	el *click.Element
}

// outputs is the number of outputs that are connected.
func (x *visit) outputs() int { return x.nouts[x.element] }

// onward is where packets go that leave by an output; those of one that is not connected are dropped.
func (x *visit) onward(out int, st state) target {
	to := x.outs[port{x.element, out}]
	if len(to) == 0 {
		return x.lost(fmt.Sprint(out))
	}
	return x.enter(port{to[0].To, to[0].ToPort}, st)
}

// lost is the end of packets that the element drops, counted as "function/element/what".
func (x *visit) lost(what string) target { return x.drop(x.el.Name+"/"+what, x.el.Pos) }

// put makes an element of ours for the visit. Packets may come to it again by its own outputs.
func (x *visit) put(e element.Element, outs ...string) target {
	return x.putMade(Made{Make: func(string) element.Element { return e }, Outs: outs})
}

func (x *visit) putMade(m Made) target {
	m.Pos = x.el.Pos
	t := target(x.add(x.el.Name, v1alpha1.Element{}, m))
	x.memo[x.place] = t
	return t
}

// through makes an element of ours with one output, whose packets leave by an output.
func (x *visit) through(e element.Element, out int, st state) target {
	t := x.put(e, "")
	x.link(t, x.onward(out, st))
	return t
}

// output is an output of an element of ours.
func (t target) output(name string) target {
	if t == "" || name == "" {
		return t
	}
	return t + "." + target(name)
}

// readInformation reads the elements that give names, before all others.
func (l *lowerer) readInformation() {
	var problems []click.Problem
	l.f.Addresses, problems = l.config.Addresses()
	for _, p := range problems {
		p.Element = "AddressInfo"
		l.say(p)
	}
	l.patterns = map[string]rewritePattern{}
	for i := range l.config.Elements {
		if l.config.Elements[i].Class == "IPRewriterPatterns" {
			l.readPatterns(newReader(l, i))
		}
	}
}
