package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
)

// bench measures rows.
type bench struct {
	engine           engine
	base             *engine // of another tree; nil: none
	baseline         testpmd
	l3fwd            l3fwd
	plugin           string
	ovs              string // folder of its packages; empty: they are not there
	scratch          string
	passes           int
	apart, withPeers bool
	captures         map[string]capture // by the traffic's name
	quiet            quiet
}

type capture struct {
	path    string
	packets int
}

// result is a row's medians over its passes.
type result struct {
	Group       string             `json:"group"`
	Name        string             `json:"name"`
	Functions   int                `json:"functions"`
	Flows       int                `json:"flows"`
	Cycles      float64            `json:"cycles"`
	Mean        float64            `json:"cycles_mean"`
	CPU         string             `json:"cpu,omitempty"`
	Mpps        float64            `json:"mpps"`
	Mode        string             `json:"baseline"`
	Baseline    float64            `json:"baseline_cycles"`
	Ratio       float64            `json:"ratio"`
	Interval    interval           `json:"ratio_interval"`
	Bound       float64            `json:"bound,omitempty"`
	Apart       float64            `json:"unmerged_cycles,omitempty"`
	Gain        float64            `json:"gain_over_unmerged,omitempty"`
	Base        float64            `json:"base_cycles,omitempty"`
	ToBase      float64            `json:"ratio_to_base,omitempty"`
	ToBaseIn    *interval          `json:"ratio_to_base_interval,omitempty"`
	Stages      map[string]float64 `json:"stages"`
	Classifiers []string           `json:"classifiers"`
	Busy        int                `json:"busy_passes,omitempty"` // which count all the same, as there were no others
	Peers       []peerResult       `json:"peers,omitempty"`
}

// plan is what a row's passes run.
type plan struct {
	row     row
	mode    string // the baseline's
	replay  replay
	program string
	apart   []string // programs, a function each
	peers   []*opened
}

// series are a row's figures, one per pass.
type series struct {
	cycles, mean, pps, baseline, apart, base samples
}

// measure is a row's medians over some passes.
func (b *bench) measure(ctx context.Context, r row, passes int) (*result, error) {
	p, err := b.plan(r)
	if err != nil {
		return nil, err
	}
	out := &result{Group: r.Group, Name: r.Name, Functions: r.N, Flows: r.traffic.flows, Bound: r.Bound, Mode: p.mode, CPU: cpu()}
	if b.withPeers {
		p.peers = openPeers(ctx, b, &r)
		defer p.close()
	}
	var s series
	for left := busyTries * passes; len(s.cycles) < passes; {
		busy, err := b.pass(ctx, p, out, &s, left > 0)
		if err != nil {
			return nil, err
		}
		if busy {
			left--
		}
	}
	s.into(out)
	for _, o := range p.peers {
		out.Peers = append(out.Peers, o.result(s.baseline))
	}
	return out, nil
}

// plan writes all files of a row.
func (b *bench) plan(r row) (*plan, error) {
	c, err := b.capture(r.traffic)
	if err != nil {
		return nil, err
	}
	p := &plan{row: r, mode: r.baseline}
	if p.mode == "" {
		p.mode = "5tswap"
	}
	p.replay = replay{plugin: b.plugin, capture: c.path}
	p.replay.warmup, p.replay.measured = r.traffic.schedule(c.packets)
	if p.program, p.apart, err = b.programs(r); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *plan) close() {
	for _, o := range p.peers {
		o.close()
	}
}

// pass runs all programs once, one after the other. It counts if the machine was quiet all the while, or if the caller is not choosy.
func (b *bench) pass(ctx context.Context, p *plan, out *result, s *series, choosy bool) (busy bool, err error) {
	f, err := b.passOf(ctx, p, choosy)
	if err != nil {
		return false, err
	}
	if f.restarts {
		p.forget(out, s)
	}
	if f.busy && choosy {
		return true, ctx.Err()
	}
	if f.busy {
		out.Busy++
	}
	out.Stages, out.Classifiers = f.stages, f.classifiers
	s.add(f)
	for _, o := range p.peers {
		o.measure(ctx, p.replay)
	}
	return f.busy, ctx.Err()
}

// forget takes back the passes so far.
func (p *plan) forget(out *result, s *series) {
	*s, out.Busy = series{}, 0
	for _, o := range p.peers {
		o.cycles, o.forwarded, o.spent = nil, nil, 0
	}
}

// onePass has the figures of a pass.
type onePass struct {
	cycles, mean, pps, baseline, apart, base float64
	stages                                   map[string]float64
	classifiers                              []string
	busy, restarts                           bool // the machine; all passes before it
}

// note takes what a device measured, median cycles per packet, and what it tells of the machine.
func (f *onePass) note(b *bench, to *float64, d *deviceReport) {
	*to = d.Cycles.P50
	f.busy = f.busy || d.busy
	f.restarts = b.quiet.learn(d) || f.restarts
}

