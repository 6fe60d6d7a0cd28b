package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

const (
	underWay  = 256             // packets at most, so that nothing overflows
	stillness = 5 * time.Second // after which what did not come is lost
	rest      = time.Second     // in which packets that nobody hands over show that rules are in force
	bannedPer = 4               // packets to the banned server, by shard
	lately    = 100_000         // flows at the end, of which no session is too old yet
)

// session is one run of all steps.
type session struct {
	config
	engine *control.Client
	net    *network
}

func (s *session) steps(ctx context.Context) ([]Step, error) {
	shards, err := s.shards(ctx)
	if err == nil {
		err = s.give(ctx, shards/2, shards, 1)
	}
	if err != nil {
		return nil, err
	}
	var steps []Step
	all := make([]int, s.flows)
	for i := range all {
		all[i] = i
	}
	recent := all[max(0, len(all)-lately):]
	var moved []int // flows of the shards that move
	for _, flow := range recent {
		if shardOf(flow, shards) < s.moved && len(moved) < 4096 {
			moved = append(moved, flow)
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"neighbours are found", func() error { return s.converse(all[:1], 1) }},
		{"rules are made", func() error { return s.untilSteered(ctx, all[:hosts]) }},
		{"first packets", func() error { return s.converse(all, 1) }},
		{"later packets", func() error { return s.converse(recent, 1) }},
		{"banned packets", s.banned},
		{"before the move", func() error { return s.converse(moved, 2) }},
		{"during the move", func() error { return s.move(ctx, recent[:hosts]) }},
		{"after the move", func() error { return s.converse(moved, 2) }},
		{"all again", func() error { return s.converse(recent[:min(len(recent), 16*hosts)], 1) }},
	} {
		did, err := s.step(ctx, step.do)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		did.Name = step.name
		steps = append(steps, did)
	}
	return steps, nil
}

// shards waits for the engine's program, and counts the shards of its state. Few of them begin on one worker.
func (s *session) shards(ctx context.Context) (int, error) {
	for begun := time.Now(); ; time.Sleep(rest / 4) {
		stats, err := s.engine.Loads(ctx)
		if n := len(stats.GetShards()); err != nil || n > s.moved {
			return n, err
		}
		if time.Since(begun) > s.limit {
			return 0, fmt.Errorf("after %s, the engine has %d shards, too few to move %d", s.limit, len(stats.GetShards()), s.moved)
		}
	}
}

// step does something, and reads what was counted meanwhile.
func (s *session) step(ctx context.Context, do func() error) (Step, error) {
	before, err := s.engine.Stats(ctx)
	if err != nil {
		return Step{}, err
	}
	n, begun, sent := s.net, time.Now(), s.sent()
	answered, reordered, rebound, strange := n.answered.Load(), n.reordered.Load(), n.rebound.Load(), n.strange.Load()
	if err := do(); err != nil {
		return Step{}, err
	}
	took := time.Since(begun).Seconds()
	after, err := s.engine.Stats(ctx)
	if err != nil {
		return Step{}, err
	}
	step := counted(before, after)
	step.Seconds = took
	step.Sent, step.Answered = s.sent()-sent, n.answered.Load()-answered
	step.Reordered, step.Rebound, step.Strange = n.reordered.Load()-reordered, n.rebound.Load()-rebound, n.strange.Load()-strange
	return step, step.readRules(ctx, s.engine)
}

func (s *session) sent() (n int64) {
	for _, k := range s.net.sent {
		n += int64(k)
	}
	return n
}

// converse has each flow send so many packets in a row, and waits for the answers.
func (s *session) converse(flows []int, packets int) error {
	base, sent := s.net.answered.Load(), int64(0)
	for _, flow := range flows {
		for range packets {
			if !s.await(func() bool { return sent-(s.net.answered.Load()-base) < underWay }) {
				base = s.net.answered.Load() - sent // what is lost is not waited for again
			}
			if err := s.net.ask(flow); err != nil {
				return err
			}
			sent++
		}
	}
	s.await(func() bool { return s.net.answered.Load()-base >= sent })
	return nil
}

// await waits until something is so; false: nothing came for long.
func (s *session) await(so func() bool) bool {
	last, since := s.net.answered.Load(), time.Time{}
	for !so() {
		if now := s.net.answered.Load(); now != last || since.IsZero() {
			last, since = now, time.Now()
		} else if time.Since(since) > stillness {
			return false
		}
		time.Sleep(100 * time.Microsecond)
	}
	return true
}

// banned sends what the firewall drops.
func (s *session) banned() error {
	for flow := range bannedPer * hosts {
		if err := s.net.askBanned(flow % s.flows); err != nil {
			return err
		}
		if flow%underWay == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	time.Sleep(rest)
	return nil
}

// untilSteered lets flows converse until no packet comes to another worker than its shard's.
func (s *session) untilSteered(ctx context.Context, flows []int) error {
	for begun := time.Now(); ; {
		before, err := s.engine.Loads(ctx)
		if err != nil {
			return err
		}
		for round := time.Now(); time.Since(round) < rest; {
			if err := s.converse(flows, 4); err != nil {
				return err
			}
		}
		after, err := s.engine.Loads(ctx)
		if err != nil {
			return err
		}
		did := counted(before, after)
		if did.handed() == 0 {
			return nil
		}
		if time.Since(begun) > s.limit {
			return fmt.Errorf("after %s, %d packets a second still come to another worker than their shard's", s.limit, did.handed())
		}
	}
}

// give moves some shards to a worker.
func (s *session) give(ctx context.Context, first, end int, worker uint32) error {
	var moves []*controlpb.ShardMove
	for shard := first; shard < end; shard++ {
		moves = append(moves, &controlpb.ShardMove{Shard: uint32(shard), Worker: worker})
	}
	_, err := s.engine.MoveShards(ctx, moves)
	return err
}

// move gives the first shards to the second worker while flows converse, and until the devices' rules have followed.
func (s *session) move(ctx context.Context, flows []int) error {
	moved := make(chan error, 1)
	go func() {
		time.Sleep(rest / 2)
		moved <- s.give(ctx, 0, s.moved, 1)
	}()
	for begun := time.Now(); time.Since(begun) < rest; {
		if err := s.converse(flows, 4); err != nil {
			return err
		}
	}
	if err := <-moved; err != nil {
		return err
	}
	return s.untilSteered(ctx, flows)
}
