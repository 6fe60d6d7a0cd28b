package element

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Output ports of TTLGuard.
const (
	GuardPass = 0
	GuardFail = 1
)

// TTLGuard lets packets with a TTL of at least Min leave by port GuardPass, the
// others by GuardFail. A TTL of 255 cannot come from beyond a router: the
// Generalized TTL Security Mechanism (RFC 5082 section 3).
type TTLGuard struct{ Min uint8 }

// Kind implements Element.
func (TTLGuard) Kind() string { return "ttl-guard" }

// Ports implements Element.
func (TTLGuard) Ports() (in, out int) { return 1, 2 }

// Traits implements Element.
func (TTLGuard) Traits() Traits { return Traits{Reads: []headerspace.Field{headerspace.TTL}} }

// PortNames implements Named.
func (TTLGuard) PortNames() []string { return []string{"pass", "fail"} }

// String is the element as a dump shows it.
func (g TTLGuard) String() string { return fmt.Sprintf("%s min %d", g.Kind(), g.Min) }
