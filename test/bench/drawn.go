package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/test/draw"
)

// drawn is a row of firewalls, with routers between some, drawn from the sets of rules that there are.
type drawn struct {
	row    []string
	fns    functions
	sets   []*firewallRules // each once
	common []headerspace.Filter
	bursts [][]byte // of headers that all firewalls accept, those of one burst by the same rules
}

const (
	// drawnHeaders are different headers of a row, as many as those of the report's rows that do not come again.
	drawnHeaders = 400_000
	// recurring are those of them that come again and again.
	recurring = 64_000
	// mostCommon is of how many sets of rules, one of each firewall, headers are drawn.
	mostCommon = 4096
	// dearestRuns are the runs at least of which each burst's quickest counts, mostDearestRuns those at most; in each some bursts ahead are not measured.
	dearestRuns, mostDearestRuns, ahead = 3, 6, 100
	// settled is to how much of it the dearest burst may fall in a last run.
	settled = 0.95
	// tableEvery is how often a row ends with a router that has the Internet's routes.
	tableEvery = 10
)

// drawRows draws n rows of which some headers pass all firewalls, from the sets of rules in a folder.
func drawRows(data, folder, dir string, n int) ([]*drawn, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*[0-9k]"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no sets of rules", folder)
	}
	sets, names := map[string]*firewallRules{}, []string{}
	for _, file := range files {
		name := filepath.Base(file)
		names = append(names, name)
		if sets[name], err = readRules(file); err != nil {
			return nil, err
		}
	}
	rng := rand.New(rand.NewPCG(32, 1))
	var list []*drawn
	for len(list) < n {
		d := &drawn{row: draw.Row(rng, names)}
		for i, name := range d.row {
			if name == draw.Router {
				d.fns = append(d.fns, router(fmt.Sprintf("rt%d", i)))
				continue
			}
			d.fns = append(d.fns, firewall(fmt.Sprintf("fw%d", i), filepath.Join(folder, name)))
			if !slices.Contains(d.sets, sets[name]) {
				d.sets = append(d.sets, sets[name])
			}
		}
		if d.common = d.passable(); len(d.common) == 0 {
			continue
		}
		if list = append(list, d); len(list)%tableEvery == 0 {
			rt, err := tableRouter(data, dir)
			if err != nil {
				return nil, err
			}
			d.row, d.fns = append(d.row, "table"), append(d.fns, rt)
		}
	}
	return list, nil
}

// passable are choices of rules, one of each firewall, by which a burst of headers passes: rules above leave them enough.
func (d *drawn) passable() []headerspace.Filter {
	rng := rand.New(rand.NewPCG(32, 2))
	var list []headerspace.Filter
	for _, f := range commonOf(d.sets, mostCommon) {
		if len(d.burstOf(rng, f, 0)) == burst {
			list = append(list, f)
		}
	}
	return list
}

// burstOf is a burst of headers that all firewalls accept by the same rules, or fewer, if too few of those that are tried are accepted.
func (d *drawn) burstOf(rng *rand.Rand, f headerspace.Filter, turn int) (frames [][]byte) {
	for range 2 * burst {
		if p, ok := sampleOf(rng, f, turn); ok && acceptedByEach(d.sets, &p) {
			if frames = append(frames, frameOf(&p)); len(frames) == burst {
				break
			}
		}
	}
	return frames
}

// fill draws the headers: a burst by each choice of rules in turn.
func (d *drawn) fill() error {
	rng := rand.New(rand.NewPCG(32, 3))
	d.bursts = nil
	for turn := 0; len(d.bursts) < drawnHeaders; turn++ {
		if some := d.burstOf(rng, d.common[turn%len(d.common)], turn/len(d.common)); len(some) == burst {
			d.bursts = append(d.bursts, some...)
		} else if turn > drawnHeaders {
			return fmt.Errorf("found only %d headers that all firewalls accept", len(d.bursts))
		}
	}
	return nil
}

func (d *drawn) name() string { return strings.Join(d.row, " ") }

