package main

import (
	"math"
	"math/rand/v2"
	"time"
)

// trace is a shape of load over time.
type trace struct {
	Name, About string
	// shape makes what is wanted in all over time, of a mean around 1, for one chain.
	shape func(rng *rand.Rand, length time.Duration) func(at time.Duration) float64
	flows bool // load is flows, not a shape
	// Onset is when load rises at once, in all chains; 0: it does not.
	Onset time.Duration
}

const (
	stepAt   = 1 * time.Minute
	stepBack = 6 * time.Minute
)

var traces = []trace{
	{Name: "constant", About: "the same all the time", shape: constant},
	{Name: "sine", About: "0.2 to 1.8 times the base, with a period of 1 to 5 minutes", shape: sine},
	{Name: "step", About: "2 to 6 times the base from the first minute to the sixth", shape: step, Onset: stepAt},
	{Name: "spike", About: "2 to 5 times the base for 1 to 5 seconds, about once a minute", shape: spikes},
	{Name: "heavy-tailed", About: "flows that come at random, with Pareto rates (α = 1.3) and durations (α = 1.5)", flows: true},
	{Name: "diurnal", About: "a day within the run: a third of the base at night, twice the base in the evening", shape: diurnal},
}

func constant(*rand.Rand, time.Duration) func(time.Duration) float64 {
	return func(time.Duration) float64 { return 1 }
}

func sine(rng *rand.Rand, _ time.Duration) func(time.Duration) float64 {
	cycle := 60 + 240*rng.Float64()
	return func(at time.Duration) float64 { return 1 + 0.8*math.Sin(2*math.Pi*at.Seconds()/cycle) }
}

func step(rng *rand.Rand, _ time.Duration) func(time.Duration) float64 {
	height := 2 + 4*rng.Float64()
	return func(at time.Duration) float64 {
		if at >= stepAt && at < stepBack {
			return height
		}
		return 1
	}
}

func spikes(rng *rand.Rand, length time.Duration) func(time.Duration) float64 {
	type spike struct {
		from, to time.Duration
		height   float64
	}
	var list []spike
	for at := warmUp; at < length; {
		at += time.Duration(60 * rng.ExpFloat64() * float64(time.Second))
		to := at + time.Duration((1+4*rng.Float64())*float64(time.Second))
		list = append(list, spike{at, to, 2 + 3*rng.Float64()})
		at = to
	}
	return func(at time.Duration) float64 {
		for len(list) > 0 && at >= list[0].to {
			list = list[1:]
		}
		if len(list) > 0 && at >= list[0].from {
			return list[0].height
		}
		return 1
	}
}

// diurnal follows what access networks see: lowest at 5, highest at 21 o'clock.
func diurnal(_ *rand.Rand, length time.Duration) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		hour := 24 * at.Seconds() / length.Seconds()
		day := math.Cos(2 * math.Pi * (hour - 21) / 24)
		half := 0.3 * math.Cos(4*math.Pi*(hour-21)/24)
		return 0.33 + 1.67*(day+half+1.045)/2.345
	}
}