// passOf runs all but the peers. A busy machine ends it after the baseline, if the caller is choosy.
func (b *bench) passOf(ctx context.Context, p *plan, choosy bool) (*onePass, error) {
	var f onePass
	p.replay = b.quiet.on(p.replay)
	d, err := b.baseline.run(ctx, p.replay, p.mode)
	if err != nil {
		return nil, err
	}
	f.note(b, &f.baseline, d)
	counts, restarts := b.quiet.judge(p.mode, p.row.traffic.name, d.Cycles.P50)
	f.busy, f.restarts = f.busy || !counts, f.restarts || restarts
	if f.busy && choosy {
		return &f, nil
	}
	d, m, err := b.engine.run(ctx, p.replay, []string{p.program})
	if err != nil {
		return nil, err
	}
	if d.Cycles.Values == 0 {
		return nil, errors.New("not one full burst was measured")
	}
	f.note(b, &f.cycles, d)
	f.mean, f.pps, f.stages, p.replay.hz = d.Cycles.Mean, d.pps(), m.Stages, d.Hz
	for _, c := range m.Classifiers {
		f.classifiers = append(f.classifiers, c.Segment+": "+c.Kind)
	}
	if b.base != nil {
		d, _, err := b.base.run(ctx, p.replay, []string{p.program})
		if err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
		f.note(b, &f.base, d)
	}
	if len(p.apart) > 0 {
		d, _, err := b.engine.run(ctx, p.replay, p.apart)
		if err != nil {
			return nil, fmt.Errorf("unmerged: %w", err)
		}
		f.note(b, &f.apart, d)
	}
	return &f, ctx.Err()
}

// add adds a pass. What was not measured has no samples.
func (s *series) add(f *onePass) {
	for _, of := range []struct {
		to    *samples
		value float64
	}{{&s.cycles, f.cycles}, {&s.mean, f.mean}, {&s.pps, f.pps}, {&s.baseline, f.baseline}, {&s.apart, f.apart}, {&s.base, f.base}} {
		if of.value > 0 {
			*of.to = append(*of.to, of.value)
		}
	}
}

func (s *series) into(r *result) {
	ratios := s.cycles.over(s.baseline)
	r.Cycles, r.Mean, r.Mpps = s.cycles.median(), s.mean.median(), s.pps.median()/1e6
	r.Baseline, r.Ratio, r.Interval = s.baseline.median(), ratios.median(), ratios.interval()
	if len(s.apart) > 0 {
		r.Apart = s.apart.median()
		r.Gain = s.apart.over(s.cycles).median()
	}
	if len(s.base) > 0 {
		ratios := s.cycles.over(s.base)
		in := ratios.interval()
		r.Base, r.ToBase, r.ToBaseIn = s.base.median(), ratios.median(), &in
	}
}

// capture writes a traffic's packets into a file, once.
func (b *bench) capture(t traffic) (capture, error) {
	if c, ok := b.captures[t.name]; ok {
		return c, nil
	}
	frames, err := t.packets()
	if err != nil {
		return capture{}, fmt.Errorf("%s: %w", t.name, err)
	}
	c := capture{filepath.Join(b.scratch, t.name+".pcap"), len(frames)}
	b.captures[t.name] = c
	return c, writeCapture(c.path, frames)
}

// programs are a row's functions as one program, and as one each.
func (b *bench) programs(r row) (one string, apart []string, err error) {
	fns, err := r.chain(b.scratch)
	if err != nil {
		return "", nil, err
	}
	if one, err = b.compile(merged(r.Name, fns)); err != nil {
		return "", nil, err
	}
	if !b.apart || !r.apart {
		return one, nil, nil
	}
	for _, c := range unmerged(r.Name, fns) {
		p, err := b.compile(c)
		if err != nil {
			return "", nil, err
		}
		apart = append(apart, p)
	}
	return one, apart, nil
}

// sources are a chain with the files that it names.
func sources(c *v1alpha1.ServiceChain) (compiler.Sources, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return compiler.Sources{}, err
	}
	bundle, findings := manifest.Parse(c.Name+".yaml", text, os.ReadFile)
	if err := findings.Err(); err != nil {
		return compiler.Sources{}, err
	}
	return compiler.Sources{Chain: bundle.Chains[0], Files: bundle.Files}, nil
}

// compile synthesizes a chain to a program file.
func (b *bench) compile(c *v1alpha1.ServiceChain) (string, error) {
	s, err := sources(c)
	if err != nil {
		return "", err
	}
	p, _, err := compiler.Compile(s)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.scratch, c.Name+".program")
	return path, os.WriteFile(path, p.Encoded, 0o644)
}
