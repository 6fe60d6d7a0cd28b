package rules

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
)

const (
	// maxText bounds an unpacked file, so that a small .gz cannot fill the memory.
	maxText = 256 << 20
	// maxProblems is how many bad lines of a file are worth telling.
	maxProblems = 20
)

// Unpack is the text of a file, unpacked if it is gzip.
func Unpack(data []byte) ([]byte, error) { return UnpackAtMost(data, maxText) }

// UnpackAtMost is Unpack with a bound on the unpacked text, for what strangers hand in.
func UnpackAtMost(data []byte, limit int64) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not a whole gzip file: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a whole gzip file: %w", err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("more than %d bytes when unpacked", limit)
	}
	return text, nil
}

// lines is the text's lines with their numbers, trimmed, without empty ones and
// comments.
func lines(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		n := 0
		for raw := range bytes.Lines(data) {
			n++
			s := bytes.TrimSpace(raw)
			if len(s) > 0 && s[0] != '#' && !yield(n, s) {
				return
			}
		}
	}
}

// problems collects the problems of a file, up to a limit.
type problems struct{ list []Problem }

// add tells whether there is room for more.
func (p *problems) add(q Problem) bool {
	if len(p.list) == maxProblems {
		p.list = append(p.list, Problem{Line: q.Line, Warning: q.Warning, Message: "more such lines follow; only the first are told"})
	}
	if len(p.list) < maxProblems {
		p.list = append(p.list, q)
	}
	return len(p.list) <= maxProblems
}
