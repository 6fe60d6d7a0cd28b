package element

// Counter counts the packets and bytes (of the frame) that pass.
type Counter struct{}

// Kind implements Element.
func (Counter) Kind() string { return "counter" }

// Ports implements Element.
func (Counter) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (Counter) Traits() Traits { return Traits{} }
