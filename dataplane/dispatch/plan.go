package dispatch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Input is what a plan of one port's flow rules is computed from.
type Input struct {
	Program      *programpb.Program // valid, see program.Validate
	Interface    uint32
	Capabilities Capabilities
	// Weights are the packets of each class of the interface's segment, as measured. Nil: every box of the table is as likely.
	Weights []uint64
	Costs   Costs
	// Groups say to which queue packets go. None: all to where the port sends them by itself.
	Groups []Group
	Shards Shards
	// Generation is the program's, modulo 16: marks of another generation are not believed.
	Generation uint32
}

// wire tells whether the port is a side of a stop.
func (in *Input) wire() bool { return in.Program.GetInterfaces()[in.Interface].GetWire() }

// Costs are cycles of the engine that rules save.
type Costs struct {
	Packet   float64 // a packet that software does not see
	Classify float64 // a packet that comes with its class
}

// DefaultCosts are from docs/bench: receive, parse and classify of a packet that is dropped; classify alone.
var DefaultCosts = Costs{Packet: 80, Classify: 45}

func (c Costs) orDefault() Costs {
	if c == (Costs{}) {
		return DefaultCosts
	}
	return c
}

// ActionKind is what becomes of a rule's packets.
type ActionKind uint8

// Actions of a rule.
const (
	Pass    ActionKind = iota // go where the port sends packets without a rule: RSS, or its first queue
	ToQueue                   // go to a receive queue
	Jump                      // go on in the second table
	Drop                      // end here
)

func (k ActionKind) String() string {
	return [...]string{"pass", "queue", "jump", "drop"}[k]
}

// Action is what a rule does.
type Action struct {
	Kind  ActionKind
	Queue uint16 // of ToQueue
	Mark  uint32 // put on the packet; 0: none
	// Class is the class in the interface's segment that a Mark stands for, or that the packets of a Drop would have been counted as.
	Class uint32
}

// Rule is one flow rule. Of the rules of a table that match a packet the one with the lowest Priority holds.
type Rule struct {
	Table    int
	Priority int
	Match    Match
	Action   Action
}

func (r Rule) String() string {
	s := fmt.Sprintf("%d.%d %v → %v", r.Table, r.Priority, r.Match, r.Action.Kind)
	if r.Action.Kind == ToQueue {
		s += fmt.Sprint(" ", r.Action.Queue)
	}
	if r.Action.Mark != 0 {
		s += fmt.Sprintf(" mark %#x (class %d)", r.Action.Mark, r.Action.Class)
	}
	return s
}

// Plan is the rules of one port.
type Plan struct {
	// Rules are sorted by table and priority.
	Rules []Rule
	// Dropped and Marked are the parts of the weight that the rules take; what rules above take from those below is not seen.
	Dropped, Marked float64
	// Count asks for a counter on each dropping rule: it stands for those of the class.
	Count bool
	// Marks is how the marks are written.
	Marks Marks

	classes []Rule // before they were combined with those that choose queues
}

// MakePlan plans the flow rules of a port. It fails if the groups' queues or shards do not fit the capabilities: see Choose. A wire has none: what
// becomes of a frame there, its source address tells, and no rule of a class may drop it.
func MakePlan(in *Input) (*Plan, error) {
	if err := in.Capabilities.validate(); err != nil {
		return nil, err
	}
	if in.wire() {
		return &Plan{}, nil
	}
	steering, total, err := in.steering()
	if err != nil {
		return nil, err
	}
	room, perPass := in.Capabilities.Rules-len(steering), 1
	if room < 0 {
		return nil, fmt.Errorf("queues need %d rules, the device has room for %d", len(steering), in.Capabilities.Rules)
	}
	plan := &Plan{Count: in.Capabilities.Count, Marks: marksOf(in.Capabilities.MarkBits, in.Generation)}
	jump := in.jumps(steering)
	levels := max(in.Capabilities.Priorities/2, 1)
	switch {
	case len(steering) == 0:
	case !in.Capabilities.ordered():
		levels = 0 // what both want of a packet could not be told
	case jump:
		room -= 2
		levels--
	default:
		perPass = len(steering)
		if !total {
			perPass++
		}
		levels = levels/(steeringLevels+1) - 1
	}
	var chosen []element
	if room > 0 && levels > 0 && in.segment().GetFib() == 0 { // no device knows the tables of routes by which such a segment tells classes apart
		p := newPlanner(in)
		chosen = p.plan(room, perPass, levels)
		plan.shares(p, chosen)
	}
	plan.classes = merge(flatten(chosen), &in.Capabilities)
	plan.Rules = combine(slices.Clone(plan.classes), steering, jump, total)
	return plan, nil
}

// Steer is the plan with the queues of another input, which otherwise is that of the plan. What is done with classes stays as it is, so that
// it takes no time. It is nil if the device has no room for both: then a new plan has to give up some of it.
func (plan *Plan) Steer(in *Input) *Plan {
	steering, total, err := in.steering()
	if err != nil || len(steering) == 0 && len(in.Groups) > 0 {
		return nil
	}
	steered := *plan
	steered.Rules = combine(slices.Clone(plan.classes), steering, in.jumps(steering), total)
	if len(steered.Rules) > in.Capabilities.Rules {
		return nil
	}
	return &steered
}

// jumps tells whether rules that choose queues have a table of their own.
func (in *Input) jumps(steering []Rule) bool {
	c := &in.Capabilities
	return len(steering) > 0 && c.Jump && c.ordered() && c.Rules >= len(steering)+2
}

// shares sums up what the chosen elements save.
func (plan *Plan) shares(p *planner, chosen []element) {
	all := 0.0
	took := make([]float64, len(p.main))
	for i := range chosen {
		if e := &chosen[i]; e.of >= 0 {
			took[e.of] += e.part
		}
	}
	for i := range p.main {
		c := &p.main[i]
		all += c.weight
		if took[i] == 0 && slices.ContainsFunc(chosen, func(e element) bool { // a larger one of the same class does as well
			return e.of >= 0 && e.part == 1 && e.action.Class == c.class && c.region.within(&e.box)
		}) {
			took[i] = 1
		}
		if c.drop {
			plan.Dropped += c.weight * took[i]
		} else {
			plan.Marked += c.weight * took[i]
		}
	}
	if all > 0 {
		plan.Dropped /= all
		plan.Marked /= all
	}
}

// compare orders rules by table, priority, match and action.
func (r Rule) compare(o Rule) int {
	if c := cmp.Or(cmp.Compare(r.Table, o.Table), cmp.Compare(r.Priority, o.Priority)); c != 0 {
		return c
	}
	for f := range r.Match.Conds {
		a, b := r.Match.Conds[f], o.Match.Conds[f]
		if c := cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Mask, b.Mask), cmp.Compare(a.Last, b.Last)); c != 0 {
			return c
		}
	}
	return cmp.Or(
		slices.Compare(r.Match.DstMAC[:], o.Match.DstMAC[:]), cmp.Compare(r.Action.Kind, o.Action.Kind),
		cmp.Compare(r.Action.Queue, o.Action.Queue), cmp.Compare(r.Action.Mark, o.Action.Mark), cmp.Compare(r.Action.Class, o.Action.Class),
	)
}
