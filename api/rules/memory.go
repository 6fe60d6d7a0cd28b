package rules

import (
	"bytes"
	"net/netip"
	"slices"
)

// Memory keeps texts as they were read last. When one of them comes again with a small change, only the part around the change is read; what is
// read, and what is said of it, is the same. Of a text it keeps one version. The zero Memory is empty. It is not for concurrent use.
type Memory struct {
	rules    map[Source]*remembered[Rule]
	prefixes map[string]*remembered[netip.Prefix]
	versions int
}

// Version tells what was read of a text by a number, and how that differs from what was read of it before.
type Version[T any] struct {
	// Number is another one for each text that was read; 0: it was not read by a memory.
	Number int
	// Before is the number of what Edits begin with; 0: they are not known.
	Before int
	Edits  []Edit[T]
}

// Edit is neighbouring items in whose place others came.
type Edit[T any] struct{ Old, New []T }

// Forget drops the texts that were not read since the last call.
func (m *Memory) Forget() {
	forget(m.rules)
	forget(m.prefixes)
}

func forget[K comparable, T any](texts map[K]*remembered[T]) {
	for k, t := range texts {
		if !t.fresh {
			delete(texts, k)
		}
		t.fresh = false
	}
}

func (m *Memory) readRules(s Source, text []byte) ([]Rule, []Problem) {
	list, _, problems := readAgain(m, &m.rules, s, text, classBenchFormat)
	return list, problems
}

// remembered is a text without problems, and what was read of it.
type remembered[T any] struct {
	text  []byte
	items []T
	parts []part
	fresh bool // read since the last Forget
	Version[T]
}

// part is some whole lines of a text: how many bytes and lines they are, and how many items were read of them.
type part struct{ bytes, lines, items int }

// partBytes is how long parts are at least: what is read again after a change.
const partBytes = 4 << 10

// format is how a text is read: line by line, each by itself.
type format[T any] struct {
	read func(text []byte) ([]T, []Problem)
	// moved is an item that stands some lines further down; nil: items do not know their lines.
	moved func(T, int) T
}

var (
	classBenchFormat = format[Rule]{ClassBench, func(r Rule, lines int) Rule {
		r.Line += lines
		return r
	}}
	prefixFormat = format[netip.Prefix]{Prefixes, nil}
)

// readAgain reads a text by what is remembered under its name.
func readAgain[K comparable, T any](m *Memory, known *map[K]*remembered[T], name K, text []byte, f format[T]) ([]T, Version[T], []Problem) {
	if *known == nil {
		*known = map[K]*remembered[T]{}
	}
	before := (*known)[name]
	r := before.again(text, f)
	if r == nil {
		delete(*known, name)
		items, problems := f.read(text)
		return items, Version[T]{}, problems
	}
	if r != before {
		m.versions++
		r.Number = m.versions
	}
	(*known)[name] = r
	return r.items, r.Version, nil
}

// again is a text and what is read of it. Parts that are in it as before are taken over. Nil: there is something to say of the
// text, so it has to be read as a whole.
func (r *remembered[T]) again(text []byte, f format[T]) *remembered[T] {
	if r == nil {
		r = &remembered[T]{}
	}
	head := r.head(text)
	rest := text[head.bytes:]
	tail := r.tail(rest, head)
	if head.parts == len(r.parts) && len(rest) == 0 {
		r.fresh = true
		return r
	}
	out := &remembered[T]{text: text, fresh: true, parts: slices.Clone(r.parts[:head.parts]), Version: Version[T]{Before: r.Number}}
	out.items = append(make([]T, 0, len(r.items)), r.items[:head.items]...)
	w := rereading[T]{before: r, at: head, out: out, lines: head.lines, format: f}
	if !w.middle(rest[:len(rest)-tail.bytes], len(r.parts)-tail.parts) {
		return nil
	}
	was := r.lines() - tail.lines
	out.take(r.items[len(r.items)-tail.items:], w.lines-was, f)
	out.parts = append(out.parts, r.parts[len(r.parts)-tail.parts:]...)
	return out
}

// rereading is a text that is read again, part by part.
type rereading[T any] struct {
	before *remembered[T]
	at     kept // how far it has come in the text before
	out    *remembered[T]
	lines  int // of the text that were read
	format format[T]
}

