package element

// Output sends packets out of a chain interface: to the next hop that the last
// lookup chose, else to the destination if it is on-link, else to the gateway.
type Output struct{ Interface string }

// Kind implements Element.
func (Output) Kind() string { return "output" }

// Ports implements Element.
func (Output) Ports() (in, out int) { return 1, 0 }

// Traits implements Element.
func (Output) Traits() Traits { return Traits{Terminal: true} }
