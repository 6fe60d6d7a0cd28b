package click

import (
	"slices"
	"strings"
)

// rich is a text of which each byte's place in the configuration is known, also where parameters were substituted.
type rich struct {
	s     string
	marks []mark // ascending
}

// mark says where the text from an offset on was written.
type mark struct {
	off int
	pos Pos
	// exact says that it was written there as it is; else it was substituted for what is there.
	exact bool
}

func literal(s string, at Pos) rich { return rich{s, []mark{{0, at, true}}} }

// at is the place of an offset.
func (r rich) at(off int) Pos {
	i, _ := slices.BinarySearchFunc(r.marks, off+1, func(m mark, o int) int { return m.off - o })
	if i == 0 {
		return Pos{1, 1}
	}
	m := r.marks[i-1]
	if !m.exact {
		return m.pos
	}
	p := m.pos
	before := r.s[m.off:min(off, len(r.s))]
	if n := strings.Count(before, "\n"); n > 0 {
		p.Line += n
		p.Column = len(before) - strings.LastIndexByte(before, '\n')
	} else {
		p.Column += len(before)
	}
	return p
}

// part is the text from one offset to another.
func (r rich) part(from, to int) rich {
	return rich{r.s[from:to], []mark{{0, r.at(from), true}}}.inherit(r, from, to)
}

func (r rich) inherit(of rich, from, to int) rich {
	for i, m := range of.marks {
		switch {
		case m.off > from && m.off < to:
			r.marks = append(r.marks, mark{m.off - from, m.pos, m.exact})
		case m.off <= from && (i+1 == len(of.marks) || of.marks[i+1].off > from):
			r.marks[0].exact = m.exact
		}
	}
	return r
}

// arguments splits the text at its top-level commas, as Click's cp_argvec does: comments are white space, and white space around
// arguments is taken off. An empty text has none; so has a last argument that is empty.
func (r rich) arguments() []rich {
	var out []rich
	s, depth, from := r.s, 0, 0
	for i := 0; i < len(s); {
		switch {
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth--
		case s[i] == ',' && depth == 0:
			out = append(out, r.part(from, i).trimmed())
			from = i + 1
		}
		i += max(1, skipLen(s, i))
	}
	if last := r.part(from, len(s)).trimmed(); last.s != "" {
		out = append(out, last)
	}
	return out
}

// skipLen is the length of the comment or quoted text at an offset, 0 if there is none.
func skipLen(s string, i int) int {
	if n := commentLen(s, i); n > 0 {
		return n
	}
	if n := quotedLen(s[i:]); n > 1 {
		return n
	}
	return 0
}

// commentLen is the length of the comment at an offset, 0 if there is none.
func commentLen(s string, i int) int {
	switch {
	case strings.HasPrefix(s[i:], "//"), s[i] == '#' && i > 0 && s[i-1] == '\n':
		if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
			return n
		}
		return len(s) - i
	case strings.HasPrefix(s[i:], "/*"):
		if n := strings.Index(s[i+2:], "*/"); n >= 0 {
			return n + 4
		}
		return len(s) - i
	}
	return 0
}

// trimmed is the text without comments and without white space around it.
func (r rich) trimmed() rich {
	s := []byte(r.s)
	for i := 0; i < len(s); {
		if n := commentLen(r.s, i); n > 0 {
			for k := i; k < i+n; k++ {
				if s[k] != '\n' {
					s[k] = ' '
				}
			}
			i += n
			continue
		}
		i += max(1, quotedLen(r.s[i:]))
	}
	from, to := 0, len(s)
	for from < to && isSpace(s[from]) {
		from++
	}
	for to > from && isSpace(s[to-1]) {
		to--
	}
	return rich{string(s), r.marks}.part(from, to)
}

// substituted is the text with parameters ("$a", "${a}", "${a-otherwise}") replaced by what they stand for, but not within single quotes. The
// first parameter that stands for nothing is told. ok is false if the text would get longer than the limit.
func (r rich) substituted(of func(string) (string, bool), limit int) (_ rich, unknown string, ok bool) {
	if !strings.Contains(r.s, "$") {
		return r, "", len(r.s) <= limit
	}
	var b strings.Builder
	var out rich
	take := func(text rich) {
		for _, m := range text.marks {
			out.marks = append(out.marks, mark{m.off + b.Len(), m.pos, m.exact})
		}
		b.WriteString(text.s)
	}
	from := 0
	for i := 0; i < len(r.s) && b.Len() <= limit; {
		if n := commentLen(r.s, i); n > 0 || r.s[i] == '\'' {
			i += max(n, 1)
			if n == 0 {
				i += quotedLen(r.s[i-1:]) - 1
			}
			continue
		}
		name, otherwise, n := parameterAt(r.s[i:])
		if n == 0 {
			i++
			continue
		}
		value, known := of(name)
		switch {
		case !known && otherwise != nil:
			value = *otherwise
		case !known:
			if unknown == "" {
				unknown = name
			}
			i += n
			continue
		}
		if i > from {
			take(r.part(from, i))
		}
		take(rich{value, []mark{{0, r.at(i), false}}})
		i += n
		from = i
	}
	if from < len(r.s) {
		take(r.part(from, len(r.s)))
	}
	out.s = b.String()
	if out.marks == nil {
		out.marks = r.marks
	}
	return out, unknown, len(out.s) <= limit
}

// parameterAt reads a reference to a parameter; n is its length, 0 if s begins with none.
func parameterAt(s string) (name string, otherwise *string, n int) {
	if s[0] != '$' || len(s) < 2 {
		return "", nil, 0
	}
	if s[1] != '{' {
		n := nameLen(s[1:])
		return s[1 : 1+n], nil, map[bool]int{true: 1 + n}[n > 0]
	}
	stop := strings.IndexByte(s, '}')
	if stop < 0 {
		return "", nil, 0
	}
	name, rest, with := strings.Cut(s[2:stop], "-")
	if with {
		otherwise = &rest
	}
	if name == "" || nameLen(name) != len(name) {
		return "", nil, 0
	}
	return name, otherwise, stop + 1
}
