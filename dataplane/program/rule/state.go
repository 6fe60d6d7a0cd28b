package rule

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// StateKind is all that Go has to know of a kind of state tables. What its entries do is the engine's (kind/ there).
type StateKind struct {
	// Name and Wanted are for messages: "… is of kind Name, want Wanted".
	Name, Wanted string
	// Claims tells whether a table is of the kind. One kind has no Claims: it has all tables that no other kind claims, as
	// its tables have no member that tells their kind.
	Claims func(t *programpb.StateTable) bool
	// Check refuses a table that has what the kind cannot be. Its messages begin with at, the place in the program.
	Check func(p *programpb.Program, at string, t *programpb.StateTable) error
	// Text says in words what the kind has in a table.
	Text func(p *programpb.Program, t *programpb.StateTable) string
	// Holds says in two or three words what the entries are.
	Holds string
	// Memory is what the engine's memory for a table is laid out by. Change it together with the kind in the engine.
	Memory func(t *programpb.StateTable) Memory
	// EachPacket tells that packets of known flows are classified again: what the kind decides is not known from the flow.
	EachPacket bool
	// Subscribers is the set of subscribers whose entries a table counts, from 1; 0: none. Absent: none, or those of runs.
	Subscribers func(t *programpb.StateTable) uint32
}

var (
	claiming []*StateKind
	// unclaimed is the kind without Claims.
	unclaimed *StateKind
)

// RegisterState adds a kind of state.
func RegisterState(k *StateKind) {
	switch {
	case k.Memory == nil:
		panic(fmt.Sprintf("kind of state %s has no Memory", k.Name))
	case k.Claims != nil:
		claiming = append(claiming, k)
	case unclaimed == nil:
		unclaimed = k
	default:
		panic(fmt.Sprintf("kinds of state %s and %s both claim no tables", unclaimed.Name, k.Name))
	}
}

// StateKindOf is the kind of a table.
func StateKindOf(t *programpb.StateTable) *StateKind {
	for _, k := range claiming {
		if k.Claims(t) {
			return k
		}
	}
	return unclaimed
}

// Index refuses the index of a table that is not there, or is of another kind.
func (k *StateKind) Index(p *programpb.Program, at, field string, i uint32) error {
	if err := Index(at, field, i, len(p.GetTables())); err != nil {
		return err
	}
	t := p.GetTables()[i]
	if other := StateKindOf(t); other != k {
		return fmt.Errorf("%s: %s is %d (%s), which is of kind %s, want %s", at, field, i, t.GetName(), other.Name, k.Wanted)
	}
	return nil
}
