package compile

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/api/endpoints"
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// resolved is a chain and its functions with the endpoints of Services in the place of references to these.
func resolved(c *v1alpha1.ServiceChain, in Inputs) (*v1alpha1.ServiceChain, []*v1alpha1.NetworkFunction, finding.List) {
	r := resolver{in: in}
	if slices.ContainsFunc(c.Spec.Functions, func(f v1alpha1.Function) bool { return f.Service() != nil }) {
		c = c.DeepCopy()
		o := finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}
		for i := range c.Spec.Functions {
			r.function(o, fmt.Sprintf("spec.functions[%d]", i), &c.Spec.Functions[i].FunctionKinds)
		}
	}
	functions, used := slices.Clone(in.Functions), Used(c, in.Functions)
	for i, f := range functions {
		if f.Spec.Service() == nil || !slices.Contains(used, f) {
			continue
		}
		functions[i] = f.DeepCopy()
		o := finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: f.Namespace, Name: f.Name}
		r.function(o, "spec", &functions[i].Spec.FunctionKinds)
	}
	return c, functions, r.found
}

type resolver struct {
	in    Inputs
	found finding.List
}

// function puts backends into a copy of a function.
func (r *resolver) function(o finding.Object, path string, f *v1alpha1.FunctionKinds) {
	ref := f.Service()
	if ref == nil {
		return
	}
	list, err := r.in.Backends(ref)
	say := finding.Finding{Object: o, Field: path + ".loadBalancer.backendsFrom.serviceRef", Value: ref.Name}
	switch {
	case err != nil:
		say.Code, say.Message = finding.CodeOf(err), err.Error()
		r.found = append(r.found, say)
	case len(list) == 0:
		say.Severity, say.Message = finding.Warning, "the Service has no endpoints: new flows are dropped until it has some"
		r.found = append(r.found, say)
	}
	endpoints.Put(f, list)
}
