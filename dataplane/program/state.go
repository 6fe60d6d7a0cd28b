package program

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// TableText is a state table of a program in words.
func TableText(p *Program, t *programpb.StateTable) string { return rule.StateKindOf(t).Text(p, t) }

// TableHolds says in two or three words what a state table's entries are.
func TableHolds(t *programpb.StateTable) string { return rule.StateKindOf(t).Holds }
