package dispatch

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// rules makes a plan's rules, and what a device has after it took them.
func install(t *testing.T, in *Input) (*Plan, []Rule) {
	t.Helper()
	plan := mustPlan(t, in)
	_, installed := Update(nil, plan, &in.Capabilities, false)
	return plan, installed
}

func TestARuleIsCreatedAfterWhatItReliesOnAndDestroyedBefore(t *testing.T) {
	in := &Input{Program: chain(row{anyPort, hosts(1), "", 1}, row{anyPort, anySrc, "no", 0}), Capabilities: able(100)}
	plan, installed := install(t, in)
	create, _ := Update(nil, plan, &in.Capabilities, false)
	destroy, after := Update(installed, &Plan{}, &in.Capabilities, false)
	if len(create) != 2 || create[0].Rule.Action.Kind != Pass || create[1].Rule.Action.Kind != Drop {
		t.Errorf("creating: %v; want the cover first", create)
	}
	if len(destroy) != 2 || destroy[0].Rule.Action.Kind != Drop || len(after) != 0 {
		t.Errorf("destroying: %v; want the drop first", destroy)
	}
}

func TestAnUpdateLeavesWhatStaysAlone(t *testing.T) {
	in := &Input{Program: chain(row{anyPort, hosts(1), "no", 0}, row{anyPort, hosts(9), "no", 0}), Capabilities: able(100), Weights: []uint64{9, 0}}
	plan, installed := install(t, in)
	if steps, after := Update(installed, plan, &in.Capabilities, false); len(steps) != 0 || !slices.Equal(after, installed) {
		t.Errorf("the same plan again: %v", steps)
	}
	if steps, _ := Update(installed, plan, &in.Capabilities, true); len(steps) != 1 || steps[0].Kind != Swap {
		t.Errorf("the same rules for the next program: %v, want only the swap", steps)
	}
}

func TestAPlanIsSteeredAnewWithoutBeingMadeAnew(t *testing.T) {
	for _, jump := range []bool{false, true} {
		in := &Input{
			Program: chain(row{anyPort, hosts(1), "no", 0}, row{anyPort, hosts(9), "", 3}), Capabilities: able(100),
			Shards: Shards{Bits: shard.Bits}, Groups: []Group{{Queues: Spread(2, shard.Bits)}},
		}
		in.Capabilities.Jump = jump
		plan := mustPlan(t, in)
		moved := slices.Clone(in.Groups[0].Queues)
		moved[5] = 1
		in.Groups[0].Queues = moved
		steered := plan.Steer(in)
		if fresh := mustPlan(t, in); steered == nil || !slices.Equal(steered.Rules, fresh.Rules) {
			t.Errorf("jump %v: steered\n%vwant as if made again\n%v", jump, steered, lines(fresh))
		}
		in.Capabilities.Rules = len(plan.Rules)
		if got := plan.Steer(in); got != nil {
			t.Errorf("jump %v: %d rules in room for %d", jump, len(got.Rules), in.Capabilities.Rules)
		}
	}
}

func TestARuleThatDoesSomethingElseIsCreatedBesideTheOldOne(t *testing.T) {
	in := &Input{Program: chain(), Capabilities: able(100), Shards: Shards{Bits: shard.Bits}, Groups: []Group{{Queues: Spread(2, shard.Bits)}}}
	in.Capabilities.MarkBits = 0
	_, installed := install(t, in)
	moved := Spread(2, shard.Bits)
	slices.Reverse(moved)
	in.Groups[0].Queues = moved
	steps, after := Update(installed, mustPlan(t, in), &in.Capabilities, false)
	var kinds []StepKind
	for _, s := range steps {
		kinds = append(kinds, s.Kind)
	}
	if !slices.Equal(kinds, []StepKind{Create, Create, Destroy, Destroy}) {
		t.Errorf("got %v", steps)
	}
	again, _ := Update(after, mustPlan(t, in), &in.Capabilities, false)
	if len(again) != 0 {
		t.Errorf("the device has the plan, and yet: %v", again)
	}
	in.Capabilities.Rules = 3
	steps, _ = Update(installed, mustPlan(t, in), &in.Capabilities, false)
	n := len(installed)
	for _, s := range steps {
		n += map[StepKind]int{Create: 1, Destroy: -1}[s.Kind]
		if n > 3 {
			t.Errorf("%d rules on a device with room for 3: %v", n, steps)
		}
	}
}

func TestAtTheSwapOnlyRulesThatAreRightForBothProgramsAreThere(t *testing.T) {
	ssh := row{span{22, 22}, hosts(2), "", 1}
	before := &Input{Program: chain(ssh, row{anyPort, anySrc, "no", 0}), Capabilities: able(100)}
	before.Capabilities.MarkBits = 0
	after := *before
	after.Program = chain(ssh, row{span{80, 80}, hosts(1), "", 1}, row{anyPort, anySrc, "no", 0})
	_, installed := install(t, before)
	steps, _ := Update(installed, mustPlan(t, &after), &after.Capabilities, true)
	swap := slices.IndexFunc(steps, func(s Step) bool { return s.Kind == Swap })
	have := map[Rule]bool{}
	for _, r := range installed {
		have[r] = true
	}
	for _, s := range steps[:swap] {
		if s.Kind != Destroy {
			t.Errorf("before the swap: %v", s)
		}
		delete(have, s.Rule)
	}
	for r := range have {
		if r.Action.Kind == Drop {
			t.Errorf("at the swap there is %v, but port 80 passes in the next program", r)
		}
	}
	if len(have) != 2 {
		t.Errorf("at the swap there are %v, want the covers of port 22 with TCP and UDP, which stay", have)
	}
}

func TestTheSecondTableEndsBeforeTheFirstLeadsThere(t *testing.T) {
	in := &Input{Program: chain(row{anyPort, hosts(1), "no", 0}), Capabilities: able(100), Shards: Shards{Bits: shard.Bits}, Groups: []Group{{Queues: Spread(2, shard.Bits)}}}
	in.Capabilities.Jump = true
	steps, _ := Update(nil, mustPlan(t, in), &in.Capabilities, false)
	if first := steps[0].Rule; first.Table != 1 || first.Match != (Match{}) || first.Action.Kind != Pass {
		t.Errorf("first comes %v", first)
	}
	jump := slices.IndexFunc(steps, func(s Step) bool { return s.Rule.Table == 0 })
	if slices.ContainsFunc(steps[jump:], func(s Step) bool { return s.Rule.Table == 1 }) {
		t.Errorf("a rule of the second table comes after the first leads there: %v", steps)
	}
}
