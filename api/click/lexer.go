package click

import "strings"

// kind is the kind of a token; characters that stand for themselves are their own kind.
type kind int

const (
	end kind = -iota
	word
	variable
	arrow       // ->
	doubleArrow // =>
	doubleColon // ::
	doubleBar   // ||
	dots        // ...
)

type token struct {
	kind kind
	text string
	pos  Pos
}

func (t token) String() string {
	if t.kind == end {
		return "the end of the text"
	}
	return `"` + t.text + `"`
}

// lexer reads tokens. One that was given back is read again.
type lexer struct {
	s         string
	at        int
	line, col int
	problems  problems
	back      []token
}

func newLexer(s string) *lexer { return &lexer{s: s, line: 1, col: 1} }

func (l *lexer) pos() Pos { return Pos{l.line, l.col} }

func (l *lexer) peekByte(ahead int) byte {
	if l.at+ahead < len(l.s) {
		return l.s[l.at+ahead]
	}
	return 0
}

// skip goes n bytes on.
func (l *lexer) skip(n int) {
	for ; n > 0 && l.at < len(l.s); n-- {
		if l.s[l.at] == '\n' {
			l.line, l.col = l.line+1, 1
		} else {
			l.col++
		}
		l.at++
	}
}

// skipTo goes behind the next occurrence of a mark, or to the end.
func (l *lexer) skipTo(mark string) (found bool) {
	i := strings.Index(l.s[l.at:], mark)
	if i < 0 {
		l.skip(len(l.s) - l.at)
		return false
	}
	l.skip(i + len(mark))
	return true
}

// blank goes over white space, comments and line markers of a preprocessor.
func (l *lexer) blank() {
	for l.at < len(l.s) {
		c := l.peekByte(0)
		switch {
		case isSpace(c):
			l.skip(1)
		case c == '/' && l.peekByte(1) == '/':
			l.skipTo("\n")
		case c == '/' && l.peekByte(1) == '*':
			at := l.pos()
			l.skip(2)
			if !l.skipTo("*/") {
				l.problems.fail(at, "/*", "the comment does not end; write */ behind it")
			}
		case c == '#' && l.col == 1:
			l.directive()
		default:
			return
		}
	}
}

// directive goes over a line of the preprocessor. Markers that tell file and line, and "#!", say nothing to us.
func (l *lexer) directive() {
	at := l.pos()
	text, _, _ := strings.Cut(l.s[l.at:], "\n")
	l.skip(len(text))
	rest := strings.TrimPrefix(strings.TrimSpace(text[1:]), "line ")
	if !strings.HasPrefix(text, "#!") && (rest == "" || !isDigit(rest[0])) {
		l.problems.fail(at, strings.TrimSpace(text), "preprocessor directives are not known; run the preprocessor first, or write define(...) and elementclass")
	}
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '@'
}

// next reads a token.
func (l *lexer) next() token {
	if n := len(l.back); n > 0 {
		t := l.back[n-1]
		l.back = l.back[:n-1]
		return t
	}
	l.blank()
	t := token{pos: l.pos(), kind: end}
	if l.at >= len(l.s) {
		return t
	}
	rest := l.s[l.at:]
	c := rest[0]
	switch {
	case isWord(c):
		t.kind, t.text = word, rest[:wordLen(rest)]
	case c == '$' && len(rest) > 1 && (isDigit(rest[1]) || isWord(rest[1]) && rest[1] != '@'):
		t.kind, t.text = variable, rest[:1+nameLen(rest[1:])]
	case strings.HasPrefix(rest, "->"):
		t.kind, t.text = arrow, rest[:2]
	case strings.HasPrefix(rest, "=>"):
		t.kind, t.text = doubleArrow, rest[:2]
	case strings.HasPrefix(rest, "::"):
		t.kind, t.text = doubleColon, rest[:2]
	case strings.HasPrefix(rest, "||"):
		t.kind, t.text = doubleBar, rest[:2]
	case strings.HasPrefix(rest, "..."):
		t.kind, t.text = dots, rest[:3]
	default:
		t.kind, t.text = kind(c), rest[:1]
	}
	l.skip(len(t.text))
	return t
}

// wordLen is the length of the identifier that s begins with: slashes lie within.
func wordLen(s string) int {
	n := 0
	for {
		for n < len(s) && isWord(s[n]) {
			n++
		}
		if n+1 >= len(s) || s[n] != '/' || !isWord(s[n+1]) {
			return n
		}
		n++
	}
}

// nameLen is the length of the name of a parameter that s begins with.
func nameLen(s string) int {
	n := 0
	for n < len(s) && isWord(s[n]) && s[n] != '@' {
		n++
	}
	return n
}

func (l *lexer) unread(t token) { l.back = append(l.back, t) }

func (l *lexer) peek() token {
	t := l.next()
	l.unread(t)
	return t
}

// accept reads the token if it is of the kind.
func (l *lexer) accept(k kind) (token, bool) {
	t := l.next()
	if t.kind != k {
		l.unread(t)
	}
	return t, t.kind == k
}

// config reads the text of a configuration, behind its "(", to the ")" that matches.
func (l *lexer) config(open Pos) rich {
	from, at := l.at, l.pos()
	for depth := 1; l.at < len(l.s); {
		c := l.peekByte(0)
		switch {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				r := literal(l.s[from:l.at], at)
				l.skip(1)
				return r
			}
		case c == '/' && (l.peekByte(1) == '/' || l.peekByte(1) == '*'), c == '#' && l.col == 1:
			l.blank()
			continue
		}
		l.skip(quotedLen(l.s[l.at:]))
	}
	l.problems.fail(open, "(", "the configuration does not end; a \")\" is missing")
	return literal(l.s[from:l.at], at)
}

// quotedLen is the length of the quoted text that s begins with; 1 if it begins with none.
func quotedLen(s string) int {
	stop := func(n int) int {
		if n < 0 {
			return len(s)
		}
		return n + 1
	}
	switch {
	case s[0] == '\'':
		if n := strings.IndexByte(s[1:], '\''); n >= 0 {
			return stop(n + 1)
		}
		return len(s)
	case s[0] == '"':
		for n := 1; n < len(s); n++ {
			switch s[n] {
			case '\\':
				n++
			case '"':
				return n + 1
			}
		}
		return len(s)
	case strings.HasPrefix(s, `\<`):
		return stop(strings.IndexByte(s, '>'))
	}
	return 1
}
