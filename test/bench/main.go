// Command bench measures synthesized chains on one core, with packets from memory,
// beside the same chains unmerged and beside DPDK's testpmd. Every figure is the median of runs that
// alternate between the three, in TSC cycles per packet over full bursts, from receive to send.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/test/packets"
)

// scenario is a chain and the packets that it is measured with.
type scenario struct {
	Group, Name string
	N           int // functions in the chain
	fns         functions
	frames      [][]byte
	unique      bool    // every packet opens a flow
	Limit       float64 // of the ratio to the baseline; 0: none
	once        bool    // no unmerged run
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var (
		out     = flag.String("out", "docs/bench", "folder that the report is written to")
		binary  = flag.String("engine", "dataplane/engine/build/sinter-bench", "sinter-bench")
		data    = flag.String("data", "test/data", "folder with classbench/, the rule sets")
		rounds  = flag.Int("rounds", 7, "alternating runs per scenario")
		core    = flag.Int("core", 1, "core to measure on")
		control = flag.Int("control-core", 0, "core for testpmd's main thread")
		only    = flag.String("only", "", "one scenario's name")
		daemon  = flag.String("daemon", "dataplane/engine/build/sinter-engine", "sinter-engine")
		workers = flag.Int("workers", 0, "2: only compare one worker with two on two cores, into cores.md")
	)
	flag.Parse()
	list, err := scenarios(*data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil { // not found out when all is measured
		return err
	}
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	b := bench{engine: engine{*binary, *core}, baseline: testpmd{*core, *control, 2 * time.Second}, dir: dir, rounds: *rounds}
	if *workers != 0 && *workers != 2 {
		return fmt.Errorf("-workers %d: want 2", *workers)
	}
	if *workers == 2 {
		return twoCores(ctx, pair{*daemon, dir, *rounds, 2 * time.Second}, &b, list, *out)
	}
	var results []result
	for _, s := range list {
		if *only != "" && s.Name != *only {
			continue
		}
		r, err := b.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%-28s %6.1f cycles, %.2f × 5tswap (%.1f), unmerged %.1f; %s\n",
			s.Name, r.Merged, r.Ratio, r.Baseline, r.Unmerged, stageText(r.Stages))
		results = append(results, *r)
	}
	if *only != "" {
		return nil
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	if err := report(*out, results); err != nil {
		return err
	}
	return verdict(results)
}

// scenarios are the chains of the SNF paper's evaluation.
func scenarios(data string) ([]scenario, error) {
	r := rand.New(rand.NewPCG(1, 2))
	flows := udpFlows(r, 10_000)
	var list []scenario
	for _, n := range []int{1, 2, 4, 8, 10} {
		list = append(list, scenario{Group: "routers", Name: fmt.Sprintf("routers-%d", n), N: n, fns: routers(n), frames: flows, Limit: 2})
	}
	for _, n := range []int{1, 2, 4, 8, 10} {
		list = append(list, scenario{Group: "napts", Name: fmt.Sprintf("napts-%d", n), N: n, fns: napts(n), frames: flows, Limit: 4})
	}
	for _, set := range []string{"acl1_251", "acl1_713", "acl1_8550"} {
		file, err := filepath.Abs(filepath.Join(data, "classbench", set))
		if err != nil {
			return nil, err
		}
		frames, err := ruleFlows(r, file, 10_000)
		if err != nil {
			return nil, err
		}
		label := strings.ReplaceAll(set, "_", "-")
		list = append(list,
			scenario{Group: "isp", Name: "isp-" + label, N: 3, fns: isp(file), frames: frames, Limit: 5},
			scenario{Group: "isp-new", Name: "isp-" + label + "-new-flows", N: 3, fns: isp(file), frames: frames, Limit: 12, unique: true, once: true})
	}
	return list, nil
}

// bench runs scenarios.
type bench struct {
	engine   engine
	baseline testpmd
	dir      string
	rounds   int
}

// result is a scenario's medians.
type result struct {
	Group       string             `json:"group"`
	Name        string             `json:"name"`
	Functions   int                `json:"functions"`
	Merged      float64            `json:"merged_cycles"`
	Unmerged    float64            `json:"unmerged_cycles,omitempty"`
	Baseline    float64            `json:"testpmd_5tswap_cycles"`
	Ratio       float64            `json:"ratio_to_5tswap"`
	Limit       float64            `json:"limit,omitempty"`
	Gain        float64            `json:"gain_over_unmerged,omitempty"`
	Dropped     float64            `json:"dropped_share"`
	Stages      map[string]float64 `json:"stages"`
	Classifiers []string           `json:"classifiers"`
}

func (b *bench) measure(ctx context.Context, s scenario) (*result, error) {
	pcap := filepath.Join(b.dir, s.Name+".pcap")
	if err := packets.WriteCapture(pcap, s.frames); err != nil {
		return nil, err
	}
	one, apart, err := b.programs(s)
	if err != nil {
		return nil, err
	}
	var flags []string
	if s.unique {
		flags = []string{fmt.Sprintf("--unique-flows=%d", len(s.frames)), "--warmup", "2000", "--rounds", "40000", "--profile", "2000"}
	}
	r := &result{Group: s.Group, Name: s.Name, Functions: s.N, Limit: s.Limit}
	var whole, split, base, ratios []float64
	for range b.rounds {
		m, err := b.engine.run(ctx, pcap, []string{one}, flags...)
		if err != nil {
			return nil, err
		}
		if m.dropped() > 0.001 {
			return nil, fmt.Errorf("%.1f%% of the packets were dropped: %v", 100*m.dropped(), m.Drops)
		}
		whole = append(whole, m.Cycles.Median)
		r.Stages, r.Dropped, r.Classifiers = m.Stages, m.dropped(), nil
		for _, c := range m.Classifiers {
			r.Classifiers = append(r.Classifiers, c.Segment+": "+c.Kind)
		}
		t, err := b.baseline.run(ctx, pcap, "5tswap")
		if err != nil {
			return nil, err
		}
		base = append(base, t)
		ratios = append(ratios, m.Cycles.Median/t)
		if s.once {
			continue
		}
		u, err := b.engine.run(ctx, pcap, apart)
		if err != nil {
			return nil, err
		}
		if u.dropped() > 0.001 {
			return nil, fmt.Errorf("unmerged: %.1f%% of the packets were dropped: %v", 100*u.dropped(), u.Drops)
		}
		split = append(split, u.Cycles.Median)
	}
	r.Merged, r.Baseline, r.Ratio = median(whole), median(base), median(ratios)
	if !s.once {
		r.Unmerged = median(split)
		r.Gain = r.Unmerged / r.Merged
	}
	return r, nil
}

// programs are a scenario's functions as one program, and as one each.
func (b *bench) programs(s scenario) (one string, apart []string, err error) {
	if one, err = b.compile(merged(s.Name, s.fns)); err != nil {
		return "", nil, err
	}
	for _, c := range unmerged(s.Name, s.fns) {
		p, err := b.compile(c)
		if err != nil {
			return "", nil, err
		}
		apart = append(apart, p)
	}
	return one, apart, nil
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// compile synthesizes a chain to a program file.
func (b *bench) compile(c *v1alpha1.ServiceChain) (string, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", err
	}
	bundle, findings := manifest.Parse(c.Name+".yaml", text, os.ReadFile)
	if err := findings.Err(); err != nil {
		return "", err
	}
	p, _, err := compiler.Compile(compiler.Sources{Chain: bundle.Chains[0], Files: bundle.Files})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, c.Name+".program")
	return path, os.WriteFile(path, p.Encoded, 0o644)
}
