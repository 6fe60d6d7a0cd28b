package scaling

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/dataplane/load"
)

func drawBounds(t *rapid.T) Bounds {
	b := Bounds{Target: rapid.Float64Range(0.3, 0.95).Draw(t, "target"), LoseNodes: rapid.IntRange(0, 1).Draw(t, "nodes to lose")}
	b.MinPods = rapid.IntRange(1, 3).Draw(t, "min pods")
	b.MaxPods = b.MinPods + rapid.IntRange(0, 4).Draw(t, "more pods")
	b.MinCores = rapid.IntRange(1, 3).Draw(t, "min cores")
	b.MaxCores = b.MinCores + rapid.IntRange(0, 5).Draw(t, "more cores")
	return b
}

// drawInput makes reports that nothing need explain: any shard anywhere, any load.
func drawInput(t *rapid.T, b Bounds, now time.Time) Input {
	in := Input{Now: now, Bounds: b, Shards: slices.Concat(shardsOf("dns", 8), shardsOf("web", 8))}
	for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
		p := Pod{Name: fmt.Sprint("edge-", i), Ready: rapid.IntRange(0, 4).Draw(t, "ready") > 0, Cores: rapid.IntRange(0, 8).Draw(t, "cores")}
		p.Node = fmt.Sprint("n", rapid.IntRange(0, 3).Draw(t, "node"))
		p.Report.At = now.Add(-rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, "age"))
		p.Report.Cores = make([]load.Core, b.MaxCores)
		for c := range p.Report.Cores {
			p.Report.Cores[c] = load.Core{Packets: 1e6, Lost: rapid.SampledFrom([]float64{0, 0, 0, 10, 1e5}).Draw(t, "lost")}
		}
		for _, shard := range append(in.Shards, shardsOf("gone", 2)...) {
			if rapid.IntRange(0, 3).Draw(t, "owned") == 0 {
				p.Report.Shards = append(p.Report.Shards, load.Shard{ID: shard, Core: rapid.IntRange(0, b.MaxCores-1).Draw(t, "core"), Work: rapid.Float64Range(0, 1.5).Draw(t, "work")})
			}
		}
		in.Pods = append(in.Pods, p)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "functions") {
		in.Functions = append(in.Functions, Function{fmt.Sprint("ips", i), rapid.Float64Range(0, 8).Draw(t, "given"), rapid.Float64Range(0.1, 0.95).Draw(t, "target of a function")})
	}
	return in
}

func TestScalerLaws(t *testing.T) {
	for name, law := range scalerLaws {
		t.Run(name, rapid.MakeCheck(law))
	}
}

// scalerLaws hold for all loads and bounds.
var scalerLaws = map[string]func(*rapid.T){
	"whatever is seen, decisions are within bounds and each shard has exactly one owner": func(t *rapid.T) {
		b := drawBounds(t)
		s := NewScaler(DefaultPolicy)
		for i := range 12 {
			in := drawInput(t, b, epoch.Add(time.Duration(i)*20*time.Second))
			check(t, in, s.Decide(in))
		}
	},
	"the same reports make the same decisions": func(t *rapid.T) {
		b := drawBounds(t)
		one, other := NewScaler(DefaultPolicy), NewScaler(DefaultPolicy)
		for i := range 4 {
			in := drawInput(t, b, epoch.Add(time.Duration(i)*time.Minute))
			if x, y := fmt.Sprint(one.Decide(in)), fmt.Sprint(other.Decide(in)); x != y {
				t.Fatalf("%s\nand then %s", x, y)
			}
		}
	},
	"constant load with noise never makes cores or pods grow after they fell": func(t *rapid.T) {
		w := newWorld(t, manyPods(4), shardsOf("all", 32), rapid.Float64Range(0.05, 4.5).Draw(t, "load"))
		w.noise = uniform(drawSeed(t), 0.3)
		cores, fell := map[string]int{}, map[string]bool{}
		pods, podsFell := 1, false
		for range 200 { // more than any window
			w.run(period)
			if len(w.pods) > pods && podsFell {
				t.Fatalf("from %d to %d pods after fewer were enough", pods, len(w.pods))
			}
			podsFell = podsFell || len(w.pods) < pods
			pods = len(w.pods)
			for _, p := range w.pods {
				if p.cores > cores[p.name] && fell[p.name] {
					t.Fatalf("%s goes from %d to %d cores after fewer were enough", p.name, cores[p.name], p.cores)
				}
				fell[p.name] = fell[p.name] || p.cores < cores[p.name]
				cores[p.name] = p.cores
			}
		}
	},
	"constant packets for a function, with noise, never make pods grow after they fell": func(t *rapid.T) {
		w := newWorld(t, manyPods(6), shardsOf("all", 32), rapid.Float64Range(0, 1).Draw(t, "load"))
		noise, given := uniform(drawSeed(t), 0.1), rapid.Float64Range(0.1, 4).Draw(t, "given")
		pods, fell := 1, false
		for range 200 {
			w.functions = []Function{{"ips", given * noise(), 0.7}}
			w.run(period)
			if len(w.pods) > pods && fell {
				t.Fatalf("from %d to %d pods after fewer were enough", pods, len(w.pods))
			}
			fell = fell || len(w.pods) < pods
			pods = len(w.pods)
		}
		if least := int(given / 0.7 / 1.1); pods < least {
			t.Fatalf("%d pods for %.2f times what one's function can do, want %d at least", pods, given, least)
		}
	},
	"a load that cores can bear is borne at the target within three seconds": func(t *rapid.T) {
		w := chain(t, onePod(8), 0.2)
		w.run(2 * time.Second)
		total := rapid.Float64Range(0.2, 5).Draw(t, "load")
		w.set(total)
		w.run(3 * time.Second)
		if busiest := slices.Max(w.load(w.pods[0])); busiest > w.bounds.Target+balance.DefaultPolicy.Start {
			t.Fatalf("the busiest of %d cores has %.2f of %.2f", w.pods[0].cores, busiest, total)
		}
	},
	"load that pods can bear where it is moves nothing between pods": func(t *rapid.T) {
		b := manyPods(3)
		b.MinPods = 3
		w := chain(t, b, rapid.Float64Range(0.1, 3.9).Draw(t, "load"))
		w.noise = uniform(drawSeed(t), 0.05)
		w.run(5 * time.Second)
		for range 30 {
			w.ticks(10)
			if d := w.operator(); len(d.Handovers) > 0 {
				t.Fatalf("handovers %v", d.Handovers)
			}
		}
	},
	"growth is just enough for the target, and no core less would do": func(t *rapid.T) {
		works := rapid.SliceOfN(rapid.Float64Range(0, 0.6), 1, 64).Draw(t, "works")
		n := need(works, nil, 0.7, 64)
		if total := sum(works); float64(n)*0.7 < total-1e-9 {
			t.Fatalf("%d cores for %.2f cores of work", n, total)
		} else if float64(n-1)*0.7*3/4 > total+0.7 {
			t.Fatalf("%d cores for %.2f cores of work are more than LPT's bound", n, total)
		}
	},
}