// middle reads the text up to a part of the one before. It is false if there is something to say of it.
func (w *rereading[T]) middle(text []byte, end int) bool {
	for w.at.parts < end {
		p := w.before.parts[w.at.parts]
		old := w.before.text[w.at.bytes : w.at.bytes+p.bytes]
		if bytes.HasPrefix(text, old) && wholeLines(old) {
			w.out.take(w.before.items[w.at.items:w.at.items+p.items], w.lines-w.at.lines, w.format)
			w.out.parts = append(w.out.parts, p)
			w.at.add(p)
			w.lines += p.lines
			text = text[p.bytes:]
			continue
		}
		until, n := w.meet(text, end)
		if !w.read(text[:n], until) {
			return false
		}
		text = text[n:]
	}
	return w.read(text, end)
}

func wholeLines(text []byte) bool { return len(text) > 0 && text[len(text)-1] == '\n' }

// lookAhead is how many parts are looked at for where a text goes on as before.
const lookAhead = 4

// meet finds where the text goes on as before after a change: a part of the text before, and the bytes up to it.
func (w *rereading[T]) meet(text []byte, end int) (part, n int) {
	skipped := 0
	for part = w.at.parts; part < end && part < w.at.parts+lookAhead; part++ {
		p := w.before.parts[part]
		from := w.at.bytes + skipped
		old := w.before.text[from : from+p.bytes]
		skipped += p.bytes
		window := text[:min(len(text), skipped+p.bytes+partBytes)]
		if part == w.at.parts || !wholeLines(old) {
			continue // the first has changed
		}
		if n := bytes.Index(window, old); n == 0 || n > 0 && text[n-1] == '\n' {
			return part, n
		}
	}
	return end, len(text)
}

// read reads some of the text, which is there instead of the parts before up to one. It is false if there is something to say of it.
func (w *rereading[T]) read(text []byte, until int) bool {
	first := len(w.out.items)
	for len(text) > 0 {
		n := partOf(text)
		items, problems := w.format.read(text[:n])
		if len(problems) > 0 {
			return false
		}
		p := part{n, bytes.Count(text[:n], []byte{'\n'}), len(items)}
		w.out.take(items, w.lines, w.format)
		w.out.parts = append(w.out.parts, p)
		w.lines += p.lines
		text = text[n:]
	}
	old := w.at.items
	for _, p := range w.before.parts[w.at.parts:until] {
		w.at.add(p)
	}
	e := Edit[T]{w.before.items[old:w.at.items], w.out.items[first:]}
	if w.before.Number != 0 && len(e.Old)+len(e.New) > 0 {
		w.out.Edits = append(w.out.Edits, Edit[T]{slices.Clone(e.Old), slices.Clone(e.New)}) // the versions before may go
	}
	return true
}

// take appends items that stand some lines further down than they say.
func (r *remembered[T]) take(items []T, down int, f format[T]) {
	first := len(r.items)
	r.items = append(r.items, items...)
	if down != 0 && f.moved != nil {
		for i := range r.items[first:] {
			r.items[first+i] = f.moved(r.items[first+i], down)
		}
	}
}

// partOf is the length of the part that a text begins with: whole lines.
func partOf(text []byte) int {
	if len(text) <= partBytes {
		return len(text)
	}
	if end := bytes.IndexByte(text[partBytes:], '\n'); end >= 0 {
		return partBytes + end + 1
	}
	return len(text)
}

// kept is what a text has in common with another at one end.
type kept struct {
	part
	parts int
}

func (k *kept) add(p part) {
	k.bytes, k.lines, k.items, k.parts = k.bytes+p.bytes, k.lines+p.lines, k.items+p.items, k.parts+1
}

// head is the parts with which a text begins as before. The last line of a text may lack its end, so the last part counts only if the text ends
// there, too.
func (r *remembered[T]) head(text []byte) (k kept) {
	for _, p := range r.parts {
		end := k.bytes + p.bytes
		if end > len(text) || !bytes.Equal(text[k.bytes:end], r.text[k.bytes:end]) || end == len(r.text) && end < len(text) {
			break
		}
		k.add(p)
	}
	return k
}

// tail is the parts with which the rest of a text behind its head ends as before.
func (r *remembered[T]) tail(rest []byte, head kept) (k kept) {
	for i := len(r.parts) - 1; i >= head.parts; i-- {
		n := k.bytes + r.parts[i].bytes
		if n > len(rest) || !bytes.Equal(rest[len(rest)-n:len(rest)-k.bytes], r.text[len(r.text)-n:len(r.text)-k.bytes]) {
			break
		}
		if before := len(rest) - n - 1; before >= 0 && rest[before] != '\n' { // the line begins earlier
			break
		}
		k.add(r.parts[i])
	}
	return k
}

func (r *remembered[T]) lines() (n int) {
	for _, p := range r.parts {
		n += p.lines
	}
	return n
}
