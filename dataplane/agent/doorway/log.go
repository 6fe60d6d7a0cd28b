package doorway

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many lines strangers may cause: some at once, then one now and then.
const (
	logBurst = 5
	logEvery = 10 * time.Second
)

// Lines lets through few of the lines that strangers cause, and counts the others.
type Lines struct {
	mu         sync.Mutex
	limit      *rate.Limiter
	suppressed int
}

// Next tells whether to write a line now, and how many were not written since the last.
func (l *Lines) Next(now time.Time) (write bool, suppressed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == nil {
		l.limit = rate.NewLimiter(rate.Every(logEvery), logBurst)
	}
	if !l.limit.AllowN(now, 1) {
		l.suppressed++
		return false, 0
	}
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}

// Writer is an io.Writer for a log.Logger: of what is written it gives few lines to Write.
type Writer struct {
	Lines
	Print func(line string)
}

// Write takes a line.
func (w *Writer) Write(line []byte) (int, error) {
	if write, suppressed := w.Next(time.Now()); write {
		text := string(line)
		if suppressed > 0 {
			text = fmt.Sprintf("%s (%d lines like this were left out)", text, suppressed)
		}
		w.Print(text)
	}
	return len(line), nil
}
