package desired

import (
	"fmt"
	"iter"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

// Functions are the blackboxes of a program that run as containers of each instance's pod, in the chain's order, or why there may be none. The chain's
// NetworkFunctions are among those given. A spec that does not compile is asked, too, for the instances of a program before it: so each image is checked here.
func Functions(c *v1alpha1.ServiceChain, all []*v1alpha1.NetworkFunction, p *v1alpha1.ChainProgram, allows func(image string) bool) (out []v1alpha1.InstanceFunction, refused string) {
	for i, b := range blackboxes(c, all) {
		if b.Image == "" {
			continue
		}
		f := &c.Spec.Functions[i]
		containers := containersOf(f.Name, b, p)
		if len(containers) > 0 && !allows(b.Image) {
			return nil, fmt.Sprintf("spec.functions[%d] (%s): chains of this cluster may not run image %s", i, f.Name, b.Image)
		}
		out = append(out, containers...)
	}
	return out, ""
}

// Capacities are what functions that run as containers can do, where the chain says it.
func Capacities(c *v1alpha1.ServiceChain, all []*v1alpha1.NetworkFunction) (out []scaling.Capacity) {
	for i, b := range blackboxes(c, all) {
		if known, ok := scaling.CapacityOf(c.Spec.Functions[i].Name, b); ok {
			out = append(out, known)
		}
	}
	return out
}

// blackboxes are those of a chain's functions that are one, each with its number, in the chain's order.
func blackboxes(c *v1alpha1.ServiceChain, all []*v1alpha1.NetworkFunction) iter.Seq2[int, *v1alpha1.Blackbox] {
	return func(yield func(int, *v1alpha1.Blackbox) bool) {
		for i := range c.Spec.Functions {
			f := &c.Spec.Functions[i]
			b := f.Blackbox
			if f.FunctionRef != nil {
				k := slices.IndexFunc(all, func(o *v1alpha1.NetworkFunction) bool {
					return o.Namespace == c.Namespace && o.Name == f.FunctionRef.Name
				})
				if k < 0 {
					continue
				}
				b = all[k].Spec.Blackbox
			}
			if b != nil && !yield(i, b) {
				return
			}
		}
	}
}

// containersOf are those of a function: one, or one for each of its replicas. A program before may lack some of their wires, and has none of these.
func containersOf(name v1alpha1.Name, b *v1alpha1.Blackbox, p *v1alpha1.ChainProgram) (out []v1alpha1.InstanceFunction) {
	for _, w := range b.Ways() {
		of := v1alpha1.InstanceFunction{Name: name, Inside: w.Inside, Outside: w.Outside, BlackboxContainer: *b.BlackboxContainer.DeepCopy()}
		if len(b.Replicas) > 0 {
			of.Name = w.Inside
		}
		if !slices.ContainsFunc(of.Wires(), func(w v1alpha1.Name) bool { return !slices.Contains(p.Spec.Interfaces, w) }) {
			out = append(out, of)
		}
	}
	return out
}
