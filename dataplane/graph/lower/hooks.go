package lower

// Phase is a state of the chain on its way into the graph.
type Phase int

const (
	// Lowered: all functions are; what leaves them leads nowhere yet.
	Lowered Phase = iota
	// Wired: all outputs lead where they are linked to.
	Wired
	// Finished: the interfaces know what they answer for.
	Finished
	phases
)

var hooks [phases][]func(*Builder)

// When registers what a module does when chains whose links have no errors come to a phase.
func When(p Phase, do func(*Builder)) { hooks[p] = append(hooks[p], do) }

func (b *Builder) come(to Phase) {
	for _, do := range hooks[to] {
		do(b)
	}
}
