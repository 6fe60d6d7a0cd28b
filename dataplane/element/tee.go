package element

// Tee sends a copy to every output, in order of the ports.
type Tee struct{ Outs int }

// Kind implements Element.
func (Tee) Kind() string { return "tee" }

// Ports implements Element.
func (t Tee) Ports() (in, out int) { return 1, t.Outs }

// Traits implements Element.
func (Tee) Traits() Traits { return Traits{} }
