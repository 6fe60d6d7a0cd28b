package offload

import (
	"context"
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
)

// readRules reads what a port's rules did: what they dropped is counted, and what was seen of them is noted. Rules that the
// device has lost are made again, and until then those that may rely on them are taken out.
func (d *Dispatch) readRules(ctx context.Context, p *port) error {
	if len(p.table.rules) == 0 {
		p.seen, p.marked, p.read = false, false, d.clock.Now()
		return nil
	}
	list, err := d.engine.Flows(ctx, p.name)
	if err != nil {
		return fmt.Errorf("interface %s: %w", p.name, err)
	}
	p.read = d.clock.Now()
	if list.GetResets() != p.resets {
		p.resets = list.GetResets()
		d.log.Info("device was reset, its rules were reinstalled", "interface", p.name, "lost", list.GetLost())
	}
	rules, has := p.table.byNumber(), map[uint32]bool{}
	p.told = list.GetBelieved()
	for _, f := range list.GetFlows() {
		r, known := rules[f.GetNumber()]
		if !known {
			continue
		}
		has[f.GetNumber()] = true
		p.seen = p.seen || f.GetVerdict() == flowspb.FlowState_EXECUTED
		p.marked = p.marked || r.Action.Mark != 0 && f.GetAgreed() > 0
		d.countDrops(p, f, &r)
	}
	if p.table.forget(has) == 0 {
		return nil
	}
	p.complete = false
	p.failed = "rules were lost: " + list.GetLost()
	steps, _ := dispatch.Update(p.table.rules, &dispatch.Plan{}, &p.caps, false)
	_, err = d.run(ctx, p, steps, nil)
	return err
}

// countDrops counts what a rule has dropped since the last reading as what it was dropped for.
func (d *Dispatch) countDrops(p *port, f *flowspb.FlowState, r *dispatch.Rule) {
	if r.Action.Kind != dispatch.Drop || p.index < 0 {
		return
	}
	now := Count{f.GetPackets(), f.GetBytes()}
	if more := now.since(p.counted[f.GetNumber()]); more != (Count{}) {
		d.drops.add(p.index, r.Action.Class, more)
	}
	p.counted[f.GetNumber()] = now
}

// believe has the engine believe a port's marks once some were seen to be right, and none to be wrong.
func (d *Dispatch) believe(ctx context.Context, p *port) error {
	if p.told || !p.marked || d.marks == nil || p.before.GetMisclassified() > 0 || Contradictions(p.before) > 0 {
		return nil
	}
	_, err := d.engine.UpdateFlows(ctx, &flowspb.UpdateFlows{Interface: p.name, Belief: flowspb.MarkBelief_BELIEVED})
	if err != nil {
		return fmt.Errorf("interface %s: %w", p.name, err)
	}
	p.told = true
	return nil
}
