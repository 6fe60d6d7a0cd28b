package balance

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

func (w *world) ticks(n int) {
	for range n {
		w.agents()
	}
}

func drawWorks(t *rapid.T, most int) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(0, 0.3), 1, most).Draw(t, "works")
}

func TestBalancerLaws(t *testing.T) {
	for name, law := range balancerLaws {
		t.Run(name, rapid.MakeCheck(law))
	}
}

// balancerLaws hold for all loads.
var balancerLaws = map[string]func(*rapid.T){
	"every shard stays owned by exactly one core that works": func(t *rapid.T) {
		w, p := pod(t, 4, drawWorks(t, 64)...)
		w.noise = uniform(drawSeed(t), 0.5)
		for range 40 {
			p.cores = rapid.IntRange(1, 4).Draw(t, "working")
			w.ticks(3) // 96 moves are enough for all
			for shard, core := range p.owner {
				if core >= p.cores {
					t.Fatalf("%s is on core %d, but %d work", shard, core, p.cores)
				}
			}
			if len(p.owner) != len(w.shards) {
				t.Fatalf("%d shards have an owner, want %d", len(p.owner), len(w.shards))
			}
		}
	},
	"no step makes the busiest core busier": func(t *rapid.T) {
		w, p := pod(t, 4, drawWorks(t, 64)...)
		for _, shard := range w.shards {
			p.owner[shard] = rapid.IntRange(0, 3).Draw(t, "core")
		}
		for range 20 {
			before := slices.Max(w.load())
			w.agents()
			if after := slices.Max(w.load()); after > before+1e-9 {
				t.Fatalf("the busiest core went from %.3f to %.3f", before, after)
			}
		}
	},
	"many light shards come to lie evenly within a second": func(t *rapid.T) {
		works := make([]float64, 128)
		for i := range works {
			works[i] = rapid.Float64Range(0.001, 0.02).Draw(t, "work")
		}
		w, _ := pod(t, rapid.IntRange(2, 8).Draw(t, "cores"), works...)
		w.ticks(10)
		load := w.load()
		if gap := slices.Max(load) - slices.Min(load); gap > DefaultPolicy.Start {
			t.Fatalf("cores are %.3f apart: %.3f", gap, load)
		}
	},
	"constant load with noise settles, and then no shard moves": func(t *rapid.T) {
		works := make([]float64, 128)
		for i := range works {
			works[i] = rapid.Float64Range(0, 0.02).Draw(t, "work")
		}
		w, _ := pod(t, rapid.IntRange(1, 8).Draw(t, "cores"), works...)
		w.noise = uniform(drawSeed(t), 0.3)
		w.ticks(30)
		settled := w.moves
		w.ticks(300)
		if w.moves != settled {
			t.Fatalf("%d moves in 30 s of constant load", w.moves-settled)
		}
	},
	"one core never moves anything": func(t *rapid.T) {
		w, _ := pod(t, 1, drawWorks(t, 64)...)
		w.noise = uniform(drawSeed(t), 0.9)
		w.ticks(50)
		if w.moves != 0 {
			t.Fatalf("%d moves", w.moves)
		}
	},
}

// How many more there can be is not bounded by one: with few shards of very different weight it is sometimes more.
func TestTwoCoresAreBalancedWithFewMoves(t *testing.T) {
	const cases = 5000
	random, over := rand.New(rand.NewPCG(1, 2)), map[int]int{}
	for range cases {
		works := make([]float64, 1+random.IntN(10))
		for i := range works {
			works[i] = 0.3 * random.Float64()
		}
		w, p := pod(t, 2, works...)
		var cores []int
		for _, shard := range w.shards {
			p.owner[shard] = random.IntN(p.cores)
			cores = append(cores, p.owner[shard])
		}
		w.agents()
		over[w.moves-fewest(w, cores, p.cores, slices.Max(w.load()))]++
	}
	if more := cases - over[0] - over[1]; more > cases/100 {
		t.Errorf("in %d of %d cases there were more than one move more than the fewest that do as well: %v", more, cases, over)
	}
	t.Logf("moves more than the fewest that do as well, and in how many cases: %v", over)
}

