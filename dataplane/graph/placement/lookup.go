package placement

import (
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

func init() {
	Register(v1alpha1.ElementLookup, "lookup", func(e *v1alpha1.Element) *v1alpha1.LookupElement { return e.Lookup }, placeLookup)
}

func placeLookup(p *Place, spec *v1alpha1.LookupElement) {
	l := element.Lookup{}
	to := lower.NewOuts()
	first := map[string]string{}
	for i, r := range spec.Routes {
		field := lower.Index("lookup.routes", i)
		prefix, problem := rules.ParsePrefix(string(r.Prefix))
		if !p.Problem(field+".prefix", problem) {
			continue
		}
		if at, ok := first[prefix.String()]; ok {
			p.Fail(field+".prefix", string(r.Prefix), "the route is there twice, first as %s; leave one out", at)
			continue
		}
		first[prefix.String()] = field
		route := element.Route{Prefix: prefix, Out: to.Number(string(r.Output))}
		if r.Via != "" {
			route.Via, problem = rules.ParseAddress(string(r.Via))
			p.Problem(field+".via", problem)
		}
		l.Routes = append(l.Routes, route)
	}
	l.NoRoute = to.Number(p.orDrop(string(spec.NoRoute), "no-route"))
	l.Outs = len(to.Names)
	p.Element, p.Outs = l, to.Names
}
