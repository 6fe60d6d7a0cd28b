package graph

import (
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// port is a port of a function, or an interface (with an empty name).
type port struct{ owner, name string }

func (p port) String() string {
	if p.name == "" {
		return p.owner
	}
	return p.owner + "." + p.name
}

// function is a network function of the chain, wherever it is written.
type function struct {
	name     string
	object   finding.Object // where it is written: the chain, or a NetworkFunction
	path     string         // of its kind's member, there
	declared string         // path of its entry in the chain
	kind     kind
	ports    []string
	entry    map[string]Edge // per port, where packets come in
	// of routers
	sends      map[string]int // per port, where packets of the router's own begin
	outs       []string       // of the lookup: ports, then types of routes that lead nowhere and splits
	leads      [][]string     // by output: ports that its packets leave by
	hasDefault bool
	splits     map[string]*split // by the name of the lookup's output
	beyond     map[string]bool   // ports by which routes other than connected ones lead
}

// The ports of functions with two sides.
const (
	inside  = "inside"
	outside = "outside"
)

var twoSides = []string{inside, outside}

// opposite is the other side.
func opposite(side string) string {
	if side == inside {
		return outside
	}
	return inside
}

// resolve finds interfaces and functions, and the ports that they have.
func (b *builder) resolve(chain *v1alpha1.ServiceChain) {
	taken := map[string]string{}
	claim := func(name, field string) bool {
		if first, ok := taken[name]; ok {
			b.fail(b.object, field+".name", name, "the name is taken by %s; interfaces and functions need names of their own", first)
			return false
		}
		taken[name] = field
		return true
	}
	for i := range chain.Spec.Interfaces {
		field := index("spec.interfaces", i)
		if claim(string(chain.Spec.Interfaces[i].Name), field) {
			b.resolveInterface(&chain.Spec.Interfaces[i], field)
		}
	}
	for i := range chain.Spec.Functions {
		field := index("spec.functions", i)
		if claim(string(chain.Spec.Functions[i].Name), field) {
			b.resolveFunction(chain, &chain.Spec.Functions[i], field)
		}
	}
}

func (b *builder) resolveFunction(chain *v1alpha1.ServiceChain, spec *v1alpha1.Function, field string) {
	f := &function{name: string(spec.Name), object: b.object, path: field, declared: field}
	kinds := &spec.FunctionKinds
	b.functions = append(b.functions, f)
	if spec.FunctionRef != nil {
		var known []string
		found := false
		for _, nf := range b.in.Functions {
			if nf.Namespace != chain.Namespace {
				continue
			}
			known = append(known, nf.Name)
			if nf.Name == spec.FunctionRef.Name {
				found = true
				kinds, f.path = &nf.Spec.FunctionKinds, "spec"
				f.object = finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: nf.Namespace, Name: nf.Name}
			}
		}
		if !found {
			b.missing(b.object, field+".functionRef.name", spec.FunctionRef.Name, "no %s of this name in the same file or folder%s",
				v1alpha1.KindNetworkFunction, finding.DidYouMean(spec.FunctionRef.Name, known))
		}
	}
	var member string
	if f.kind, member = kindOf(kinds); member != "" {
		f.path += "." + member
	}
	if e, ok := f.kind.(elements); ok && e.click != nil && e.click.HasErrors() {
		b.checkClick(f, e.click)
		f.kind = unknown{}
	}
	f.ports = f.kind.ports()
}
