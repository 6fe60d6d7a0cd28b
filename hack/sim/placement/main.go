// Command placement places chains on simulated nodes, by Metron's two random choices and by
// what else one could do, and writes docs/placement.md with its plots. All but the
// decision times comes out the same on every machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	out := flag.String("out", "docs", "folder for placement.md and placement/*.svg")
	flag.Parse()
	began := time.Now()
	results := simulate(full, func() time.Duration { return time.Since(began) })
	if err := write(*out, results); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

// sizes says how much is simulated.
type sizes struct {
	Nodes, Chains int // chains that run at a time
	Turnover      int // arrivals, each for a departure, that are measured
	Period        int // arrivals between load reports, where they are late
	Deals         int // seeds per row of the comparison with Figure 8.7
	Networks      []network
	Seed          uint64
}

// full is what docs/placement.md shows.
var full = sizes{
	Nodes: 1024, Chains: 10_000, Turnover: 20_000, Period: 500, Seed: 1,
	Deals: 100, Networks: []network{{16, 200}, {128, 1000}, {1024, 10_000}}, // those of Figure 8.7
}

// results is all that the report shows.
type results struct {
	sizes
	Prompt, Late []churnResult // per policy
	Fill         []fillResult  // per policy
	Deal         []dealResult  // per network and policy
}

// simulate runs every experiment; clock times decisions.
func simulate(s sizes, clock func() time.Duration) results {
	r := results{sizes: s}
	for _, p := range policies {
		r.Prompt = append(r.Prompt, churn(s, p, 1, clock))
		r.Late = append(r.Late, churn(s, p, s.Period, clock))
		r.Fill = append(r.Fill, fill(s, p))
	}
	for _, n := range s.Networks {
		for _, p := range []policy{twoChoices, oneChoice, leastLoaded} {
			r.Deal = append(r.Deal, deal(n, p, s))
		}
	}
	return r
}