// mixed is the headers in no order.
func (d *drawn) mixed(n int) [][]byte {
	out := slices.Clone(d.bursts)
	rand.New(rand.NewPCG(32, 4)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:n]
}

// drawnResult is what is measured of a drawn row.
type drawnResult struct {
	row      string
	synth    time.Duration // processor time of synthesis
	grown    int           // bytes
	cuts     int
	again    *result // headers that recur
	once     *result // that do not
	ofOne    float64 // again's cycles over those of the dearest function alone; of a row without cuts
	ofOneNew float64 // and once's
	// dearest are the cycles per packet of the dearest burst, whose headers are accepted by the same rules; merged, and function by function.
	dearest, dearestApart float64
}

// setRows are a firewall with each set of rules, of headers that do not come again.
func setRows(folder string) ([]row, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*[0-9k]"))
	var list []row
	for _, file := range files {
		list = append(list, row{
			Group: "set", Name: dashed(filepath.Base(file)), N: 1, chain: fixed(functions{firewall("fw", file)}), traffic: acceptedOnce(file), peers: []peer{l3fwdACL(file)},
		})
	}
	return list, err
}

// drawnSets measures each set of rules alone.
func (b *bench) drawnSets(ctx context.Context, folder string, passes int) (results []*result, err error) {
	list, err := setRows(folder)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		r, err := b.measure(ctx, x, passes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
		fmt.Fprintln(os.Stderr, setLine(r))
		_ = os.Remove(b.captures[x.traffic.name].path)
		delete(b.captures, x.traffic.name)
		results = append(results, r)
	}
	return results, nil
}

// drawnRows measures each set of rules, and n rows that are drawn from them, and writes drawn.md. A row that cannot be measured does not stop the others.
func drawnRows(ctx context.Context, b *bench, data, folder, out string, n, passes int) error {
	if folder == "" {
		folder = filepath.Join(data, "classbench")
	}
	list, err := drawRows(data, folder, b.scratch, n)
	if err != nil {
		return err
	}
	sets, err := b.drawnSets(ctx, folder, passes)
	if err != nil {
		return err
	}
	var results []*drawnResult
	var bad []error
	for i, d := range list {
		r, err := b.drawn(ctx, d, passes)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", d.name(), err))
			fmt.Fprintf(os.Stderr, "%d of %d: %v\n", i+1, n, bad[len(bad)-1])
			continue
		}
		results = append(results, r)
		fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, n, r.line())
	}
	if len(results) == 0 {
		return errors.Join(bad...)
	}
	return errors.Join(append(bad, os.WriteFile(filepath.Join(out, "drawn.md"), []byte(drawnReport(sets, results, passes)), 0o644), drawnVerdict(results))...)
}

// drawn measures a row. Its captures do not outlive it: they are large.
func (b *bench) drawn(ctx context.Context, d *drawn, passes int) (*drawnResult, error) {
	if err := d.fill(); err != nil {
		return nil, err
	}
	known := b.captures
	b.captures = map[string]capture{}
	defer func() {
		for _, c := range b.captures {
			_ = os.Remove(c.path)
		}
		b.captures, d.bursts = known, nil
	}()
	r := &drawnResult{row: d.name()}
	if err := r.synthesize(d); err != nil {
		return nil, err
	}
	for _, of := range []struct {
		to      **result
		ofOne   *float64
		traffic traffic
	}{
		{&r.again, &r.ofOne, traffic{name: "drawn-again", flows: recurring, packets: func() ([][]byte, error) { return d.mixed(recurring), nil }}},
		{&r.once, &r.ofOneNew, traffic{name: "drawn-once", flows: drawnHeaders, once: true, packets: func() ([][]byte, error) { return d.mixed(drawnHeaders), nil }}},
	} {
		x := row{Group: "drawn", Name: "drawn", N: len(d.fns), chain: fixed(d.fns), traffic: of.traffic, apart: true}
		var err error
		if *of.to, err = b.measure(ctx, x, passes); err != nil {
			return nil, err
		}
		if r.cuts == 0 {
			if *of.ofOne, err = b.ofDearest(ctx, d, x, (*of.to).Ratio); err != nil {
				return nil, err
			}
		}
	}
	return r, r.measureDearest(ctx, b, d)
}

