package pattern

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// maxDepth bounds how deep parentheses and negations lie within each other.
const maxDepth = 64

// Expression reads a pattern of IPClassifier: filters of which a packet has to pass one. None: no packet matches.
func Expression(text string, names Names) ([]headerspace.Filter, error) {
	p := parser{words: words(text), end: len(text), names: names, prev: primitive{transport: anyProto}}
	switch {
	case len(p.words) == 0:
		return nil, &Error{0, text, `the pattern is empty; write "-" for every packet`}
	case len(p.words) == 1 && (text[p.words[0].off:] == "-" || p.is("-", "any", "all")):
		return everything, nil
	}
	u := p.expr()
	if p.err == nil && p.at < len(p.words) {
		p.fail(p.words[p.at], "does not belong to the pattern; combine primitives by and, or, not and parentheses")
	}
	if p.err != nil {
		return nil, p.err
	}
	return u, nil
}

// parser reads
//
//	expr   = orexpr ["?" expr ":" expr]
//	orexpr = term {("or" | "||") term}
//	term   = factor {["and" | "&&"] factor}
//	factor = ("not" | "!") factor | "(" expr ")" | primitive
type parser struct {
	words []token
	at    int
	end   int
	names Names
	// prev is the primitive before, of which one without qualifiers takes them: "src port 80 or 443".
	prev  primitive
	depth int
	err   *Error
}

func (p *parser) fail(t token, format string, args ...any) union {
	if p.err == nil {
		p.err = &Error{t.off, t.text, fmt.Sprintf(format, args...)}
	}
	return nil
}

// token is the next word; an empty one at the end.
func (p *parser) token() token {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return token{"", p.end}
}

// is tells whether the next word is one of these.
func (p *parser) is(ws ...string) bool {
	t := p.token().text
	for _, w := range ws {
		if t == w {
			return t != ""
		}
	}
	return false
}

func (p *parser) accept(ws ...string) bool {
	if !p.is(ws...) {
		return false
	}
	p.at++
	return true
}

func (p *parser) simple(at token, u union, ok bool) union {
	if !ok {
		return p.fail(at, "takes more than %d packet filters; split it into several patterns", maxFilters)
	}
	return u
}

func (p *parser) deeper() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.token(), "is nested more than %d deep; write it with fewer parentheses", maxDepth)
	}
	return p.err == nil
}

func (p *parser) expr() union {
	at := p.token()
	if !p.deeper() {
		return nil
	}
	defer func() { p.depth-- }()
	c := p.orexpr()
	if p.err != nil || !p.accept("?") {
		return c
	}
	then := p.expr()
	if p.err == nil && !p.accept(":") {
		p.fail(p.token(), `" : " is missing; write "condition ? pattern : pattern"`)
	}
	if p.err != nil {
		return nil
	}
	other := p.expr()
	if p.err != nil {
		return nil
	}
	first, ok1 := c.and(then)
	not, ok2 := c.not()
	second, ok3 := not.and(other)
	if !ok1 || !ok2 || !ok3 {
		return p.simple(at, nil, false)
	}
	u, ok := first.or(second)
	return p.simple(at, u, ok)
}

func (p *parser) orexpr() union {
	at := p.token()
	u := p.term()
	for p.err == nil && p.accept("or", "||") {
		v := p.term()
		if p.err == nil {
			w, ok := u.or(v)
			u = p.simple(at, w, ok)
		}
	}
	return u
}

func (p *parser) term() union {
	at := p.token()
	u := p.factor()
	for p.err == nil {
		if !p.accept("and", "&&") && (p.at == len(p.words) || p.is(")", "or", "||", "?", ":")) {
			break
		}
		v := p.factor()
		if p.err == nil {
			w, ok := u.and(v)
			u = p.simple(at, w, ok)
		}
	}
	return u
}

func (p *parser) factor() union {
	at := p.token()
	switch {
	case p.at == len(p.words), p.is(")", "or", "||", "and", "&&", "?", ":"):
		return p.fail(at, "a primitive is missing here, like \"src host 10.0.0.1\" or \"tcp\"")
	case p.accept("not", "!"):
		if !p.deeper() {
			return nil
		}
		u := p.factor()
		p.depth--
		if p.err != nil {
			return nil
		}
		v, ok := u.not()
		return p.simple(at, v, ok)
	case p.accept("("):
		u := p.expr()
		if p.err == nil && !p.accept(")") {
			p.fail(p.token(), `a ")" is missing`)
		}
		return u
	case p.accept("true"):
		return everything
	case p.accept("false"):
		return nil
	}
	return p.primitive()
}

