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
}

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

// remembered is a text without problems, and what was read of it.
type remembered[T any] struct {
	text  []byte
	items []T
	parts []part
	fresh bool // read since the last Forget
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
func readAgain[K comparable, T any](known *map[K]*remembered[T], name K, text []byte, f format[T]) ([]T, []Problem) {
	if *known == nil {
		*known = map[K]*remembered[T]{}
	}
	r := (*known)[name].again(text, f)
	if r == nil {
		delete(*known, name)
		return f.read(text)
	}
	(*known)[name] = r
	return r.items, nil
}

// again is a text and what is read of it. Parts that the text begins or ends with as before are taken over. Nil: there is something to say of the
// text, so it has to be read as a whole.
func (r *remembered[T]) again(text []byte, f format[T]) *remembered[T] {
	if r == nil {
		r = &remembered[T]{}
	}
	head, rest := r.head(text), text
	rest = rest[head.bytes:]
	tail := r.tail(rest, head)
	if head.parts == len(r.parts) && len(rest) == 0 {
		r.fresh = true
		return r
	}
	out := &remembered[T]{text: text, fresh: true, parts: slices.Clone(r.parts[:head.parts])}
	out.items = append(make([]T, 0, len(r.items)), r.items[:head.items]...)
	middle := head.lines
	for rest = rest[:len(rest)-tail.bytes]; len(rest) > 0; {
		n := partOf(rest)
		items, problems := f.read(rest[:n])
		if len(problems) > 0 {
			return nil
		}
		p := part{n, bytes.Count(rest[:n], []byte{'\n'}), len(items)}
		out.take(items, middle, f)
		out.parts = append(out.parts, p)
		middle += p.lines
		rest = rest[n:]
	}
	was := r.lines() - tail.lines
	out.take(r.items[len(r.items)-tail.items:], middle-was, f)
	out.parts = append(out.parts, r.parts[len(r.parts)-tail.parts:]...)
	return out
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
