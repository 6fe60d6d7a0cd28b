package backbone

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/routes"
)

// nextHops is among how many neighbours the last router of a row divides its routes.
const nextHops = 16

// Mixed is n routers in a row, each with a table of its own of so many prefixes: every second is discarded, the others lead outside. The default
// route does so, too. The last router has 16 next hops.
func Mixed(tb testing.TB, n, size int) *graph.Graph {
	tb.Helper()
	rng := rand.New(rand.NewPCG(24, 0))
	c := newRow("mixed")
	for i := range n {
		table := []v1alpha1.Route{{Prefix: "0.0.0.0/0", Port: "outside"}, {Prefix: "10.0.0.0/8", Port: "inside"}}
		for k, p := range routes.Draw(rng, size) {
			r := v1alpha1.Route{Prefix: v1alpha1.Prefix(p.String()), Port: "outside"}
			switch {
			case k%2 == 1:
				r.Port, r.Type = "", v1alpha1.RouteDiscard
			case i == n-1:
				r.Via = v1alpha1.Address(fmt.Sprintf("203.0.113.%d", 10+rng.IntN(nextHops)))
			}
			table = append(table, r)
		}
		c.then(fmt.Sprintf("r%d", i+1), v1alpha1.FunctionKinds{Router: &v1alpha1.Router{Routes: table}})
	}
	return c.build(tb, rules.Files{})
}

// Ladder is n routers in a row, from each to the next one by two firewalls side by side, which have so many rules of a set. The routes of each
// router lead by one and the other in turn. Behind the last one are two interfaces, with 16 next hops each.
func Ladder(tb testing.TB, n, size int, set string, ruleCount int) *graph.Graph {
	tb.Helper()
	rng := rand.New(rand.NewPCG(10, 0))
	c := &v1alpha1.ServiceChain{}
	c.Name = "ladder"
	files := rules.Files{Rules: map[rules.Source][]rules.Rule{{File: "acl", Format: v1alpha1.FormatClassBench}: ruleList(tb, set)[:ruleCount]}}
	link := func(from, to string) {
		c.Spec.Links = append(c.Spec.Links, v1alpha1.Link{From: v1alpha1.Endpoint(from), To: v1alpha1.Endpoint(to)})
	}
	add := func(name string, kinds v1alpha1.FunctionKinds) {
		c.Spec.Functions = append(c.Spec.Functions, v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: kinds})
	}
	for i, name := range []string{"in", "outa", "outb"} {
		c.Spec.Interfaces = append(c.Spec.Interfaces, v1alpha1.Interface{
			Name: v1alpha1.Name(name), MTU: 1500,
			Address: v1alpha1.Prefix(fmt.Sprintf("10.%d.0.1/24", i)), Gateway: v1alpha1.Address(fmt.Sprintf("10.%d.0.2", i)),
		})
	}
	link("in", "r0.x")
	rails := [...]string{"a", "b"}
	for i := range n {
		r := &v1alpha1.Router{Ports: []v1alpha1.RouterPort{{Name: "a"}, {Name: "b"}, {Name: "x"}}, Address: v1alpha1.Address(fmt.Sprintf("10.255.%d.1", i))}
		if i > 0 {
			r.Ports = append(r.Ports, v1alpha1.RouterPort{Name: "y"})
		}
		for k, p := range routes.Draw(rng, size) {
			to := v1alpha1.Route{Prefix: v1alpha1.Prefix(p.String()), Port: v1alpha1.Name(rails[k%2])}
			if i == n-1 {
				to.Via = v1alpha1.Address(fmt.Sprintf("10.%d.0.%d", 1+k%2, 10+rng.IntN(nextHops)))
			}
			r.Routes = append(r.Routes, to)
		}
		r.Routes = append(r.Routes, v1alpha1.Route{Prefix: "0.0.0.0/0", Port: "a"}, v1alpha1.Route{Prefix: "10.0.0.0/24", Port: "x"})
		add(fmt.Sprintf("r%d", i), v1alpha1.FunctionKinds{Router: r})
		for k, rail := range rails {
			fw := fmt.Sprintf("fw%d%s", i, rail)
			add(fw, v1alpha1.FunctionKinds{Firewall: &v1alpha1.Firewall{Default: v1alpha1.ActionAccept, RulesFrom: &v1alpha1.RulesFrom{
				File: "acl", Format: v1alpha1.FormatClassBench, Actions: v1alpha1.ActionsOddAcceptEvenDrop,
			}}})
			link(fmt.Sprintf("r%d.%s", i, rail), fw+".inside")
			if i == n-1 {
				link(fw+".outside", "out"+rail)
			} else {
				link(fw+".outside", fmt.Sprintf("r%d.%s", i+1, [...]string{"x", "y"}[k]))
			}
		}
	}
	return build(tb, c, files)
}