// qualifiers reads the words before a primitive's value: src, tcp, port, ….
func (p *parser) qualifiers(q *primitive) (negated bool) {
	for p.err == nil && p.at < len(p.words) {
		t := p.token()
		k, isType := types[t.text]
		named := meanings(t.text, none, anyProto)
		switch {
		case isType:
			p.setKind(q, t, k)
		case len(named) == 1 && named[0].kind == proto:
			p.setTransport(q, t, int(named[0].value))
		case len(named) > 0:
			return negated
		case t.text == "src" || t.text == "dst" || t.text == "dest":
			p.setSides(q, t)
		case (t.text == "ip" || t.text == "ether") && q.header == "":
			q.header = t.text
		case t.text == "not" || t.text == "!":
			negated = !negated
		default:
			return negated
		}
		p.at++
	}
	return negated
}

func (p *parser) setKind(q *primitive, t token, k kind) {
	if q.kind != none {
		p.fail(t, "the primitive has two types, %s and %s; combine two primitives by and", q.kind, k)
	}
	q.kind = k
	switch k {
	case icmpType:
		p.setTransport(q, t, 1)
	case window:
		p.setTransport(q, t, 6)
	default:
	}
}

func (p *parser) setTransport(q *primitive, t token, proto int) {
	if q.transport != anyProto && q.transport != proto {
		p.fail(t, `the primitive has two protocols; combine two primitives by "or"`)
	}
	q.transport = proto
}

// setSides reads src, dst, "src or dst" and "src and dst".
func (p *parser) setSides(q *primitive, t token) {
	if q.sides != 0 {
		p.fail(t, `"src" or "dst" is there twice; leave one out`)
	}
	q.sides = source
	if t.text != "src" {
		q.sides = destination
		return
	}
	if p.at+3 < len(p.words) && (p.words[p.at+2].text == "dst" || p.words[p.at+2].text == "dest") {
		switch p.words[p.at+1].text {
		case "and", "&&":
			q.sides = both
			p.at += 2
		case "or", "||":
			q.sides = either
			p.at += 2
		}
	}
}

// primitive reads one, and tells its packets.
func (p *parser) primitive() union {
	first := p.at
	start := p.token()
	q := primitive{transport: anyProto}
	negated := p.qualifiers(&q)
	if p.at > first {
		p.prev = primitive{transport: anyProto}
	}
	if p.is("[") && p.at > first && q.kind == none {
		p.brackets(&q)
	}
	if p.is("&") && p.err == nil {
		p.mask(&q)
	}
	operated := p.operator(&q)
	p.data(&q, operated)
	if p.err == nil && p.at == first {
		p.unknown(start)
	}
	if p.err != nil {
		return nil
	}
	q.start = start
	u := p.meaning(&q)
	if p.err != nil {
		return nil
	}
	p.prev = q
	if negated {
		v, ok := u.not()
		return p.simple(start, v, ok)
	}
	return u
}

// unknown says that a word has no meaning.
func (p *parser) unknown(t token) {
	known := []string{"src", "dst", "ip", "not", "true", "false"}
	for _, names := range []map[string]uint64{ports, tcpPorts, udpPorts, tcpOptions, icmpTypes} {
		for name := range names {
			known = append(known, name)
		}
	}
	for name := range types {
		known = append(known, name)
	}
	for name := range protocols {
		known = append(known, name)
	}
	p.fail(t, "is no primitive, and no name of an address, protocol, port, TCP flag or ICMP type%s", finding.DidYouMean(t.text, known))
}

// operator reads a relation.
func (p *parser) operator(q *primitive) bool {
	if p.at+1 >= len(p.words) {
		return false
	}
	switch {
	case p.accept("=", "=="):
	case p.accept("!="):
		q.negated = true
	case p.accept(">"):
		q.op = greater
	case p.accept("<"):
		q.op = less
	case p.accept(">="):
		q.op, q.negated = less, true
	case p.accept("<="):
		q.op, q.negated = greater, true
	default:
		return false
	}
	return true
}
