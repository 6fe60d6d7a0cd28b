package differential

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/packets"
)

// batch is the number of packets that are injected at one time.
const batch = 256

// total is what all tests of the suite did.
var total struct {
	sync.Mutex
	packets, chains, mismatches int
	lines                       []string // for the end
}

// engines bounds the chains that run at once: each is an engine and an oracle, a core for both.
var engines = make(chan struct{}, 2)

// Least is how much a suite has to do, with -short too, unless -run or -skip leave something out.
type Least struct{ Packets, Chains int }

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
	fmt.Printf("differential: %d packets compared, %d chains, %d mismatches\n", total.packets, total.chains, total.mismatches)
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if _, err := harnessPath(); err == nil && code == 0 && whole && (total.packets < least.Packets || total.chains < least.Chains) {
		fmt.Printf("differential: want at least %d packets and %d chains\n", least.Packets, least.Chains)
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
		"rapid.checks": fmt.Sprint(scale(8, 4*5)), "rapid.seed": fmt.Sprint(firstSeed), "rapid.shrinktime": "20s", "rapid.nofailfile": "true",
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

// atEnd has the suite print a line at its end.
func atEnd(line string) {
	total.Lock()
	defer total.Unlock()
	total.lines = append(total.lines, line)
}

func TestMain(m *testing.M) { Main(m, Least{Packets: 2_000_000, Chains: 25}) }

// needHarness skips a test if there is no engine.
func needHarness(t *testing.T) {
	t.Helper()
	if _, err := harnessPath(); err != nil {
		t.Skip(err)
	}
}

func TestTheEngineDoesWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			engines <- struct{}{}
			defer func() { <-engines }()
			var failed *rig // the last failing chain is the smallest that rapid found
			var why *mismatch
			defer func() {
				if why != nil {
					reportSmallest(t, failed, why)
				}
			}()
			rapid.Check(t, func(rt *rapid.T) {
				g := drawChain(rt, shape)
				seed := rapid.Uint64().Draw(rt, "traffic seed")
				r, err := newRig(g)
				if err != nil {
					rt.Fatal(err)
				}
				r.exhausts = shape.exhausts
				if err := r.drive(t.Context(), seed, scale(100_000, 30_000), why == nil); err != nil {
					var m *mismatch
					if errors.As(err, &m) {
						failed, why = r, m
					}
					rt.Fatalf("%v\n%s", err, dump(g))
				}
			})
		})
	}
}

// drive runs n packets through the chain. The suite's totals get them if they are counted.
func (r *rig) drive(ctx context.Context, seed uint64, n int, counted bool) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	defer r.engine.kill()
	err := r.traffic(ctx, seed, n)
	if err == nil {
		err = r.engine.stop()
	}
	if counted {
		r.count(err)
	}
	return err
}

// count adds what was run to the suite's totals.
func (r *rig) count(err error) {
	total.Lock()
	defer total.Unlock()
	total.chains++
	total.packets += r.stats.packets
	if err != nil {
		total.mismatches++
	}
}

func (r *rig) traffic(ctx context.Context, seed uint64, n int) error {
	t := newTraffic(seed, r.g, r.res.Program)
	now := time.Second
	for r.stats.packets < n {
		now += pause(t.Rand)
		s := step{now: now}
		for range batch {
			s.packets = append(s.packets, t.next())
		}
		left, err := r.run(ctx, s)
		if err != nil {
			return err
		}
		for i, p := range s.packets {
			t.saw(p, left[i])
		}
	}
	if err := r.finish(ctx, now); err != nil {
		return err
	}
	return r.forget(ctx, now)
}

// pause is the time between two batches: mostly short, sometimes about as long as a timeout.
func pause(r *rand.Rand) time.Duration {
	switch n := r.IntN(24); {
	case n < 12:
		return time.Duration(r.IntN(20_000)) * time.Microsecond
	case n < 18:
		return time.Duration(r.IntN(2_000)) * time.Millisecond
	case n < 21:
		return time.Duration(r.IntN(12_000)) * time.Millisecond
	}
	exact := []time.Duration{timeouts.ICMP, timeouts.UDP, timeouts.TCPTransitory, timeouts.UDP, timeouts.TCPTransitory, timeouts.TCP}[r.IntN(6)]
	return exact + []time.Duration{0, time.Millisecond, -time.Millisecond, 0}[r.IntN(4)]
}

// reportSmallest shrinks the packets of the smallest failing chain, and logs what is left.
func reportSmallest(t *testing.T, r *rig, m *mismatch) {
	if m.packet.frame == nil {
		return // counted wrong at the end, by all packets together
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	best, steps := r.shrink(ctx, m, 30*time.Second)
	var s strings.Builder
	for i, step := range steps {
		if i == 12 && len(steps) > 14 {
			fmt.Fprintf(&s, "… %d more\n", len(steps)-i-1)
		}
		if i >= 12 && i < len(steps)-1 {
			continue
		}
		for _, p := range step.packets {
			fmt.Fprintf(&s, "at %v into %s:\n%s\n", step.now, r.g.Interfaces[p.iface].Name, packets.Describe(p.frame))
		}
	}
	t.Logf("the smallest example: %d packets before the one that differs\n%s%v", best.alone, s.String(), best)
}

// dump is the chain, for people.
func dump(g *graph.Graph) string {
	var s strings.Builder
	for _, i := range g.Interfaces {
		fmt.Fprintf(&s, "interface %s %v mtu %d gateway %v\n", i.Name, i.Prefix, i.MTU, i.Gateway)
	}
	for i, n := range g.Nodes {
		fmt.Fprintf(&s, "%3d %s: %s %+v →", i, n.Name, n.Element.Kind(), n.Element)
		for _, e := range n.Out {
			fmt.Fprintf(&s, " %d.%d", e.To, e.Port)
		}
		s.WriteString("\n")
	}
	return s.String()
}
