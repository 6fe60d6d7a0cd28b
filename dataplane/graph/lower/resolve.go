package lower

import (
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// resolve finds interfaces and functions, and the ports that they have.
func (b *Builder) resolve(chain *v1alpha1.ServiceChain) {
	taken := map[string]string{}
	claim := func(name, field string) bool {
		if first, ok := taken[name]; ok {
			b.Fail(b.Object, field+".name", name, "the name is taken by %s; interfaces and functions need names of their own", first)
			return false
		}
		taken[name] = field
		return true
	}
	for i := range chain.Spec.Interfaces {
		field := Index("spec.interfaces", i)
		if claim(string(chain.Spec.Interfaces[i].Name), field) {
			b.resolveInterface(&chain.Spec.Interfaces[i], field)
		}
	}
	for i := range chain.Spec.Functions {
		field := Index("spec.functions", i)
		if claim(string(chain.Spec.Functions[i].Name), field) {
			b.resolveFunction(chain, &chain.Spec.Functions[i], field)
		}
	}
}

func (b *Builder) resolveFunction(chain *v1alpha1.ServiceChain, spec *v1alpha1.Function, field string) {
	f := &Function{Name: string(spec.Name), Object: b.Object, Path: field, Declared: field}
	kinds := &spec.FunctionKinds
	b.Functions = append(b.Functions, f)
	if spec.FunctionRef != nil {
		var known []string
		found := false
		for _, nf := range b.In.Functions {
			if nf.Namespace != chain.Namespace {
				continue
			}
			known = append(known, nf.Name)
			if nf.Name == spec.FunctionRef.Name {
				found = true
				kinds, f.Path = &nf.Spec.FunctionKinds, "spec"
				f.Object = finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: nf.Namespace, Name: nf.Name}
			}
		}
		if !found {
			b.missing(b.Object, field+".functionRef.name", spec.FunctionRef.Name, "no %s of this name in the same file or folder%s",
				v1alpha1.KindNetworkFunction, finding.DidYouMean(spec.FunctionRef.Name, known))
		}
	}
	var member string
	if f.Kind, member = kindOf(kinds); member != "" {
		f.Path += "." + member
	}
	if r, ok := f.Kind.(Readable); ok && !r.Read(b, f) {
		f.Kind = unknown{}
	}
	f.Ports = f.Kind.Ports()
}
