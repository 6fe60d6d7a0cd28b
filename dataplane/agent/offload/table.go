package offload

import (
	"cmp"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// stepsAtOnce is so many steps of an update that other requests need not wait for long.
const stepsAtOnce = 256

// ruleTable is the rules that a port's device has, as far as the agent knows.
type ruleTable struct {
	rules   []dispatch.Rule
	numbers map[dispatch.Rule]uint32
	last    uint32 // number without its kind
}

// kindShift is above a rule's number among all, below its kind of action: of rules of which nothing else is known, drops
// have the highest numbers, then what goes to another table, then what chooses queues.
const kindShift = 30

// next numbers a rule.
func (t *ruleTable) next(r dispatch.Rule) uint32 {
	t.last = (t.last + 1) % (1 << kindShift)
	return uint32(r.Action.Kind)<<kindShift | t.last
}

// done notes a step that the device has taken.
func (t *ruleTable) done(s dispatch.Step, number uint32) {
	if t.numbers == nil {
		t.numbers = map[dispatch.Rule]uint32{}
	}
	if s.Kind == dispatch.Create {
		t.rules = append(t.rules, s.Rule)
		t.numbers[s.Rule] = number
		return
	}
	delete(t.numbers, s.Rule)
	t.rules = slices.DeleteFunc(t.rules, func(r dispatch.Rule) bool { return r == s.Rule })
}

// forget takes rules out that the device has lost; those that it still has stay.
func (t *ruleTable) forget(has map[uint32]bool) (lost int) {
	t.rules = slices.DeleteFunc(t.rules, func(r dispatch.Rule) bool {
		if has[t.numbers[r]] {
			return false
		}
		delete(t.numbers, r)
		lost++
		return true
	})
	return lost
}

// byNumber are the rules by the engine's names for them.
func (t *ruleTable) byNumber() map[uint32]dispatch.Rule {
	out := make(map[uint32]dispatch.Rule, len(t.numbers))
	for r, n := range t.numbers {
		out[n] = r
	}
	return out
}

// request is the engine's words for steps, and the numbers of their rules.
func (t *ruleTable) request(steps []dispatch.Step, count bool) (out []*flowspb.FlowStep, numbers []uint32) {
	for _, s := range steps {
		var number uint32
		var step flowspb.FlowStep
		if s.Kind == dispatch.Create {
			number = t.next(s.Rule)
			step.Step = &flowspb.FlowStep_Create{Create: flowRule(s.Rule, number, count)}
		} else {
			number = t.numbers[s.Rule]
			step.Step = &flowspb.FlowStep_Destroy{Destroy: number}
		}
		out, numbers = append(out, &step), append(numbers, number)
	}
	return out, numbers
}

// flowRule is a rule in the engine's words. Only drops are counted: software counts all else.
func flowRule(r dispatch.Rule, number uint32, count bool) *flowspb.FlowRule {
	f := &flowspb.FlowRule{
		Number: number, Table: uint32(r.Table), Priority: uint32(r.Priority),
		Action: flowspb.FlowRule_Action(r.Action.Kind), Queue: uint32(r.Action.Queue), Mark: r.Action.Mark,
		Count: count && r.Action.Kind == dispatch.Drop,
	}
	if r.Match.DstMAC != (dispatch.MAC{}) {
		f.DstMac = r.Match.DstMAC[:]
	}
	for i, c := range r.Match.Conds {
		if !c.Any() {
			f.Conds = append(f.Conds, &flowspb.FlowCond{Field: programpb.Field(i), Value: c.Value, Mask: c.Mask, Last: c.Last})
		}
	}
	return f
}

// wipe are the steps that take out rules of which only the numbers are known, drops first: of the others marks must not be believed any more.
func wipe(flows []*flowspb.FlowState) []*flowspb.FlowStep {
	flows = slices.Clone(flows)
	slices.SortFunc(flows, func(a, b *flowspb.FlowState) int { return cmp.Compare(b.GetNumber(), a.GetNumber()) })
	var out []*flowspb.FlowStep
	for _, f := range flows {
		out = append(out, &flowspb.FlowStep{Step: &flowspb.FlowStep_Destroy{Destroy: f.GetNumber()}})
	}
	return out
}
