package dispatch

import "slices"

// combine puts the rules about classes and those that send packets to queues together: one after the other in two
// tables, where the device can go from one to the next, else every one with every other. total: every packet is steered.
func combine(classes, steering []Rule, jump, total bool) []Rule {
	var out []Rule
	switch {
	case len(steering) == 0:
		out = classes
	case jump:
		out = inTwoTables(classes, steering)
	default:
		out = inOneTable(classes, steering, total)
	}
	slices.SortFunc(out, Rule.compare)
	return renumber(out)
}

// renumber gives the sorted rules of the first table priorities without gaps; those of the second never move.
func renumber(rules []Rule) []Rule {
	next, was := -1, -1
	for i := range rules {
		r := &rules[i]
		if r.Table != 0 {
			break
		}
		if r.Priority != was {
			next++
			was = r.Priority
		}
		r.Priority = next
	}
	return rules
}

func inTwoTables(classes, steering []Rule) (out []Rule) {
	last := 0
	for _, r := range classes {
		if r.Action.Kind == Pass {
			r.Action.Kind = Jump
		}
		last = max(last, r.Priority+1)
		out = append(out, r)
	}
	out = append(out, Rule{Priority: last, Action: Action{Kind: Jump}})
	for _, r := range steering {
		r.Table = 1
		out = append(out, r)
	}
	// Packets that no rule steers go where the port sends them; a second table has no such end of its own.
	return append(out, Rule{Table: 1, Priority: steeringLevels, Action: Action{Kind: Pass}})
}

// inOneTable gives each level of the rules about classes the levels of the steering rules, and one for what none of
// these match.
func inOneTable(classes, steering []Rule, total bool) (out []Rule) {
	const levels = steeringLevels + 1
	last := 0
	for _, r := range classes {
		last = max(last, r.Priority+1)
		if r.Action.Kind == Drop {
			r.Priority *= levels
			out = append(out, r)
			continue
		}
		for _, s := range steering {
			both, ok := r.Match.and(s.Match)
			if !ok {
				continue
			}
			a := s.Action
			a.Mark, a.Class = r.Action.Mark, r.Action.Class
			out = append(out, Rule{Priority: r.Priority*levels + s.Priority, Match: both, Action: a})
		}
		if !total {
			r.Priority = r.Priority*levels + steeringLevels
			out = append(out, r)
		}
	}
	for _, s := range steering {
		s.Priority += last * levels
		out = append(out, s)
	}
	return out
}
