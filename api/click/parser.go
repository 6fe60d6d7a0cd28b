package click

import (
	"slices"
	"strconv"
)

// Bounds of what a text may be. A stranger writes it.
const (
	// MaxText is the longest text, in bytes.
	MaxText = 1 << 18
	// maxDepth is how deep compound elements and groups lie within each other.
	maxDepth = 24
	// maxPort is the highest number of a port.
	maxPort = 1023
)

type parser struct {
	*lexer
	depth int
	// stopped says that the text is not read further: what follows an error would be misread.
	stopped bool
}

func (p *parser) stop(at Pos, value, format string, args ...any) {
	if !p.stopped {
		p.problems.fail(at, value, format, args...)
		p.stopped = true
	}
}

func (p *parser) stopAt(t token, format string, args ...any) { p.stop(t.pos, t.text, format, args...) }

// expect reads a token of the kind, or stops.
func (p *parser) expect(k kind, what string) (token, bool) {
	t := p.next()
	if t.kind != k {
		p.stopAt(t, "%s expected, not %s", what, t)
	}
	return t, t.kind == k
}

// scope reads statements up to the closing character, which is left; end for the top.
func (p *parser) scope(closing kind) *scope {
	s := &scope{}
	if p.depth++; p.depth > maxDepth {
		p.stopAt(p.peek(), "compound elements are nested more than %d deep; declare some of them as elementclass at the top", maxDepth)
	}
	if closing == '}' {
		p.parameters(s)
	}
	for !p.stopped {
		t := p.next()
		switch {
		case t.kind == closing:
			p.unread(t)
			p.depth--
			return s
		case t.kind == end:
			p.stopAt(t, "the text ends within braces or parentheses; a %q is missing", rune(closing))
		case t.kind == ';':
		case t.kind == doubleBar && closing == '}':
			p.stopAt(t, "overloaded compound elements are not known; give each definition a name of its own by elementclass")
		case t.kind == word && p.keyword(s, t):
		default:
			p.unread(t)
			p.connection(s)
		}
	}
	p.depth--
	return s
}

// parameters reads "$a, KEYWORD $b |" at the begin of a compound element.
func (p *parser) parameters(s *scope) {
	first := p.next()
	if first.kind == '|' {
		return
	}
	p.unread(first)
	if first.kind != variable && !(first.kind == word && p.keywordParameter()) {
		return
	}
	for !p.stopped {
		t := p.next()
		q := parameter{pos: t.pos}
		if t.kind == word {
			q.keyword = t.text
			t = p.next()
		}
		if t.kind != variable {
			p.stopAt(t, "a parameter expected, like $a, not %s", t)
			return
		}
		q.name = t.text[1:]
		s.params = append(s.params, q)
		switch t = p.next(); t.kind {
		case ',':
		case '|':
			return
		default:
			p.stopAt(t, `"," or "|" expected behind a parameter, not %s`, t)
		}
	}
}

// keywordParameter looks two tokens ahead: KEYWORD $name.
func (p *parser) keywordParameter() bool {
	first, second := p.next(), p.next()
	p.unread(second)
	p.unread(first)
	return second.kind == variable
}

// keyword reads a statement that begins with a word of the language; false: it begins with none.
func (p *parser) keyword(s *scope, t token) bool {
	switch t.text {
	case "elementclass":
		p.elementclass(s)
	case "define":
		if open, ok := p.expect('(', `"("`); ok {
			s.statements = append(s.statements, statement{define: p.config(open.pos).arguments()})
		}
	case "require", "provide": // packages, and what the configuration is for
		if open, ok := p.expect('(', `"("`); ok {
			p.config(open.pos)
		}
	default:
		return false
	}
	return true
}

func (p *parser) elementclass(s *scope) {
	name, ok := p.expect(word, "the name of an element class")
	if !ok {
		return
	}
	of, ok := p.class(p.next())
	if !ok {
		return
	}
	s.statements = append(s.statements, statement{class: &classStatement{name.text, name.pos, of}})
}

