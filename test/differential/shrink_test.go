package differential

import (
	"context"
	"errors"
	"slices"
	"time"
)

// shrink leaves out of a failing history what the last packet's mismatch does not need. It
// replays against fresh engines and oracles until the time is over.
func (r *rig) shrink(ctx context.Context, m *mismatch, limit time.Duration) (*mismatch, []step) {
	deadline := time.Now().Add(limit)
	steps := split(r.history)
	if len(steps) == 0 {
		return m, nil
	}
	last := steps[len(steps)-1]
	before := steps[:len(steps)-1]
	best := m
	fails := func(before []step) bool {
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

// split makes a step of every packet.
func split(history []step) []step {
	var out []step
	for _, s := range history {
		for _, p := range s.packets {
			out = append(out, step{s.now, []sent{p}})
		}
	}
	return out
}

// replay runs the steps on a fresh engine and oracle, and gives the mismatch of the last one, nil if there is none.
func (r *rig) replay(ctx context.Context, steps []step) *mismatch {
	again := &rig{chain: r.chain, g: r.g, res: r.res, exhausts: r.exhausts, workers: r.workers, cut: r.cut, cache: r.cache}
	if err := again.start(ctx); err != nil {
		return nil
	}
	defer again.engine.kill()
	// Steps of one time go in together: the engine is asked as seldom as possible.
	for i := 0; i < len(steps); {
		s := step{now: steps[i].now}
		for ; i < len(steps) && steps[i].now == s.now && len(s.packets) < 256; i++ {
			s.packets = append(s.packets, steps[i].packets...)
		}
		_, err := again.run(ctx, s)
		var m *mismatch
		if errors.As(err, &m) {
			if i == len(steps) && string(m.packet.frame) == string(steps[len(steps)-1].packets[0].frame) {
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
