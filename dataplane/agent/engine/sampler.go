package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// The engine is asked at most once a second, whoever asks; rates are over the last five.
const (
	samplePeriod = time.Second
	sampleWindow = 5
)

// Settled is how long after a load the numbers are of the new program alone.
const Settled = sampleWindow * time.Second

// Sample is the engine's counters at a time.
type Sample struct {
	At    time.Time
	Stats *controlpb.Stats
}

// Hash is the program in force, empty if there is none.
func (s *Sample) Hash() string {
	if s == nil {
		return ""
	}
	return HashOf(s.Stats)
}

// HashOf is the program that counters are of, empty if there is none.
func HashOf(s *controlpb.Stats) string { return hex.EncodeToString(s.GetHash()) }

// Sessions is the number of live sessions of all state tables.
func (s *Sample) Sessions() (sum int64) {
	if s == nil {
		return 0
	}
	for _, t := range s.Stats.GetTables() {
		sum += int64(t.GetSessions())
	}
	return sum
}

// merger adds what devices did in the engine's place to what it counted.
type merger interface{ MergeInto(*controlpb.Stats) }

// Sampler reads the engine's counters for all who want them.
type Sampler struct {
	engine *Engine
	drops  merger
	clock  clock.PassiveClock

	turn sync.Mutex // held while the engine is asked
	mu   sync.Mutex
	// samples of one run of the engine, oldest first.
	samples []*Sample
}

// NewSampler makes a sampler of an engine, with the drops of its devices.
func NewSampler(e *Engine, drops merger, c clock.PassiveClock) *Sampler {
	return &Sampler{engine: e, drops: drops, clock: c}
}

// Read is the newest sample: one of the last second, or a new one. While a program is loaded it is the last one.
func (s *Sampler) Read(ctx context.Context) (*Sample, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	_, last := s.Window()
	if last != nil && (s.clock.Since(last.At) < samplePeriod || s.engine.Loading()) {
		return last, nil
	}
	stats, err := s.engine.Stats(ctx)
	if last != nil && errors.Is(err, control.ErrNotAsked) {
		return last, nil // it is at another request, of which the one who asked will hear
	}
	if err != nil {
		s.Reset()
		return nil, err
	}
	s.drops.MergeInto(stats)
	s.mu.Lock()
	defer s.mu.Unlock()
	sample := &Sample{At: s.clock.Now(), Stats: stats}
	if n := len(s.samples); n > 0 && Restarted(s.samples[n-1].Stats, stats) {
		s.samples = nil
	}
	s.samples = append(s.samples, sample)
	if len(s.samples) > sampleWindow+1 {
		s.samples = s.samples[1:]
	}
	return sample, nil
}

// Window is the oldest and the newest sample that rates are computed from; the oldest is nil if there is one only.
func (s *Sampler) Window() (before, now *Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := len(s.samples); n {
	case 0:
		return nil, nil
	case 1:
		return nil, s.samples[0]
	default:
		return s.samples[0], s.samples[n-1]
	}
}

// Classes are the last counters by class, of devices as well; nil if there are none.
func (s *Sampler) Classes() *controlpb.Stats {
	if _, now := s.Window(); now != nil {
		return now.Stats
	}
	return nil
}

// Last are the two newest samples; the first is nil if there is one only.
func (s *Sampler) Last() (before, now *Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.samples)
	if n > 1 {
		before = s.samples[n-2]
	}
	if n > 0 {
		now = s.samples[n-1]
	}
	return before, now
}

// Reset forgets all samples: the engine is another one, or another program is in force.
func (s *Sampler) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = nil
}
