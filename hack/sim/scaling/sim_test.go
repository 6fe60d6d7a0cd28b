package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

var small = sizes{Chains: 4, Length: 4 * time.Minute, Seed: 1}

func TestTheSameSeedWritesTheSameFiles(t *testing.T) {
	s := small
	s.Length = 90 * time.Second
	var dirs []string
	for range 2 {
		dir := t.TempDir()
		if err := write(dir, simulate(s)); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	names := []string{"scaling.md", "scaling/results.json"}
	for _, t := range traces {
		names = append(names, "scaling/"+t.Name+".svg")
	}
	for _, name := range names {
		if !bytes.Equal(read(t, filepath.Join(dirs[0], name)), read(t, filepath.Join(dirs[1], name))) {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

func TestAgainstTheBaselines(t *testing.T) {
	list := simulate(small)
	want, err := render(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the document is that of this simulator but for its figures", func(t *testing.T) {
		figures := regexp.MustCompile(`-?[0-9][0-9.]*`)
		blank := func(text []byte) string { return figures.ReplaceAllString(string(text), "#") }
		if blank(read(t, "../../../docs/scaling.md")) != blank(want) {
			t.Error("docs/scaling.md is not of this template: run `make simulate`")
		}
	})
	by := map[string]map[string]result{}
	for _, r := range list {
		if by[r.Trace] == nil {
			by[r.Trace] = map[string]result{}
		}
		by[r.Trace][r.Policy] = r
	}
	for _, name := range []string{"spike", "heavy-tailed"} {
		for _, other := range policies[1:] {
			ours, theirs := by[name]["Sinter"], by[name][other.Name]
			if ours.Lost >= theirs.Lost {
				t.Errorf("%s: %.3f %% of the load are lost, not less than the %.3f %% of %s", name, ours.Lost, theirs.Lost, other.Name)
			}
			if ours.Within+ours.Between >= theirs.Within+theirs.Between {
				t.Errorf("%s: %.1f moves a minute, not less than the %.1f of %s", name, ours.Within+ours.Between, theirs.Within+theirs.Between, other.Name)
			}
		}
	}
	if r := by["constant"]["Sinter"]; r.Changes > 0.05 || r.Lost > 0 {
		t.Errorf("constant load: cores change %.2f times a minute and %.3f %% are lost, want hardly ever and nothing", r.Changes, r.Lost)
	}
}

// keep is a policy that leaves everything on the first core.
type keep struct{}

func (keep) act(*world)         {}
func (keep) working(*world) int { return 1 }

func TestACoreLosesWhatItCannotDo(t *testing.T) {
	o := run(trace{Name: "twofold", shape: func(*rand.Rand, time.Duration) func(time.Duration) float64 {
		return func(time.Duration) float64 { return 2 } // of the plotted chain's one core
	}}, small, 0, func(*world) policy { return keep{} })
	if part := o.lost / o.wanted; math.Abs(part-0.5) > 0.01 {
		t.Errorf("%.1f %% lost where twice of what a core can do is wanted, want 50 %%", 100*part)
	}
	if o.moved != (counts{}) || o.changes != 0 {
		t.Errorf("moves %+v and %d changes of a policy that does nothing", o.moved, o.changes)
	}
}

func TestNothingIsLostOrMadeUpInACore(t *testing.T) {
	l := newLoad(traces[3], small, 1)
	w := newWorld(l)
	var wanted, done, lost float64
	for range 500 {
		w.work(l)
		for _, c := range w.cores {
			wanted, done, lost = wanted+c.wanted, done+c.done, lost+c.lost
		}
	}
	if gap := wanted - done - lost - w.cores[0].waits; math.Abs(gap) > 1e-6 {
		t.Errorf("%.6f core seconds are neither done nor lost nor waiting", gap)
	}
}

func TestEveryPolicySeesTheSameLoad(t *testing.T) {
	for _, tr := range traces {
		var wanted []float64
		for _, p := range policies {
			wanted = append(wanted, run(tr, sizes{Chains: 1, Length: time.Minute, Seed: 3}, 2, p.start).wanted)
		}
		if math.Abs(wanted[1]/wanted[0]-1) > 1e-9 || math.Abs(wanted[2]/wanted[0]-1) > 1e-9 { // summed in another order
			t.Errorf("%s: wanted are %v core seconds, by policy", tr.Name, wanted)
		}
	}
}

func TestFlowsBringTheLoadThatIsMeant(t *testing.T) {
	sum, n := 0.0, 40
	for chain := range n {
		l := newLoad(traces[4], sizes{Length: 5 * time.Minute, Seed: 1}, chain)
		wanted := make([]float64, shards)
		for at := tick; at <= 5*time.Minute; at += tick {
			l.next(at, wanted)
			for _, work := range wanted {
				sum += work / l.base / float64(n*3000)
			}
		}
	}
	if math.Abs(sum-1) > 0.15 {
		t.Errorf("flows bring %.2f times the load that is meant", sum)
	}
}

func TestParetoDrawsHaveTheMeanOfTheFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sum := 0.0
	const draws = 400_000
	for range draws {
		v := pareto(rng, rateTail, rateLeast, rateMost)
		if v < rateLeast || v > rateMost*(1+1e-9) {
			t.Fatalf("%g drawn, want %g to %g", v, rateLeast, rateMost)
		}
		sum += v
	}
	if got, want := sum/draws, paretoMean(rateTail, rateLeast, rateMost); math.Abs(got/want-1) > 0.02 {
		t.Errorf("mean of draws %g, by the formula %g", got, want)
	}
}

func TestMovesArePaidByTheCoreThatGetsTheShard(t *testing.T) {
	w := newWorld(&workload{names: make([]shard.ID, shards)})
	w.move(0, 1)
	w.move(1, podCores)
	w.move(1, podCores)
	if w.moved != (counts{1, 1}) || w.cores[1].waits != costCore || w.cores[podCores].waits != costPod {
		t.Errorf("moves %+v cost %g and %g core seconds, want one of %g and one of %g", w.moved, w.cores[1].waits, w.cores[podCores].waits, costCore, costPod)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
