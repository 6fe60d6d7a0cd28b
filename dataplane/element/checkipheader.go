package element

// Output ports of CheckIPHeader.
const (
	CheckGood = 0
	CheckBad  = 1
)

// CheckIPHeader verifies version, lengths and header checksum (RFC 1812 section 5.2.2).
type CheckIPHeader struct{}

// Kind implements Element.
func (CheckIPHeader) Kind() string { return "check-ip-header" }

// Ports implements Element.
func (CheckIPHeader) Ports() (in, out int) { return 1, 2 }

// Traits implements Element.
func (CheckIPHeader) Traits() Traits { return Traits{} }

// PortNames implements Named.
func (CheckIPHeader) PortNames() []string { return []string{"good", "bad"} }
