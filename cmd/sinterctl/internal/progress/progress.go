// Package progress keeps people company while something takes longer than two seconds.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Patience is how long nothing is said.
const Patience = 2 * time.Second

// Bar tells on a stream what is being done, and for how long already.
type Bar struct {
	w    io.Writer
	stop chan struct{}
	done chan struct{}
}

// Start begins to watch over some work. Without a terminal nothing is written, unless always is set.
func Start(f *os.File, always bool, what string) *Bar {
	b := &Bar{w: f, stop: make(chan struct{}), done: make(chan struct{})}
	tty := term.IsTerminal(int(f.Fd()))
	if !tty && !always {
		close(b.done)
		return b
	}
	go b.run(what, tty)
	return b
}

func (b *Bar) run(what string, tty bool) {
	defer close(b.done)
	began := time.Now()
	wait := time.NewTimer(Patience)
	defer wait.Stop()
	for {
		select {
		case <-b.stop:
			if tty && time.Since(began) >= Patience {
				fmt.Fprint(b.w, "\r\x1b[K")
			}
			return
		case <-wait.C:
			took := time.Since(began).Round(time.Second)
			if tty {
				fmt.Fprintf(b.w, "\r\x1b[K%s … %s", what, took)
			} else {
				fmt.Fprintf(b.w, "%s … %s\n", what, took)
			}
			wait.Reset(time.Second)
		}
	}
}

// Stop ends the report; the line is wiped from a terminal.
func (b *Bar) Stop() {
	close(b.stop)
	<-b.done
}