// class reads a class that begins with the token: a name, or a compound element.
func (p *parser) class(t token) (class, bool) {
	switch t.kind {
	case word:
		return class{name: t.text, pos: t.pos}, true
	case '{':
		c := class{compound: p.scope('}'), pos: t.pos}
		_, ok := p.expect('}', `"}"`)
		return c, ok && !p.stopped
	case variable:
		p.stopAt(t, "a class that a parameter names is not known; write the class")
	default:
		p.stopAt(t, "the name of an element class, or a compound element in braces, expected, not %s", t)
	}
	return class{}, false
}

// connection reads a declaration or connection.
func (p *parser) connection(s *scope) {
	var chain []link
	for !p.stopped {
		l := link{pos: p.peek().pos}
		for !p.stopped {
			e, ok := p.listed(len(chain) == 0)
			if !ok {
				return
			}
			l.ends = append(l.ends, e)
			if _, more := p.accept(','); !more {
				break
			}
		}
		t := p.next()
		if t.kind == arrow || t.kind == doubleArrow {
			l.to = t.kind
			chain = append(chain, l)
			continue
		}
		p.unread(t)
		chain = append(chain, l)
		break
	}
	if len(chain) == 1 {
		p.declareAll(&chain[0])
	}
	s.statements = append(s.statements, statement{connect: chain})
}

// declareAll has each name of "a, b, c :: Class" be of the class.
func (p *parser) declareAll(l *link) {
	last := l.ends[len(l.ends)-1]
	for i := range l.ends[:len(l.ends)-1] {
		if e := &l.ends[i]; e.class == nil && e.config == nil && e.group == nil && last.name != "" && last.class != nil {
			e.class, e.config = last.class, last.config
		}
	}
}

// listed reads one element of a list; first says that no arrow is before it.
func (p *parser) listed(first bool) (listed, bool) {
	e := listed{pos: p.peek().pos}
	e.in = p.ports()
	t := p.next()
	switch t.kind {
	case word:
		e.pos = t.pos
		e.name = t.text
		if _, declared := p.accept(doubleColon); declared {
			c, ok := p.class(p.next())
			if !ok {
				return e, false
			}
			e.class = &c
		}
		p.optionalConfig(&e)
	case '{':
		c, ok := p.class(t)
		if !ok {
			return e, false
		}
		e.class = &c
		p.optionalConfig(&e)
	case '(':
		e.group = p.scope(')')
		if _, ok := p.expect(')', `")"`); !ok {
			return e, false
		}
	default:
		p.unread(t)
		if e.in == nil && t.kind != arrow && t.kind != doubleArrow { // "-> [1]" and "[1] ->" are the compound's
			if !first && p.depth > 1 && (t.kind == ';' || t.kind == '}' || t.kind == ')') {
				return e, true
			}
			p.stopAt(t, "the name of an element, or of an element class, expected, not %s", t)
			return e, false
		}
		return e, true
	}
	e.out = p.ports()
	return e, !p.stopped
}

// optionalConfig reads a configuration if there is one.
func (p *parser) optionalConfig(e *listed) {
	if open, ok := p.accept('('); ok {
		r := p.config(open.pos)
		e.config = &r
	}
}

// ports reads "[1]", "[0,2]" or "[0-3]"; nil if there is none.
func (p *parser) ports() []portNumber {
	open, ok := p.accept('[')
	if !ok {
		return nil
	}
	out := []portNumber{}
	for !p.stopped {
		n, at, ok := p.portNumber()
		if !ok {
			return nil
		}
		last := n
		if _, ranged := p.accept('-'); ranged {
			if last, _, ok = p.portNumber(); !ok {
				return nil
			}
		}
		if last < n {
			p.stop(at, "", "the range of ports %d-%d is reversed; write %d-%d", n, last, last, n)
		}
		for i := n; i <= last && len(out) <= maxPort; i++ {
			out = append(out, portNumber{i, at})
		}
		t := p.next()
		if t.kind == ']' {
			return slices.Clip(out)
		}
		if t.kind != ',' {
			p.stopAt(t, `"]" expected behind a port, not %s`, t)
		}
	}
	p.stop(open.pos, "[", `a "]" is missing`)
	return nil
}

func (p *parser) portNumber() (int, Pos, bool) {
	t := p.next()
	n, err := strconv.Atoi(t.text)
	if t.kind != word || err != nil || n < 0 || n > maxPort {
		p.stopAt(t, "not the number of a port; write one from 0 to %d", maxPort)
		return 0, t.pos, false
	}
	return n, t.pos, true
}
