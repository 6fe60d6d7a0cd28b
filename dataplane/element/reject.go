package element

// Reject refuses a packet by port 0: a TCP segment by a reset, as its destination would, others by ICMP
// "communication administratively prohibited" (RFC 1812 section 5.2.7.1). What is never answered is
// dropped as "icmp-suppressed": resets, ICMP errors, later fragments.
type Reject struct{}

// Kind implements Element.
func (Reject) Kind() string { return "reject" }

// Ports implements Element.
func (Reject) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (Reject) Traits() Traits { return Traits{Generates: true} }
