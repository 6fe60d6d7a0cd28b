package rig

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/repository"
)

// Batch is the number of packets that are injected at one time.
const Batch = 256

// Drive runs n packets through the chain. The suite's totals get them if they are counted.
func (r *Rig) Drive(ctx context.Context, seed uint64, n int, counted bool) error {
	if err := r.Start(ctx); err != nil {
		return err
	}
	defer r.Engine.Kill()
	err := r.traffic(ctx, seed, n)
	if err == nil {
		err = r.Engine.Stop()
	}
	if counted {
		r.Count(err)
	}
	return err
}

func (r *Rig) traffic(ctx context.Context, seed uint64, n int) error {
	t := draw.NewTraffic(seed, r.Graph, r.Result.Program)
	now := time.Second
	for r.Stats.Packets < n {
		now += Pause(t.Rand)
		s := Step{Now: now, Moves: r.DrawMoves(t.Rand)}
		for range Batch {
			s.Packets = append(s.Packets, t.Next())
		}
		left, err := r.Run(ctx, s)
		if err != nil {
			return err
		}
		for i, p := range s.Packets {
			t.Saw(p, left[i])
		}
	}
	if err := r.Finish(ctx, now); err != nil {
		return err
	}
	return r.Forget(ctx, now)
}

// Pause is the time between two batches: mostly short, sometimes about as long as a timeout.
func Pause(r *rand.Rand) time.Duration {
	switch n := r.IntN(24); {
	case n < 12:
		return time.Duration(r.IntN(20_000)) * time.Microsecond
	case n < 18:
		return time.Duration(r.IntN(2_000)) * time.Millisecond
	case n < 21:
		return time.Duration(r.IntN(12_000)) * time.Millisecond
	}
	t := draw.Timeouts
	exact := []time.Duration{t.ICMP, t.UDP, t.TCPTransitory, t.UDP, t.TCPTransitory, t.TCP}[r.IntN(6)]
	return exact + []time.Duration{0, time.Millisecond, -time.Millisecond, 0}[r.IntN(4)]
}

// EachSample has a subtest for each of the chains in config/samples.
func EachSample(t *testing.T, test func(*testing.T, *graph.Graph)) {
	t.Helper()
	NeedHarness(t)
	samples, err := repository.Path("config", "samples")
	if err != nil {
		t.Fatal(err)
	}
	bundle, findings := manifest.Load(samples)
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	for _, chain := range bundle.Chains {
		t.Run(chain.Name, func(t *testing.T) {
			g, findings := graph.Build(chain, graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
			if findings.HasErrors() {
				t.Fatal(bundle.Locate(findings))
			}
			draw.Adapt(g)
			test(t, g)
		})
	}
}

// EachRuleSet has a subtest for each rule set, in a firewall before a router and a NAPT.
func EachRuleSet(t *testing.T, test func(*testing.T, *graph.Graph)) {
	t.Helper()
	NeedHarness(t)
	for _, file := range draw.RuleSets(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { test(t, draw.ClassBench(filepath.Base(file), draw.ReadRuleSet(t, file))) })
	}
}

// DriveFixed runs n packets through a chain, beside other tests.
func DriveFixed(t *testing.T, g *graph.Graph, n int) {
	t.Helper()
	t.Parallel()
	r, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	DriveInTurn(t, r, n)
}

// DriveHashed is DriveFixed behind a device that hashes.
func DriveHashed(t *testing.T, g *graph.Graph, n int) {
	t.Helper()
	t.Parallel()
	DriveInTurn(t, NewHashed(t, g), n)
}

// DriveInTurn waits until an engine may run, and runs n packets through the chain. Of those that differ it
// reports the fewest.
func DriveInTurn(t *testing.T, r *Rig, n int) {
	t.Helper()
	Engines <- struct{}{}
	defer func() { <-Engines }()
	if err := r.Drive(t.Context(), 1, n, true); err != nil {
		var m *Mismatch
		if errors.As(err, &m) {
			ReportSmallest(t, r, m)
		}
		t.Fatal(err)
	}
}

// DriveNetwork runs packets that are aimed at the bounds of the routes.
func (r *Rig) DriveNetwork(ctx context.Context, seed uint64, packets int) error {
	if err := r.Start(ctx); err != nil {
		return err
	}
	defer r.Engine.Kill()
	t := draw.NewAimed(seed, r.Graph)
	now := time.Second
	var err error
	for r.Stats.Packets < packets && err == nil {
		now += Pause(t.Rand)
		s := Step{Now: now}
		for range Batch {
			s.Packets = append(s.Packets, t.Next())
		}
		var left [][]draw.Sent
		left, err = r.Run(ctx, s)
		for i := range left {
			t.Saw(s.Packets[i], left[i])
			if len(left[i]) > 0 {
				r.Stats.Left++
			}
		}
	}
	if err == nil {
		err = r.Finish(ctx, now)
	}
	if err == nil {
		err = r.Engine.Stop()
	}
	r.Count(err)
	return err
}