// fewest is the smallest number of moves after which no core has more than limit, by
// trying all.
func fewest(w *world, cores []int, working int, limit float64) int {
	load := make([]float64, working)
	best := math.MaxInt
	var try func(i, moves int)
	try = func(i, moves int) {
		if moves >= best {
			return
		}
		if i == len(cores) {
			if slices.Max(load) <= limit+1e-9 {
				best = moves
			}
			return
		}
		work := w.work[w.shards[i]]
		for c := range working {
			load[c] += work
			if c == cores[i] {
				try(i+1, moves)
			} else {
				try(i+1, moves+1)
			}
			load[c] -= work
		}
	}
	try(0, 0)
	return best
}

func TestAMoveThatGainsLessThanItCostsIsNotMade(t *testing.T) {
	w, p := pod(t, 2, 0.5, 0.001, 0.001)
	w.ticks(20)
	if w.moves != 0 {
		t.Errorf("%d moves of shards that gain 1 ms in a second, at a cost of 1.02 ms", w.moves)
	}
	w.work[w.shards[1]] = 0.003
	w.ticks(20)
	if w.moves != 1 || p.owner[w.shards[1]] != 1 {
		t.Errorf("%d moves, want the one of the shard that gains 3 ms in a second at a cost of 1.06 ms", w.moves)
	}
}

func TestShardsOfOneGroupAreKeptTogether(t *testing.T) {
	shards := append(shardsOf("dns", 16), shardsOf("web", 16)...)
	w := newWorld(t, 2, shards)
	for _, shard := range shards { // by weight alone, the groups would go by turns
		w.work[shard] = 0.03 + 0.0002*float64(shard.Number)
	}
	w.ticks(10)
	on := map[string]map[int]bool{"dns": {}, "web": {}}
	for shard, core := range w.pod.owner {
		on[shard.Group][core] = true
	}
	if len(on["dns"])+len(on["web"]) > 3 {
		t.Errorf("both groups are on both cores: %v", on)
	}
}

func TestACoreThatReceivesForOthersGetsFewerShards(t *testing.T) {
	b := New(DefaultPolicy)
	const share = 0.6 / 64 // of a core, that each shard wants
	core := make([]int, 64)
	for tick := range 20 {
		s := load.Sample{At: epoch.Add(time.Duration(tick) * 100 * time.Millisecond), Cores: []load.Core{{Packets: 1e5, Other: 0.4}, {Packets: 1e5}}}
		for i, c := range core {
			s.Shards = append(s.Shards, load.Shard{ID: shard.ID{Group: "all", Number: i}, Core: c, Work: share})
		}
		for _, m := range b.Step(s, 2).Moves {
			core[m.Shard.Number] = m.To
		}
	}
	load := []float64{0.4, 0}
	for _, c := range core {
		load[c] += share
	}
	if gap := math.Abs(load[0] - load[1]); gap > DefaultPolicy.Start {
		t.Errorf("the cores have %.2f, %.2f apart: want less than %.2f", load, gap, DefaultPolicy.Start)
	}
}

func TestAShardThatWasMovedRests(t *testing.T) {
	for name, tc := range map[string]struct {
		rises float64 // another shard of its new core
		soon  bool    // it goes back within half a second
	}{
		"though it would be better elsewhere again":     {0.5, false},
		"but not on a core that wants more than it has": {0.9, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := pod(t, 2, 0.3, 0.3, 0.1)
			p.owner[w.shards[2]] = 1
			w.ticks(1)
			if w.moves != 1 || p.owner[w.shards[2]] != 1 {
				t.Fatalf("%d moves to owners %v, want one of the two shards to go to the other core", w.moves, p.owner)
			}
			w.work[w.shards[2]] = tc.rises
			w.ticks(5)
			if soon := w.moves > 1; soon != tc.soon {
				t.Errorf("moved again within half a second: %t, want %t", soon, tc.soon)
			}
			w.ticks(10)
			if w.moves != 2 {
				t.Errorf("%d moves after 1.5 s, want 2", w.moves)
			}
		})
	}
}

