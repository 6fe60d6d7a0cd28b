package element

// LocalHost is the end of packets to an own address: it answers them by port 0 as a host without
// services (RFC 1122 sections 3.2.2.1 and 3.2.2.6, RFC 9293 section 3.10.7.1).
type LocalHost struct{}

// Kind implements Element.
func (LocalHost) Kind() string { return "local-host" }

// Ports implements Element.
func (LocalHost) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (LocalHost) Traits() Traits { return Traits{Generates: true} }
