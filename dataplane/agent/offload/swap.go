package offload

import (
	"context"
	"errors"
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Before makes the devices ready for another program: rules that are not right for both are taken out. If the engine has no
// program yet, flows are cut for the strongest dispatcher that its devices can do with this one. It returns how the program's marks
// will be written. Nobody else changes rules before After, which is called in any case.
func (d *Dispatch) Before(ctx context.Context, next *delivery.Program, first bool) (*flowspb.Marks, error) {
	d.hurry.Store(true)
	<-d.turn // held for some hundred steps, or a plan
	d.hurry.Store(false)
	d.ahead = nil
	_, life, err := d.engine.Hello(ctx)
	if err == nil {
		err = d.meet(ctx, life)
	}
	if err != nil {
		return nil, err
	}
	if first {
		d.program, d.marks = nil, nil
		d.drops.restart()
		if err := d.partitioningFor(ctx, next); err != nil {
			return nil, err
		}
	}
	d.ahead = d.nextMarks()
	for _, p := range d.ports {
		if err := d.prepare(ctx, p, next); err != nil {
			return nil, err
		}
	}
	return d.ahead, nil
}

// After is called when the program is in force, or, if it is nil, could not be loaded.
func (d *Dispatch) After(loaded *delivery.Program) {
	if loaded != nil {
		d.begin(loaded, d.ahead)
	}
	for _, p := range d.ports {
		p.complete = false // some rules may have been taken out
	}
	d.publish()
	d.turn <- struct{}{}
	loop.Signal(d.wake)
}

// partitioningFor chooses how flows are cut.
func (d *Dispatch) partitioningFor(ctx context.Context, next *delivery.Program) error {
	d.workers = 0
	for _, p := range d.ports {
		d.workers = max(d.workers, p.caps.Queues)
	}
	if d.workers < 2 {
		return nil
	}
	for {
		choice := dispatch.Choose(next.Program, d.capabilities(next), d.workers, shard.Bits)
		unhashed, err := d.engine.PartitionShards(ctx, partitioningFor(&choice.Shards))
		if err != nil && !engine.Unasked(err) && choice.Shards.Dispatcher == dispatch.RSS {
			d.leaveUnhashed(err)
		}
		var refused *control.EngineError
		if errors.As(err, &refused) {
			d.log.Error(err, "partitioning of flows stays as it is")
			return nil
		}
		if err != nil {
			return err
		}
		d.cut = choice.Shards
		if d.cut.Dispatcher != dispatch.RSS || !d.unhash(unhashed) {
			return nil
		}
	}
}

// leaveUnhashed has the next engine not ask devices to hash: restarting a port failed.
func (d *Dispatch) leaveUnhashed(err error) {
	for _, p := range d.ports {
		if p.caps.RSS.Buckets > 0 {
			d.astray[p.key()] = "a port could not be restarted to hash: " + err.Error()
		}
	}
}

// unhash notes why devices do not hash, and tells whether this is news.
func (d *Dispatch) unhash(why []string) (news bool) {
	for i, p := range d.ports {
		if i < len(why) && why[i] != "" && p.caps.RSS.Refused == "" && p.caps.RSS.Buckets > 0 {
			p.caps.RSS.Refused, news = why[i], true
			d.version++
		}
	}
	return news
}

// nextMarks is how the marks of the next program are written: so that each device that marks has room for them.
func (d *Dispatch) nextMarks() *flowspb.Marks {
	bits := 0
	for _, p := range d.ports {
		if b := p.caps.MarkBits; p.caps.Rules > 0 && b > dispatch.GenerationBits && (bits == 0 || b < bits) {
			bits = b
		}
	}
	if bits == 0 {
		return nil
	}
	generation := uint32(0)
	if d.marks != nil {
		generation = (d.marks.GetGeneration() + 1) % dispatch.Generations
	}
	return &flowspb.Marks{Generation: generation, Shift: uint32(bits - dispatch.GenerationBits)}
}

// prepare takes the rules of a port out that are not right for the next program as well.
func (d *Dispatch) prepare(ctx context.Context, p *port, next *delivery.Program) error {
	if len(p.table.rules) == 0 {
		return nil
	}
	if err := d.readRules(ctx, p); err != nil {
		return err
	}
	steps, _ := dispatch.Update(p.table.rules, d.planAhead(p, next), &p.caps, true)
	for i, s := range steps {
		if s.Kind == dispatch.Swap {
			steps = steps[:i]
			break
		}
	}
	p.complete = false
	all, err := d.run(ctx, p, steps, nil)
	if err == nil && !all {
		err = &control.EngineError{Request: "update flows", Message: fmt.Sprintf("interface %s: rules that do not fit the program cannot be removed: %s", p.name, p.failed)}
	}
	return err
}

// planAhead is a port's plan for the next program, as far as it can be told before it is in force; an empty one if not.
func (d *Dispatch) planAhead(p *port, next *delivery.Program) *dispatch.Plan {
	for i, iface := range next.GetInterfaces() {
		if iface.GetName() != p.name {
			continue
		}
		choice := d.chooseFor(next)
		queues := p.queues
		if choice.Ports[i].Dispatcher != dispatch.Flow {
			queues = nil
		}
		in := d.input(p, next, i, choice.Shards, d.ahead, queues)
		in.Weights = nil // those are of the program before
		if plan, err := dispatch.MakePlan(in); err == nil {
			return plan
		}
	}
	return &dispatch.Plan{}
}
