package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// workload is what is wanted of one chain. The same seed gives the same, whoever scales.
type workload struct {
	names  []shard.ID
	groups int
	base   float64 // cores
	rng    *rand.Rand
	shape  func(at time.Duration) float64
	flows  *flows
	weight []float64 // share of each shard
	spread float64   // of weights, as log-normal deviation
	sway   float64   // of the whole chain, around 0
}

func newLoad(t trace, s sizes, chain int) *workload {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(chain)))
	l := &workload{rng: rng, base: 0.2 * math.Pow(10, rng.Float64()), groups: 1 + rng.IntN(4), spread: 0.2 + rng.Float64()}
	if chain == 0 { // the one that plots show
		l.base, l.groups = 1, 3
	}
	heavier := make([]float64, l.groups)
	for g := range heavier {
		heavier[g] = math.Exp(rng.NormFloat64())
	}
	for i := range shards {
		g := i * l.groups / shards
		l.names = append(l.names, shard.ID{Group: string(rune('a' + g)), Number: i})
		l.weight = append(l.weight, heavier[g]*l.draw())
	}
	total := 0.0
	for _, w := range l.weight {
		total += w
	}
	for i := range l.weight {
		l.weight[i] /= total
	}
	if t.flows {
		l.flows = newFlows(rng, l.base)
	} else {
		l.shape = t.shape(rng, s.Length)
	}
	return l
}

func (l *workload) draw() float64 { return math.Exp(l.spread * l.rng.NormFloat64()) }

const (
	swayBy    = 0.05 // deviation of the noise that all shards share
	swayFor   = 10   // ticks that it lasts
	noiseBy   = 0.1  // deviation of each shard's own, per tick
	driftEach = 20   // ticks in which two shards exchange their weights
)

// next fills in what is wanted of each shard in a tick, in cores.
func (l *workload) next(at time.Duration, wanted []float64) {
	l.sway += (-l.sway + l.rng.NormFloat64()*swayBy*math.Sqrt(2*swayFor)) / swayFor
	if int(at/tick)%driftEach == 0 {
		i, j := l.rng.IntN(shards), l.rng.IntN(shards)
		l.weight[i], l.weight[j] = l.weight[j], l.weight[i]
	}
	if l.flows != nil {
		l.flows.next(at, wanted)
	} else {
		total := l.base * l.shape(at)
		for i, w := range l.weight {
			wanted[i] = total * w
		}
	}
	for i := range wanted {
		wanted[i] *= max(0, 1+l.sway+noiseBy*l.rng.NormFloat64())
	}
}

// flows come, stay and go. Their rates and durations have heavy tails.
type flows struct {
	rng  *rand.Rand
	each float64 // arrivals per tick
	live []flow
}

type flow struct {
	shard int
	rate  float64 // cores
	until time.Duration
}

const (
	rateTail, rateLeast, rateMost             = 1.3, 0.002, 0.8 // cores
	durationTail, durationLeast, durationMost = 1.5, 1.0, 300.0 // seconds
)

func newFlows(rng *rand.Rand, base float64) *flows {
	work := paretoMean(rateTail, rateLeast, rateMost) * paretoMean(durationTail, durationLeast, durationMost)
	f := &flows{rng: rng, each: base / work * tick.Seconds()}
	for at := -time.Minute; at < 0; at += tick {
		f.arrive(at) // so that there are some at the beginning
	}
	return f
}

func (f *flows) arrive(at time.Duration) {
	for wait := f.rng.ExpFloat64(); wait < f.each; wait += f.rng.ExpFloat64() {
		lasts := pareto(f.rng, durationTail, durationLeast, durationMost)
		f.live = append(f.live, flow{
			shard: f.rng.IntN(shards), rate: pareto(f.rng, rateTail, rateLeast, rateMost),
			until: at + time.Duration(lasts*float64(time.Second)),
		})
	}
}

func (f *flows) next(at time.Duration, wanted []float64) {
	f.arrive(at)
	f.live = slices.DeleteFunc(f.live, func(l flow) bool { return l.until < at })
	clear(wanted)
	for _, l := range f.live {
		wanted[l.shard] += l.rate
	}
}

// pareto draws from a Pareto distribution that is cut off at both ends.
func pareto(rng *rand.Rand, tail, least, most float64) float64 {
	cut := 1 - math.Pow(least/most, tail)
	return least / math.Pow(1-cut*rng.Float64(), 1/tail)
}

func paretoMean(tail, least, most float64) float64 {
	cut := 1 - math.Pow(least/most, tail)
	return tail / (tail - 1) * least * (1 - math.Pow(least/most, tail-1)) / cut
}
