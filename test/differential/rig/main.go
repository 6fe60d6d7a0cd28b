package rig

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// total is what all tests of the suite did.
var total struct {
	sync.Mutex
	packets, chains, mismatches int
	moves                       int      // of shards to other workers
	lines                       []string // for the end
}

// Engines bounds the chains that run at once: each is an engine and an oracle, a core for both.
var Engines = make(chan struct{}, 2)

// Least is how much a suite has to do, with -short too, unless -run or -skip leave something out. Moves are of shards to other workers.
type Least struct{ Packets, Chains, Moves int }

// Main runs the tests of a suite. A suite that does less than it has to fails, if there is an engine.
func Main(m *testing.M, least Least) {
	flag.Parse()
	if err := chooseFlags(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	slices.Sort(total.lines)
	for _, line := range total.lines {
		fmt.Println(line)
	}
	fmt.Printf("differential: %d packets compared, %d chains, %d shards moved, %d mismatches\n", total.packets, total.chains, total.moves, total.mismatches)
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if _, err := harnessPath(); err == nil && code == 0 && whole && (total.packets < least.Packets || total.chains < least.Chains || total.moves < least.Moves) {
		fmt.Printf("differential: want at least %d packets, %d chains and %d shards moved\n", least.Packets, least.Chains, least.Moves)
		code = 1
	}
	os.Exit(code)
}

// chooseFlags chooses the seed, and sets flags of rapid that are not given. Chains of a shape are eight, with -short four: rapid runs a fifth
// of its checks then. A failing chain shrinks for a while.
func chooseFlags() error {
	if err := chooseSeed(); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"rapid.checks": fmt.Sprint(Scale(8, 4*5)), "rapid.seed": fmt.Sprint(FirstSeed), "rapid.shrinktime": "20s", "rapid.nofailfile": "true",
	} {
		given := false
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
		if !given {
			if err := flag.Set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// AtEnd has the suite print a line at its end.
func AtEnd(line string) {
	total.Lock()
	defer total.Unlock()
	total.lines = append(total.lines, line)
}

// NeedHarness skips a test if there is no engine.
func NeedHarness(t *testing.T) {
	t.Helper()
	if _, err := harnessPath(); err != nil {
		t.Skip(err)
	}
}

// Count adds what was run to the suite's totals.
func (r *Rig) Count(err error) {
	total.Lock()
	defer total.Unlock()
	total.chains++
	total.packets += r.Stats.Packets
	total.moves += r.Stats.Moves
	if err != nil {
		total.mismatches++
	}
}
