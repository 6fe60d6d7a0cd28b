package lower

import (
	"slices"
	"strings"
)

// Realms are the address realms of the chain: ports and interfaces between which nothing translates see the same addresses (union-find).
type Realms map[Port]Port

func (r Realms) find(p Port) Port {
	for {
		up, ok := r[p]
		if !ok || up == p {
			return p
		}
		p = up
	}
}

// Join joins ports by which the same addresses are seen.
func (r Realms) Join(a, b Port) {
	if a, b = r.find(a), r.find(b); a != b {
		r[a] = b
	}
}

// JoinAll joins all ports of a function.
func (r Realms) JoinAll(f *Function) {
	for _, p := range f.Ports[1:] {
		r.Join(f.Port(f.Ports[0]), f.Port(p))
	}
}

// reach finds the ports by which packets come in, and the realms.
func (b *Builder) reach() {
	b.reached, b.realm = map[Port]bool{}, Realms{}
	for _, i := range b.Interfaces {
		b.walk(i.Port(), func(to Port, f *Function) []string {
			if f == nil || b.reached[to] {
				return nil
			}
			b.reached[to] = true
			outs := f.Kind.Through(f, to.Name)
			if a, ok := f.Kind.(Answering); ok && a.Answers(b) {
				outs = append(outs[:len(outs):len(outs)], to.Name)
			}
			return outs
		})
	}
	for from, w := range b.next {
		b.realm.Join(from, w.to)
	}
	for _, f := range b.Functions {
		f.Kind.JoinRealms(f, b.realm)
	}
}

// walk visits, each once, the ports of functions and the interfaces to which packets get that leave by a port. The visit of a function's port
// gives the ports by which they leave the function again; at an interface there is no function.
func (b *Builder) walk(from Port, visit func(to Port, f *Function) (outs []string)) {
	seen := map[Port]bool{}
	var leave func(by Port)
	leave = func(by Port) {
		w, ok := b.next[by]
		if !ok || seen[w.to] {
			return
		}
		seen[w.to] = true
		if w.to.Name == "" {
			visit(w.to, nil)
			return
		}
		f := b.FindFunction(w.to.Owner)
		for _, out := range visit(w.to, f) {
			leave(f.Port(out))
		}
	}
	leave(from)
}

// leaves tells whether packets that come to a port leave the chain there, for the function.
func (b *Builder) leaves(f *Function, port string) bool {
	k, ok := f.Kind.(Between)
	if !ok {
		return false
	}
	for _, w := range b.next {
		if w.to == (Port{string(k.By(port)), ""}) {
			return true
		}
	}
	return false
}

func (b *Builder) checkReached() {
	for _, f := range b.Functions {
		in := slices.ContainsFunc(f.Ports, func(name string) bool { return b.reached[f.Port(name)] || b.leaves(f, name) })
		if !in {
			b.Fail(b.Object, f.Declared+".name", f.Name, "no packet gets to this function; link one of its ports (%s), or take it out", strings.Join(f.Ports, ", "))
		}
	}
	for _, i := range b.Interfaces {
		_, linked := b.next[i.Port()]
		for _, w := range b.next {
			linked = linked || w.to.Owner == i.Name
		}
		if !linked {
			b.Warn(b.Object, i.Field+".name", i.Name, "the interface is not linked; what comes in there is dropped as %q", i.Name+"/unlinked")
		}
	}
}

// past is where packets get that leave by a port, from side to side through functions whose traits
// are accepted. It is nowhere if the way is not linked, or goes round.
func (b *Builder) past(at Port, accepted func(Traits) bool) (to Port) {
	for range 2*len(b.Functions) + 1 { // each may be passed both ways
		w, linked := b.next[at]
		if !linked {
			return Port{}
		}
		f := b.FindFunction(w.to.Owner)
		if f == nil || !slices.Contains(TwoSides, w.to.Name) || !accepted(f.Kind.Traits()) {
			return w.to
		}
		at = f.Port(Opposite(w.to.Name))
	}
	return Port{}
}

// Reached tells whether packets come in by a port.
func (b *Builder) Reached(p Port) bool { return b.reached[p] }

// Realm is the address realm of a port, to compare with others.
func (b *Builder) Realm(p Port) Port { return b.realm.find(p) }