// synthesize notes what synthesis takes, and how many look-ups stay apart.
func (r *drawnResult) synthesize(d *drawn) error {
	s, err := sources(merged("drawn", d.fns))
	if err != nil {
		return err
	}
	g, found := compiler.Lower(s)
	if err := found.Err(); err != nil {
		return err
	}
	debug.FreeOSMemory()
	before, held := processorTime(), heldMemory()
	made, err := synth.Synthesize(g, synth.Options{})
	if err != nil {
		return err
	}
	r.synth, r.grown, r.cuts = processorTime()-before, heldMemory()-held, len(made.Cuts)
	return nil
}

// ofDearest is a row's ratio to the baseline over that of the dearest of its functions alone, with the same packets.
func (b *bench) ofDearest(ctx context.Context, d *drawn, x row, ratio float64) (float64, error) {
	most := 0.0
	seen := map[string]bool{}
	for i, name := range d.row {
		if seen[name] {
			continue
		}
		seen[name] = true
		x.chain, x.apart = fixed(functions{d.fns[i]}), false
		r, err := b.measure(ctx, x, 1)
		if err != nil {
			return 0, err
		}
		most = max(most, r.Ratio)
	}
	return ratio / most, nil
}

// measureDearest has all headers played burst by burst, merged and function by function. What comes in a burst's way, the timer's interrupt or a memo that
// grows, seldom meets one twice: each run has the bursts in another order, and each burst's quickest counts. On a busy machine some burst is hindered in
// each of a few runs, so there are more until the dearest one costs the same again.
func (r *drawnResult) measureDearest(ctx context.Context, b *bench, d *drawn) error {
	one, apart, err := b.programs(row{Name: "drawn", chain: fixed(d.fns), apart: true})
	if err != nil {
		return err
	}
	n := len(d.bursts) / burst
	costs := [2]burstCosts{make(burstCosts, n), make(burstCosts, n)}
	for run := range uint64(mostDearestRuns) {
		order := rand.New(rand.NewPCG(32, 5+run)).Perm(n)
		path := filepath.Join(b.scratch, "drawn-bursts.pcap")
		if err := writeCapture(path, inOrder(d.bursts, order)); err != nil {
			return err
		}
		replay := b.quiet.on(replay{plugin: b.plugin, capture: path, warmup: ahead * burst, measured: (n - 2*ahead) * burst, bursts: n})
		same := true
		for i, programs := range [][]string{{one}, apart} {
			report, _, err := b.engine.run(ctx, replay, programs)
			if err != nil {
				return err
			}
			same = costs[i].note(order[ahead:], report.Bursts) && same
		}
		if same && run+1 >= dearestRuns {
			break
		}
	}
	r.dearest, r.dearestApart = slices.Max(costs[0]), slices.Max(costs[1])
	return nil
}

// burstCosts are the cycles per packet of each burst in its quickest run; 0: it was not measured yet.
type burstCosts []float64

// note notes a run's bursts, in their order. It tells whether the dearest burst costs about what it cost before.
func (c burstCosts) note(order []int, run []float64) (same bool) {
	before := slices.Max(c)
	for k, cycles := range run {
		if at := order[k]; c[at] == 0 || cycles < c[at] {
			c[at] = cycles
		}
	}
	return slices.Max(c) >= settled*before
}

// inOrder is the frames of bursts in an order.
func inOrder(frames [][]byte, order []int) (out [][]byte) {
	for _, at := range order {
		out = append(out, frames[at*burst:(at+1)*burst]...)
	}
	return out
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heldMemory is what this process has of the system, in bytes.
func heldMemory() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Sys - m.HeapReleased)
}
