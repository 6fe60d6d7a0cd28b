package element

import "fmt"

// Discard drops packets and counts them under the reason.
type Discard struct{ Reason string }

// Kind implements Element.
func (Discard) Kind() string { return "discard" }

// Ports implements Element.
func (Discard) Ports() (in, out int) { return 1, 0 }

// Traits implements Element.
func (Discard) Traits() Traits { return Traits{Terminal: true} }

// String is the element as a dump shows it.
func (d Discard) String() string { return fmt.Sprintf("%s %q", d.Kind(), d.Reason) }
