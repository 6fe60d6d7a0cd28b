package program

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

func init() {
	rule.RegisterOutcome[*programpb.Leg_Output](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error {
			return rule.First(rule.Index(at, "output", l.GetOutput(), len(p.GetInterfaces())), noWire(p, at, l.GetOutput()))
		},
	})
	rule.RegisterOutcome[*programpb.Leg_Drop](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error { return drop(p, at, l.GetDrop()) },
	})
	rule.RegisterOutcome[*programpb.Leg_Generator](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error {
			return rule.Index(at, "generator", l.GetGenerator(), len(p.GetGenerators()))
		},
	})
	rule.RegisterOutcome[*programpb.Leg_Segment](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error {
			return rule.Index(at, "segment", l.GetSegment(), len(p.GetSegments()))
		},
		LeadsTo: func(l *programpb.Leg) []uint32 { return []uint32{l.GetSegment()} },
	})
}

// noWire refuses an output to a side of a stop.
func noWire(p *programpb.Program, at string, output uint32) error {
	if int(output) >= len(p.GetInterfaces()) || !p.GetInterfaces()[output].GetWire() {
		return nil
	}
	return fmt.Errorf("%s: output is %d (%s), a wire: packets leave by it for its stop alone", at, output, p.GetInterfaces()[output].GetName())
}

func drop(p *programpb.Program, at string, d *programpb.Drop) error {
	switch r := d.GetReason().(type) {
	case *programpb.Drop_Chain:
		return rule.Index(at, "drop.chain", r.Chain, len(p.GetReasons()))
	case *programpb.Drop_Builtin:
		if _, ok := programpb.DropReason_name[int32(r.Builtin)]; ok && r.Builtin != programpb.DropReason_DROP_NONE {
			return nil
		}
		return fmt.Errorf("%s: drop.builtin %d is no drop reason", at, r.Builtin)
	}
	return fmt.Errorf("%s: drop has no reason", at)
}

// OutcomeText says an outcome of a function's own in words: what becomes of the leg's packets.
func OutcomeText(p *programpb.Program, l *programpb.Leg) string {
	if known, _ := rule.OutcomeOf(l); known.Text != nil {
		return known.Text(p, l)
	}
	return "nothing"
}

// LeadsTo are the segments in which packets of a leg may be classified again, by its outcome alone: not those that sessions
// tell.
func LeadsTo(l *programpb.Leg) []uint32 {
	if known, _ := rule.OutcomeOf(l); known.LeadsTo != nil {
		return known.LeadsTo(l)
	}
	return nil
}
