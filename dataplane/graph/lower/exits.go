package lower

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// exit is an output of a node by which packets leave their function.
type exit struct {
	node, out int
	port      Port
}

// Exit leads a node's output out of the function.
func (b *Builder) Exit(from, out int, f *Function, name string) {
	b.exits = append(b.exits, exit{from, out, f.Port(name)})
}

// wireExits leads the exits of functions and interfaces to where their links go.
func (b *Builder) wireExits() {
	entry := map[Port]Edge{}
	for _, i := range b.Interfaces {
		entry[i.Port()] = Edge{To: i.out}
		if i.last >= 0 {
			entry[i.Port()] = Edge{To: i.last}
		}
	}
	byName := map[string]*Function{}
	for _, f := range b.Functions {
		byName[f.Name] = f
		for name, e := range f.Entry {
			entry[f.Port(name)] = e
		}
	}
	unlinked := map[string]int{}
	said := map[Port]bool{}
	for _, x := range b.exits {
		if w, ok := b.next[x.port]; ok {
			if e, ok := entry[w.to]; ok { // else it has errors
				b.g.Nodes[x.node].Out[x.out] = e
			}
			continue
		}
		f := byName[x.port.Owner]
		name := x.port.Owner + "/unlinked"
		if _, ok := unlinked[name]; !ok {
			owner := ""
			if f != nil {
				owner = f.Name
			}
			unlinked[name] = b.Add(owner, name, element.Discard{Reason: name})
		}
		b.Wire(x.node, x.out, unlinked[name])
		if f != nil && !said[x.port] {
			said[x.port] = true
			b.Warn(b.Object, f.Declared, x.port.String(), "the port is not linked; packets that leave by it are dropped as %q: link it, or let nothing go there", name)
		}
	}
}
