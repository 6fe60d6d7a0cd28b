package offload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
)

// serve looks after a port once.
func (d *Dispatch) serve(ctx context.Context, p *port, stats *controlpb.Stats) error {
	now := d.clock.Now()
	d.watch(p, stats, now)
	if now.Sub(p.read) >= lookAtRules || !p.seen {
		if err := d.readRules(ctx, p); err != nil {
			return err
		}
	}
	if p.index < 0 || p.caps.Rules == 0 && len(p.table.rules) == 0 {
		p.plan, p.queues, p.complete = nil, nil, true
		return nil
	}
	key := planKey{d.program, d.marks, d.steers(p), p.version, d.shards.bits()}
	switch {
	case p.plan == nil || p.made != key || d.outweighed(p, now):
		d.makePlan(p, key)
		return d.update(ctx, p)
	case !p.complete:
		return d.update(ctx, p)
	case key.steered && !slices.Equal(p.queues, d.shards.queues) && (now.Sub(d.shards.since) >= restOwners || now.Sub(p.followed) >= maxRest):
		return d.follow(ctx, p)
	}
	return d.believe(ctx, p)
}

// steers tells whether a port's rules choose queues.
func (d *Dispatch) steers(p *port) bool {
	return d.workers > 1 && len(d.shards.queues) > 1 && p.index < len(d.choice.Ports) && d.choice.Ports[p.index].Dispatcher == dispatch.Flow
}

// watch judges what the port's device does.
func (d *Dispatch) watch(p *port, stats *controlpb.Stats, now time.Time) {
	for _, s := range stats.GetPorts() {
		if s.GetInterface() != p.name {
			continue
		}
		before, stayed := p.before, p.stayed.Equal(d.shards.since)
		p.stayed = d.shards.since
		if why := p.judge(now, s); why != "" && p.caps.Distrusted == "" {
			d.log.Error(errors.New(why), "device gets no further rules", "interface", p.name)
			d.distrust[p.key()] = why
			p.distrust(why)
			d.version++
		}
		if before == nil || !stayed || p.index >= len(d.choice.Ports) || p.index < 0 || d.choice.Ports[p.index].Dispatcher != dispatch.RSS {
			continue
		}
		if why := p.judgeHash(now, before, s); why != "" && p.caps.RSS.Refused == "" {
			d.astray[p.key()] = why
			p.caps.RSS.Refused = why
			d.version++
		}
	}
	d.choose()
}

// input is what a port's plan for a program is computed from.
func (d *Dispatch) input(p *port, program *delivery.Program, index int, shards dispatch.Shards, marks *flowspb.Marks, queues []uint16) *dispatch.Input {
	in := &dispatch.Input{
		Program: program.Program, Interface: uint32(index), Capabilities: p.caps, Weights: p.weights, Shards: shards, Generation: marks.GetGeneration(),
	}
	if bits := int(marks.GetShift()) + dispatch.GenerationBits; marks == nil || p.caps.MarkBits < bits {
		in.Capabilities.MarkBits = 0
	} else {
		in.Capabilities.MarkBits = bits
	}
	if queues != nil {
		in.Groups = []dispatch.Group{{Queues: queues}}
	}
	return in
}

// makePlan plans a port's rules for the program in force.
func (d *Dispatch) makePlan(p *port, key planKey) {
	p.made, p.complete, p.planless, p.queues = key, false, "", nil
	if key.steered {
		p.queues = d.shards.queues
	}
	p.weigh(d)
	plan, err := dispatch.MakePlan(d.input(p, d.program, p.index, d.choice.Shards, d.marks, p.queues))
	if err != nil {
		p.planless = err.Error()
		plan = &dispatch.Plan{}
	}
	p.plan = plan
}

// update gives a port the rules of its plan.
func (d *Dispatch) update(ctx context.Context, p *port) error {
	steps, _ := dispatch.Update(p.table.rules, p.plan, &p.caps, false)
	if slices.ContainsFunc(steps, func(s dispatch.Step) bool { return s.Kind == dispatch.Destroy }) {
		if err := d.readRules(ctx, p); err != nil { // what they count goes with them
			return err
		}
		steps, _ = dispatch.Update(p.table.rules, p.plan, &p.caps, false) // some may have been lost
	}
	all, err := d.run(ctx, p, steps, nil)
	if p.complete = all; all {
		p.failed, p.followed = "", d.clock.Now()
	}
	return err
}

// follow has the rules that choose queues follow shards that have moved, one shard after the other: its new owner holds what comes by
// its own queue until the other one is empty.
func (d *Dispatch) follow(ctx context.Context, p *port) error {
	p.followed = d.clock.Now()
	for shard, owner := range d.shards.queues {
		if p.queues[shard] == owner {
			continue
		}
		if d.hurry.Load() {
			return nil
		}
		queues := slices.Clone(p.queues)
		queues[shard] = owner
		plan := p.plan.Steer(d.input(p, d.program, p.index, d.choice.Shards, d.marks, queues))
		if plan == nil {
			p.plan = nil // some rules about classes have to make room
			return nil
		}
		var turn *flowspb.FlowTurn
		if d.shards.state {
			turn = &flowspb.FlowTurn{Shard: uint32(shard), From: uint32(p.queues[shard])}
		}
		steps, _ := dispatch.Update(p.table.rules, plan, &p.caps, false)
		p.plan, p.queues = plan, queues
		var err error
		if p.complete, err = d.run(ctx, p, steps, turn); err != nil || !p.complete {
			return err
		}
	}
	return nil
}

// run has a port's device take steps; of a turn all at once. It tells whether it took them all.
func (d *Dispatch) run(ctx context.Context, p *port, steps []dispatch.Step, turn *flowspb.FlowTurn) (all bool, err error) {
	most := stepsAtOnce
	if turn != nil {
		most = max(len(steps), 1)
	}
	for some := range slices.Chunk(steps, most) {
		request, numbers := p.table.request(some, p.plan != nil && p.plan.Count)
		done, err := d.engine.UpdateFlows(ctx, &flowspb.UpdateFlows{Interface: p.name, Steps: request, Turn: turn})
		if err != nil {
			return false, fmt.Errorf("interface %s: %w", p.name, err)
		}
		for i := range some[:min(int(done.GetDone()), len(some))] {
			p.table.done(some[i], numbers[i])
			if some[i].Kind == dispatch.Destroy {
				p.gone++
				delete(p.counted, numbers[i])
			}
		}
		if int(done.GetDone()) < len(some) {
			d.refuse(p, &some[done.GetDone()], done.GetRefused())
			return false, nil
		}
		if d.hurry.Load() && turn == nil {
			return false, nil
		}
	}
	return true, nil
}

// refuse notes that a driver did not take a step, so that the next plan does without what it asked for.
func (d *Dispatch) refuse(p *port, s *dispatch.Step, words string) {
	p.refused++
	if s.Kind == dispatch.Destroy {
		p.failed = "a rule cannot be removed: " + words
		d.log.Error(errors.New(words), "flow rule cannot be removed", "interface", p.name, "rule", s.Rule.String())
		return
	}
	what := lower(&p.caps, p.table.rules, &s.Rule)
	if p.refused >= maxRefusals {
		p.caps.Rules = 0
	}
	if p.caps.Rules == 0 {
		p.caps.Refused = words
	}
	p.lowered = append(p.lowered, fmt.Sprintf("no %s: %s", what, words))
	p.version++
	d.version++
	d.log.Info("flow rule refused, planning without what it asked for", "interface", p.name, "rule", s.Rule.String(), "without", what, "words", words)
}