func TestElephants(t *testing.T) {
	t.Run("a flow that is too heavy for a core is named", func(t *testing.T) {
		w, p := pod(t, 2, 1.3, 0.1, 0.1)
		w.flow[w.shards[0]] = load.Flow{Name: "tcp 10.0.0.7:443 > 192.0.2.1:50123", Share: 0.9}
		w.ticks(20)
		if len(p.heavy) != 1 || p.heavy[0].Shard != w.shards[0] {
			t.Fatalf("too heavy: %v, want web/0", p.heavy)
		}
		if text := p.heavy[0].String(); !strings.Contains(text, "shard web/0 wants 1.30 of a core") || !strings.Contains(text, "1.17 of that is the flow tcp 10.0.0.7:443 > 192.0.2.1:50123") {
			t.Errorf("it says: %s", text)
		}
	})
	t.Run("it gets a core of its own, and nothing moves any more", func(t *testing.T) {
		w, p := pod(t, 2, 1.3, 0.1, 0.1, 0)
		w.ticks(10)
		if p.owner[w.shards[0]] == p.owner[w.shards[1]] || p.owner[w.shards[1]] != p.owner[w.shards[2]] {
			t.Errorf("owners: %v", p.owner)
		}
		before := w.moves
		w.ticks(100)
		if w.moves != before {
			t.Errorf("%d moves that help nobody", w.moves-before)
		}
	})
	t.Run("a shard with many flows is named without one", func(t *testing.T) {
		w, p := pod(t, 2, 1.3, 0.1)
		w.flow[w.shards[0]] = load.Flow{Name: "udp 10.0.0.7:53 > 192.0.2.1:53", Share: 0.05}
		w.ticks(20)
		if len(p.heavy) != 1 || p.heavy[0].Flow != "" {
			t.Errorf("too heavy: %v, want web/0 without a flow", p.heavy)
		}
	})
	t.Run("a short burst is none, and none is for ever", func(t *testing.T) {
		w, p := pod(t, 2, 1.3, 0.1)
		w.ticks(8)
		if len(p.heavy) != 0 {
			t.Errorf("too heavy after 0.8 s: %v", p.heavy)
		}
		w.ticks(12)
		if len(p.heavy) != 1 {
			t.Errorf("too heavy after 2 s: %v", p.heavy)
		}
		w.work[w.shards[0]] = 0.3
		w.ticks(10)
		if len(p.heavy) != 0 {
			t.Errorf("still too heavy: %v", p.heavy)
		}
	})
}

func TestABalancerSeesAShardAnewThatComesBackToThePod(t *testing.T) {
	w, p := pod(t, 1, 0.4, 0.4)
	w.ticks(20)
	gone := w.shards[1]
	delete(p.owner, gone)
	w.ticks(1)
	p.owner[gone], w.work[gone] = 0, 0.1
	w.ticks(1)
	for _, l := range p.balancer.Report().Shards {
		if l.ID == gone && math.Abs(l.Work-0.1) > 1e-9 {
			t.Errorf("work of %s is %.2f, want the 0.10 that were seen since it is back", gone, l.Work)
		}
	}
}

func TestAPauseDoesNotLastInTheMemory(t *testing.T) {
	w, p := pod(t, 1, 0.4)
	w.ticks(10)
	w.now = w.now.Add(time.Minute)
	w.work[w.shards[0]] = 0.8
	w.ticks(1)
	if l := p.balancer.Report().Shards[0]; math.Abs(l.Work-0.8) > 0.01 {
		t.Errorf("after a minute without a sample the work is %.2f, want 0.80", l.Work)
	}
}

func TestAnEngineThatDrownsIsUrgent(t *testing.T) {
	for name, tc := range map[string]struct {
		works []float64
		want  bool
	}{
		"two shards want more than the core has": {[]float64{0.7, 0.7}, true},
		"all is done":                            {[]float64{0.4, 0.4}, false},
		"one shard alone wants more than a core": {[]float64{1.4, 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := pod(t, 1, tc.works...)
			if got := p.balancer.Step(w.sample(), 1).Urgent; got != tc.want {
				t.Errorf("urgent: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestAdoptedShardsAreSpreadOverTheCoresThatWork(t *testing.T) {
	w, p := pod(t, 3, 0.3, 0.1)
	p.owner[w.shards[1]] = 1
	w.ticks(1)
	var arriving []load.Shard
	for _, shard := range shardsOf("dns", 8) {
		arriving = append(arriving, load.Shard{ID: shard, Work: 0.1})
	}
	load := w.load()
	for _, m := range p.balancer.Adopt(arriving, 3) {
		if m.From != -1 || m.Shard.Group != "dns" {
			t.Errorf("move %+v, want one of an arriving shard from -1", m)
		}
		load[m.To] += 0.1
	}
	if slices.Max(load)-slices.Min(load) > 0.1+1e-9 || load[0]+load[1]+load[2] < 1.2-1e-9 {
		t.Errorf("loads %.2f, want 1.2 spread evenly", load)
	}
}
