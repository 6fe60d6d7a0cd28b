// Command scaling runs chains under traces of load on simulated cores, scaled by package
// scaling and by two baselines, and writes docs/scaling.md with its table and plots. It
// comes out the same on every machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

func main() {
	out := flag.String("out", "docs", "folder for scaling.md and scaling/*")
	flag.Parse()
	if err := write(*out, simulate(full)); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

// sizes says how much is simulated.
type sizes struct {
	Chains int // per trace
	Length time.Duration
	Seed   uint64
}

// full is what docs/scaling.md shows.
var full = sizes{Chains: 350, Length: 10 * time.Minute, Seed: 1}

// The common part of all chains and policies.
const (
	tick      = 100 * time.Millisecond
	period    = time.Second // of the operator
	shards    = shard.Count
	podCores  = 4
	maxPods   = 8
	target    = 0.7
	podStart  = 15 * time.Second
	queue     = 0.004  // core seconds of work that wait in a receive queue
	costCore  = 0.0002 // core seconds that a move within a pod costs the core that gets the shard
	costPod   = 0.005  // and between pods: some 10,000 entries
	warmUp    = 30 * time.Second
	unitPlots = 5 * time.Second
)
