package program

import (
	"fmt"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// stateKind is all that Go has to know of a kind of state tables. What its entries do is the engine's (kind/ there).
type stateKind struct {
	name string
	// claims tells whether a table is of the kind.
	claims func(t *programpb.StateTable) bool
	// check is for what is the kind's own.
	check func(v validator, at string, t *programpb.StateTable) error
	// text says what is the kind's own in words, holds in two or three what its entries are.
	text  func(p *Program, t *programpb.StateTable) string
	holds string
}

// stateKinds are all kinds but NAPT's, which is that of the tables that none of these claims.
var stateKinds []stateKind

// registerState is called once for each of them.
func registerState(k stateKind) { stateKinds = append(stateKinds, k) }

func kindOf(t *programpb.StateTable) stateKind {
	for _, k := range stateKinds {
		if k.claims(t) {
			return k
		}
	}
	return naptTables
}

var naptTables = stateKind{
	name:  "napt",
	check: func(_ validator, at string, t *programpb.StateTable) error { return naptTable(at, t) },
	text: func(_ *Program, t *programpb.StateTable) string {
		var pool []string
		for _, r := range t.GetPool() {
			pool = append(pool, fmt.Sprintf("%s-%s", address(r.GetFirst()), address(r.GetLast())))
		}
		text := fmt.Sprintf("pool %s, ports %d-%d, at most %d sessions", strings.Join(pool, ","), t.GetPortMin(), t.GetPortMax(), t.GetMaxSessions())
		if t.GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT {
			text += fmt.Sprintf(", mapping %s, filtering %s", dependence(t.GetMapping()), dependence(t.GetFiltering()))
		}
		for _, r := range t.GetReserved() {
			text += fmt.Sprintf(", not %s %s:%d-%d", map[uint32]string{protoTCP: "tcp", protoUDP: "udp"}[r.GetProto()], address(r.GetAddress()), r.GetFirst(), r.GetLast())
		}
		if t.GetPaired() {
			text += ", paired"
		}
		if t.GetPortRestMs() > 0 {
			text += fmt.Sprintf(", ports rest %s", time.Duration(t.GetPortRestMs())*time.Millisecond)
		}
		return text
	},
	holds: "flows, both ways",
}

// dependence is in words what a mapping or filter depends on.
func dependence(d programpb.Dependence) string {
	return strings.ToLower(strings.ReplaceAll(d.String(), "_", "-"))
}

// TableText is a state table of a program in words.
func TableText(p *Program, t *programpb.StateTable) string { return kindOf(t).text(p, t) }

// TableHolds says in two or three words what a state table's entries are.
func TableHolds(t *programpb.StateTable) string { return kindOf(t).holds }

// napt refuses the index of a table that is not a NAPT's.
func (v validator) napt(at, field string, i uint32) error {
	if err := index(at, field, i, len(v.p.GetTables())); err != nil {
		return err
	}
	t := v.p.GetTables()[i]
	if k := kindOf(t); k.name != naptTables.name {
		return fmt.Errorf("%s: %s is %d (%s), which is of kind %s, want a NAPT's", at, field, i, t.GetName(), k.name)
	}
	return nil
}
