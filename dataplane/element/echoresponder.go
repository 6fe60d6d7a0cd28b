package element

// EchoResponder answers ICMP echo requests (RFC 792): addresses swapped, TTL 64,
// by port 0. Everything else is dropped as "local".
type EchoResponder struct{}

// Kind implements Element.
func (EchoResponder) Kind() string { return "echo-responder" }

// Ports implements Element.
func (EchoResponder) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (EchoResponder) Traits() Traits { return Traits{Generates: true} }
