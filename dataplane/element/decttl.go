package element

import "github.com/sinter-nfv/sinter/dataplane/headerspace"

// Output ports of DecTTL.
const (
	TTLAlive   = 0
	TTLExpired = 1
)

// DecTTL decrements the TTL; packets with TTL 0 or 1 leave unchanged by port
// TTLExpired (RFC 1812 section 5.3.1).
type DecTTL struct{}

// Kind implements Element.
func (DecTTL) Kind() string { return "dec-ttl" }

// Ports implements Element.
func (DecTTL) Ports() (in, out int) { return 1, 2 }

// Traits implements Element.
func (DecTTL) Traits() Traits {
	return Traits{Reads: []headerspace.Field{headerspace.TTL}, Writes: []headerspace.Field{headerspace.TTL}, LowersTTL: true}
}

// PortNames implements Named.
func (DecTTL) PortNames() []string { return []string{"alive", "expired"} }
