package lower

// Phase is a state of the chain on its way into the graph.
type Phase int

const (
	// Reached is when it is known where packets come in, and which ports see the same addresses.
	Reached Phase = iota
	// Lowered is when all functions are lowered; what leaves them leads nowhere yet.
	Lowered
	// Wired is when all outputs lead where they are linked to.
	Wired
	// Finished is when the interfaces know what they answer for.
	Finished
	phases
)

// hooks are what modules do at each phase.
var hooks [phases][]func(*Builder)

// When registers what a module does when chains whose links have no errors come to a phase.
func When(p Phase, do func(*Builder)) { hooks[p] = append(hooks[p], do) }

// come does what is to be done at a phase.
func (b *Builder) come(to Phase) {
	for _, do := range hooks[to] {
		do(b)
	}
}
