package compile

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// maxBackends is how many a load balancer has at most, as the schema says of those that it lists.
const maxBackends = 512

// resolved is a chain and its functions with the backends of Services in the place of references to these.
func resolved(c *v1alpha1.ServiceChain, in Inputs) (*v1alpha1.ServiceChain, []*v1alpha1.NetworkFunction, finding.List) {
	r := resolver{in: in}
	chain := finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}
	for i := range c.Spec.Functions {
		if c.Spec.Functions[i].Service() == nil {
			continue
		}
		c = c.DeepCopy()
		break
	}
	for i := range c.Spec.Functions {
		r.function(chain, fmt.Sprintf("spec.functions[%d]", i), &c.Spec.Functions[i].FunctionKinds)
	}
	functions := slices.Clone(in.Functions)
	for i, f := range functions {
		if f.Spec.Service() == nil || !slices.Contains(Used(c, in.Functions), f) {
			continue
		}
		functions[i] = f.DeepCopy()
		r.function(finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: f.Namespace, Name: f.Name}, "spec", &functions[i].Spec.FunctionKinds)
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
	if err == nil && len(list) > maxBackends {
		err = fmt.Errorf("the Service has %d endpoints, and a load balancer has at most %d backends", len(list), maxBackends)
	}
	if err != nil {
		r.found = append(r.found, finding.Finding{
			Code: finding.CodeOf(err), Object: o, Field: path + ".loadBalancer.backendsFrom.serviceRef", Value: ref.Name, Message: err.Error(),
		})
	}
	for i := range list {
		if f.LoadBalancer.Mode == v1alpha1.BalancerDSR { // by the ports that clients choose
			list[i].Port = 0
		}
	}
	f.LoadBalancer.Backends, f.LoadBalancer.BackendsFrom = list, nil
}
