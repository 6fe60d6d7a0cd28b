// Package lower lowers a chain from the API's types to a graph of elements. Here is what all functions have in common: how they are found and
// linked, which packets come to them, what interfaces answer for. Each kind of function registers itself.
package lower

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
)

// Build lowers a chain by the kinds that are registered: see graph.Build.
func Build(chain *v1alpha1.ServiceChain, in Inputs) (*wiring.Graph, finding.List) {
	b := &Builder{
		In:     in,
		Object: finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: chain.Namespace, Name: chain.Name},
		Cores:  int(chain.Spec.Scaling.OwnedCores()),
		g:      &wiring.Graph{Chain: chain.Name},
		next:   map[Port]wire{}, generated: map[int]bool{}, known: map[Port][]netip.Prefix{}, tabled: map[Port][]tabled{},
	}
	b.resolve(chain)
	b.link(&chain.Spec)
	b.unlinked = b.findings.HasErrors()
	b.checkDevices()
	b.reach()
	if !b.unlinked {
		b.checkReached()
		b.come(Reached)
		b.checkAddresses()
	}
	b.lowerInterfaces()
	b.untagged = !slices.ContainsFunc(b.Functions, func(f *Function) bool { return f.Kind.Traits().SetsTags }) &&
		!slices.ContainsFunc(b.Interfaces, func(i *Interface) bool { return len(i.Spec.VLANs) > 0 })
	for _, f := range b.Functions {
		f.Entry = map[string]Edge{}
		f.Kind.Lower(b, f)
	}
	if !b.unlinked {
		b.come(Lowered)
		b.wireExits()
		b.come(Wired)
		b.checkServed()
		b.finishLocal()
		b.routeAnswers()
		b.giveAnswersTheirTTL()
		b.refuseSources()
		b.addProxies()
		b.come(Finished)
		b.checkWires()
	}
	if !b.findings.HasErrors() {
		b.checkLoops()
	}
	if b.findings.HasErrors() {
		return nil, b.findings
	}
	in.Tables.Forget()
	return b.g, b.findings
}
