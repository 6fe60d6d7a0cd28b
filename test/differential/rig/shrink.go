package rig

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/test/differential/draw"
)

// shrink leaves out of a failing history what the last packet's mismatch does not need. It
// replays against fresh engines and oracles until the time is over.
func (r *Rig) shrink(ctx context.Context, m *Mismatch, limit time.Duration) (*Mismatch, []Step) {
	deadline := time.Now().Add(limit)
	steps := split(r.History)
	if len(steps) == 0 {
		return m, nil
	}
	last := steps[len(steps)-1]
	before := steps[:len(steps)-1]
	best := m
	fails := func(before []Step) bool {
		if found := r.replay(ctx, append(slices.Clone(before), last)); found != nil {
			best = found
			return true
		}
		return false
	}
	if fails(nil) {
		before = nil
	}
	for chunk := (len(before) + 1) / 2; chunk > 0 && len(before) > 0; {
		removed := false
		for at := 0; at < len(before) && time.Now().Before(deadline); {
			less := slices.Concat(before[:at], before[min(at+chunk, len(before)):])
			if fails(less) {
				before, removed = less, true
			} else {
				at += chunk
			}
		}
		if time.Now().After(deadline) {
			break
		}
		if chunk == 1 && !removed {
			break
		}
		chunk = max(1, chunk/2)
	}
	best.alone = len(before)
	return best, append(before, last)
}

// split makes a step of every packet. What moves before the packets of a step does before the first of them.
func split(history []Step) []Step {
	var out []Step
	for _, s := range history {
		moves := s.Moves
		for _, p := range s.Packets {
			out = append(out, Step{Now: s.Now, Packets: []draw.Sent{p}, Moves: moves})
			moves = nil
		}
	}
	return out
}

// replay runs the steps on a fresh engine and oracle, and gives the mismatch of the last one, nil if there is none.
func (r *Rig) replay(ctx context.Context, steps []Step) *Mismatch {
	again := &Rig{Chain: r.Chain, Graph: r.Graph, Result: r.Result, Exhausts: r.Exhausts, Workers: r.Workers, Cut: r.Cut, Cache: r.Cache, elements: r.elements}
	if err := again.Start(ctx); err != nil {
		return nil
	}
	defer again.Engine.Kill()
	// Steps of one time go in together: the engine is asked as seldom as possible.
	for i := 0; i < len(steps); {
		s := Step{Now: steps[i].Now, Moves: steps[i].Moves}
		for first := i; i < len(steps) && steps[i].Now == s.Now && len(s.Packets) < 256 && (i == first || len(steps[i].Moves) == 0); i++ {
			s.Packets = append(s.Packets, steps[i].Packets...)
		}
		_, err := again.Run(ctx, s)
		var m *Mismatch
		if errors.As(err, &m) {
			if i == len(steps) && string(m.packet.Frame) == string(steps[len(steps)-1].Packets[0].Frame) {
				return m
			}
			return nil
		}
		if err != nil {
			return nil
		}
	}
	return nil
}
