package dispatch

import (
	"fmt"
	"slices"
)

// StepKind is what a step of an update does.
type StepKind uint8

// Steps of an update.
const (
	Create  StepKind = iota // install the rule
	Destroy                 // take the rule out
	Swap                    // now the program changes
)

func (k StepKind) String() string { return [...]string{"create", "destroy", "swap"}[k] }

// Step is one step of an update.
type Step struct {
	Kind StepKind
	Rule Rule // with the device's priority; not of Swap
}

func (s Step) String() string {
	if s.Kind == Swap {
		return "swap"
	}
	return fmt.Sprintf("%v %v", s.Kind, s.Rule)
}

// Update is the way from the rules that a device has to those of a plan, and the rules that it has then. After every
// step no packet is treated otherwise than by software: what a rule relies on is created before it and
// destroyed after it. New rules are created before old ones are destroyed, as far as the device has room.
//
// A level of a plan is two priorities of the device, so that a rule can be created beside one that asks for the same
// and does something else. If the program changes, only rules that are right for both may be there at the Swap.
func Update(installed []Rule, plan *Plan, caps *Capabilities, newProgram bool) (steps []Step, after []Rule) {
	kept, old, fresh := compareTables(installed, plan.Rules)
	if newProgram {
		kept, old, fresh = keepForBoth(installed, kept, old, fresh)
	}
	assign(kept, old, fresh, caps)
	// Rules that rely on others are at the end.
	slices.SortFunc(old, Rule.before)
	slices.SortFunc(fresh, Rule.before)
	slices.Reverse(fresh) // … so that both are taken from the end
	n := len(installed)
	destroy := func() {
		last := len(old) - 1
		steps = append(steps, Step{Destroy, old[last]})
		old = old[:last]
		n--
	}
	if newProgram {
		for len(old) > 0 {
			destroy()
		}
		steps = append(steps, Step{Kind: Swap})
	}
	for len(fresh) > 0 {
		last := len(fresh) - 1
		for len(old) > 0 && (n >= caps.Rules || blocked(old, &fresh[last])) {
			destroy()
		}
		steps = append(steps, Step{Create, fresh[last]})
		kept = append(kept, fresh[last])
		fresh = fresh[:last]
		n++
	}
	for len(old) > 0 {
		destroy()
	}
	slices.SortFunc(kept, Rule.compare)
	return steps, kept
}

// before orders rules as they are created: the second table before what jumps there, and its end before the rest of
// it; in the first table, where rules rely on those above them, from the top.
func (r Rule) before(o Rule) int {
	if r.Table != o.Table {
		return o.Table - r.Table
	}
	if r.Table == 1 {
		return o.compare(r)
	}
	return r.compare(o)
}

// place is what can be there once.
type place struct {
	table, priority int
	match           Match
}

func (r *Rule) place() place { return place{r.Table, r.Priority, r.Match} }

// blocked tells whether an old rule is at the very place of a new one.
func blocked(old []Rule, r *Rule) bool {
	return slices.ContainsFunc(old, func(o Rule) bool { return o.place() == r.place() })
}

// compareTables finds the rules that stay. kept and old have the device's priorities, fresh the plan's levels.
func compareTables(installed, planned []Rule) (kept, old, fresh []Rule) {
	wanted := make(map[Rule]bool, len(planned))
	for _, r := range planned {
		wanted[r] = true
	}
	for _, r := range installed {
		level := r
		level.Priority /= 2
		if wanted[level] {
			delete(wanted, level)
			kept = append(kept, r)
		} else {
			old = append(old, r)
		}
	}
	for _, r := range planned {
		if wanted[r] {
			fresh = append(fresh, r)
		}
	}
	return kept, old, fresh
}

// keepForBoth moves kept rules that rely on one that goes or comes to old and fresh: at the swap they would be wrong.
func keepForBoth(installed, kept, old, fresh []Rule) (still, more, again []Rule) {
	stays := make(map[Rule]bool, len(kept))
	coming := slices.Clone(fresh)
	more, again = old, fresh
	slices.SortFunc(kept, Rule.compare)
	for _, r := range kept {
		level := r
		level.Priority /= 2
		relies := func(o *Rule, priority int) bool {
			return o.Table == r.Table && o.Priority < priority && o.Action != r.Action && o.Match.overlaps(&r.Match)
		}
		ok := !slices.ContainsFunc(installed, func(o Rule) bool { return relies(&o, r.Priority) && !stays[o] }) &&
			!slices.ContainsFunc(coming, func(o Rule) bool { return relies(&o, level.Priority) })
		if ok {
			stays[r] = true
			still = append(still, r)
			continue
		}
		more = append(more, r)
		again = append(again, level)
		coming = append(coming, level)
	}
	return still, more, again
}

// assign gives new rules the device's priorities: of the two of their level the one where no rule asks for the same.
func assign(kept, old, fresh []Rule, caps *Capabilities) {
	if !caps.ordered() {
		return
	}
	taken := make(map[place]bool, len(kept)+len(old))
	for _, list := range [...][]Rule{kept, old} {
		for i := range list {
			taken[list[i].place()] = true
		}
	}
	for i := range fresh {
		fresh[i].Priority *= 2
		if taken[fresh[i].place()] {
			fresh[i].Priority++
		}
	}
}
