package rules

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// maxReplicas are how many a leg may choose from; the engine has the same limit (../engine/sn_op_assign.c).
const maxReplicas = 8

// assignment are the tables of flows of replicas.
var assignment = &rule.StateKind{
	Name:   "assignment",
	Wanted: "one of assignment",
	Claims: func(t *programpb.StateTable) bool { return t.GetAssignment() != nil },
	Check: func(_ *programpb.Program, at string, t *programpb.StateTable) error {
		return flows(at, t.GetAssignment(), t.GetMaxSessions())
	},
	Text: func(_ *programpb.Program, t *programpb.StateTable) string {
		return flowsText(t.GetAssignment(), t.GetMaxSessions())
	},
	Holds:  "flows, both ways",
	Memory: rule.Flows,
}

func init() {
	rule.RegisterState(assignment)
	rule.RegisterOperation[*programpb.Op_Assigned](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return assignment.Index(p, at, "assigned.table", o.GetAssigned().GetTable())
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "its flow is one of " + p.GetTables()[o.GetAssigned().GetTable()].GetName()
		},
	})
	rule.RegisterOutcome[*programpb.Leg_Assign](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error { return assign(p, at, l.GetAssign()) },
		LeadsTo: func(l *programpb.Leg) (to []uint32) {
			for _, r := range l.GetAssign().GetReplicas() {
				to = append(to, r.GetSegment())
			}
			return to
		},
		Text: func(p *programpb.Program, l *programpb.Leg) string {
			text := "go to the replica that has its flow:"
			for _, r := range l.GetAssign().GetReplicas() {
				text += " " + p.GetTables()[r.GetTable()].GetName()
				if r.GetDraining() {
					text += " (draining)"
				}
			}
			return text
		},
	})
}

func assign(p *programpb.Program, at string, a *programpb.Assign) error {
	if n := len(a.GetReplicas()); n < 1 || n > maxReplicas {
		return fmt.Errorf("%s: assign has %d replicas, want 1..%d", at, n, maxReplicas)
	}
	keys, tables := map[uint64]bool{}, map[uint32]bool{}
	return rule.Each(a.GetReplicas(), func(i int, r *programpb.Replica) error {
		field := func(name string) string { return fmt.Sprintf("assign.replicas[%d].%s", i, name) }
		if keys[r.GetKey()] {
			return fmt.Errorf("%s: %s is %#x, which another one has, want a key of its own", at, field("key"), r.GetKey())
		}
		if tables[r.GetTable()] {
			return fmt.Errorf("%s: %s is %d, which another one has, want a table of its own", at, field("table"), r.GetTable())
		}
		keys[r.GetKey()], tables[r.GetTable()] = true, true
		return rule.First(
			assignment.Index(p, at, field("table"), r.GetTable()),
			rule.Index(at, field("segment"), r.GetSegment(), len(p.GetSegments())),
			rule.Index(at, field("inside"), r.GetInside(), len(p.GetInterfaces())),
			rule.Index(at, field("outside"), r.GetOutside(), len(p.GetInterfaces())),
			side(p, at, field("inside"), r.GetInside()),
			side(p, at, field("outside"), r.GetOutside()),
		)
	})
}
