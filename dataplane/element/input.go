package element

// Input is where packets from a chain interface enter. What arrives there has
// passed the interface's checks (docs/elements.md, "Entry").
type Input struct{ Interface string }

// Kind implements Element.
func (Input) Kind() string { return "input" }

// Ports implements Element.
func (Input) Ports() (in, out int) { return 0, 1 }

// Traits implements Element.
func (Input) Traits() Traits { return Traits{} }
