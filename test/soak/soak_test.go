package soak

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

const (
	short     = 7 * time.Second // unless SINTER_SOAK says how long, as "2h"
	longPhase = 10 * time.Second
	perTurn   = 128       // packets of flows, and as many of a flood
	judged    = time.Hour // runs from here on have their memory judged: before, sessions are still made that did not end yet
)

func duration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SINTER_SOAK")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < short {
		t.Fatalf("SINTER_SOAK is %q, want a duration of at least %s, such as 2h", text, short)
	}
	return d
}

// soak is a run.
type soak struct {
	*world
	talk      *talk
	i         int // of a flood's frames
	rows      map[string]*row
	processes []*process
}

func TestAChainInFloodsAndSwapsLosesNoPacketUncountedAndNoMemory(t *testing.T) {
	whole := duration(t)
	phase := min(whole/time.Duration(len(floods)), longPhase)
	s := &soak{world: newWorld(t), talk: newTalk(1), rows: map[string]*row{}}
	s.processes = processes(t, s.engine.Process.PID())
	for i, end := 0, time.Now().Add(whole); i < len(floods) || time.Now().Before(end); i++ {
		s.run(t, floods[i%len(floods)], phase)
	}
	s.live(t)
	for _, p := range s.processes {
		t.Logf("%s: %d, %d, %d and %d KiB in the quarters of the run", p.name, p.quarter(0), p.quarter(1), p.quarter(2), p.quarter(3))
		if err := p.flat(); err != nil && whole >= judged {
			t.Error(err)
		}
	}
	k := s.talk
	t.Logf("%d flows, %d answers, %d first packets sent again; %d swaps, %d moves", k.flows, k.answered, k.repeated, s.swaps, s.moves)
	s.write(t, whole)
}

// run has a flood's turn.
func (s *soak) run(t *testing.T, f flood, phase time.Duration) {
	t.Helper()
	before := s.account(t)
	for end := time.Now().Add(phase); time.Now().Before(end); {
		s.swap(t)
		s.move(t, s.talk.rng)
		s.talk.again(s.world)
		s.talk.say(s.world, perTurn)
		if f.frame != nil {
			at := s.sides[inside]
			for range perTurn {
				at.queue = append(at.queue, f.frame(s.talk.rng, at.router, s.i))
				s.i++
			}
		}
		s.send(t)
		s.receive(s.take)
	}
	s.settle(t, f, before.lost())
	after := s.account(t)
	if s.rows[f.name] == nil {
		s.rows[f.name] = new(row)
	}
	s.rows[f.name].add(before, after)
	var memory []string
	for _, p := range s.processes {
		p.read(t)
		memory = append(memory, fmt.Sprintf("%s has %d KiB", p.name, p.kib[len(p.kib)-1]))
	}
	t.Logf("%s, sent, received and dropped in all its turns: %s; %s", f.name, s.rows[f.name], strings.Join(memory, ", "))
}

func (s *soak) take(at int, v packets.View) { s.talk.take(s.world, at, v) }

// settle waits until each frame has met its fate, and each flow has its answer.
func (s *soak) settle(t *testing.T, f flood, before uint64) {
	t.Helper()
	again := s.talk.lost
	lab.Until(t, starvation, func() error {
		s.talk.again(s.world)
		s.send(t)
		s.receive(s.take)
		a := s.account(t)
		if a.open() != 0 || s.queued() {
			return fmt.Errorf("%s: %s", f.name, a)
		}
		s.talk.judge(t, s.world, f.name, a.lost()-before-(s.talk.lost-again))
		if s.talk.waiting > 0 {
			return fmt.Errorf("%s: %d flows do not begin", f.name, s.talk.waiting)
		}
		return nil
	})
}
