package element

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// SetField writes a constant. Fields: vlan (Absent strips the tag), src, dst,
// dscp, ttl, sport, dport. Writing a port of a packet that has none changes nothing.
type SetField struct {
	Field headerspace.Field
	Value headerspace.Value
}

// Kind implements Element.
func (SetField) Kind() string { return "set-field" }

// Ports implements Element.
func (SetField) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (s SetField) Traits() Traits { return Traits{Writes: []headerspace.Field{s.Field}} }

// String is the element as a dump shows it.
func (s SetField) String() string {
	return fmt.Sprintf("%s %s=%s", s.Kind(), s.Field, headerspace.Single(s.Value).Format(s.Field))
}
