// Package backbone has chains shaped like real backbones, for tests of several packages.
package backbone

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Tree is sixteen routers in a tree, one to six hops apart. Each has 1,300 to 4,300 of the Internet's routes, toward
// the router by whose interface a prefix is reached, and a firewall of 250 rules at its interface.
func Tree(tb testing.TB) *graph.Graph {
	tb.Helper()
	const n = 16
	rng := rand.New(rand.NewPCG(16, 0))
	files := rules.Files{Rules: map[rules.Source][]rules.Rule{
		{File: "acl", Format: v1alpha1.FormatClassBench}: ruleList(tb, "acl1_251")[:250],
	}}
	c := &v1alpha1.ServiceChain{}
	c.Name = "backbone"
	parent := func(i int) int { return (i - 1) / 3 }
	var ports [n][]v1alpha1.RouterPort
	link := func(from, to string) {
		c.Spec.Links = append(c.Spec.Links, v1alpha1.Link{From: v1alpha1.Endpoint(from), To: v1alpha1.Endpoint(to)})
	}
	for i := range n {
		ports[i] = append(ports[i], v1alpha1.RouterPort{Name: "edge"})
		if i > 0 {
			ports[i] = append(ports[i], v1alpha1.RouterPort{Name: "up"})
			ports[parent(i)] = append(ports[parent(i)], v1alpha1.RouterPort{Name: v1alpha1.Name(fmt.Sprintf("to%d", i))})
			link(fmt.Sprintf("r%d.to%d", parent(i), i), fmt.Sprintf("r%d.up", i))
		}
		c.Spec.Interfaces = append(c.Spec.Interfaces, v1alpha1.Interface{
			Name: v1alpha1.Name(fmt.Sprintf("if%d", i)), MTU: 1500,
			Address: v1alpha1.Prefix(fmt.Sprintf("10.%d.0.1/24", i)), Gateway: v1alpha1.Address(fmt.Sprintf("10.%d.0.2", i)),
		})
		link(fmt.Sprintf("if%d", i), fmt.Sprintf("fw%d.inside", i))
		link(fmt.Sprintf("fw%d.outside", i), fmt.Sprintf("r%d.edge", i))
	}
	prefixes := realPrefixes(tb)
	for i := range n {
		r := &v1alpha1.Router{Ports: ports[i], Address: v1alpha1.Address(fmt.Sprintf("10.255.%d.1", i))}
		for _, k := range rng.Perm(len(prefixes))[:1300+rng.IntN(3001)] {
			r.Routes = append(r.Routes, v1alpha1.Route{Prefix: v1alpha1.Prefix(prefixes[k].String()), Port: toward(i, k%n, parent)})
		}
		for j := range n {
			if j != i {
				r.Routes = append(r.Routes, v1alpha1.Route{Prefix: v1alpha1.Prefix(fmt.Sprintf("10.%d.0.0/16", j)), Port: toward(i, j, parent)})
			}
		}
		r.Routes = append(r.Routes, v1alpha1.Route{Prefix: "0.0.0.0/0", Port: toward(i, 0, parent)})
		fw := &v1alpha1.Firewall{Default: v1alpha1.ActionAccept, RulesFrom: &v1alpha1.RulesFrom{
			File: "acl", Format: v1alpha1.FormatClassBench, Actions: v1alpha1.ActionsOddAcceptEvenDrop,
		}}
		c.Spec.Functions = append(c.Spec.Functions,
			v1alpha1.Function{Name: v1alpha1.Name(fmt.Sprintf("r%d", i)), FunctionKinds: v1alpha1.FunctionKinds{Router: r}},
			v1alpha1.Function{Name: v1alpha1.Name(fmt.Sprintf("fw%d", i)), FunctionKinds: v1alpha1.FunctionKinds{Firewall: fw}})
	}
	return build(tb, c, files)
}

func build(tb testing.TB, c *v1alpha1.ServiceChain, files rules.Files) *graph.Graph {
	tb.Helper()
	g, findings := graph.Build(c, graph.Inputs{Files: files})
	if findings.HasErrors() {
		tb.Fatal(findings)
	}
	return g
}

// toward is the port of router at by which router to is reached.
func toward(at, to int, parent func(int) int) v1alpha1.Name {
	if at == to {
		return "edge"
	}
	for below := to; below > 0; below = parent(below) {
		if parent(below) == at {
			return v1alpha1.Name(fmt.Sprintf("to%d", below))
		}
	}
	return "up"
}

func realPrefixes(tb testing.TB) []netip.Prefix {
	tb.Helper()
	text, err := gzip.NewReader(bytes.NewReader(read(tb, "routes", "prefixes.txt.gz")))
	if err != nil {
		tb.Fatal(err)
	}
	var out []netip.Prefix
	for s := bufio.NewScanner(text); s.Scan(); {
		out = append(out, netip.MustParsePrefix(s.Text()))
	}
	return out
}

// ruleList is a rule set of test/data/classbench.
func ruleList(tb testing.TB, name string) []rules.Rule {
	tb.Helper()
	list, problems := rules.ClassBench(read(tb, "classbench", name))
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	return list
}

// read reads a file of test/data, from wherever in the tree the test runs.
func read(tb testing.TB, path ...string) []byte {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	b, err := os.ReadFile(filepath.Join(append([]string{filepath.Dir(here), "..", "data"}, path...)...))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// row is functions in a row, between the interfaces inside and outside.
type row struct{ v1alpha1.ServiceChain }

func newRow(name string) *row {
	c := &row{}
	c.Name = name
	c.Spec.Interfaces = []v1alpha1.Interface{
		{Name: "inside", Address: "10.0.0.1/24", Gateway: "10.0.0.2", MTU: 1500},
		{Name: "outside", Address: "203.0.113.2/24", Gateway: "203.0.113.1", MTU: 1500},
	}
	c.Spec.Path = []v1alpha1.Endpoint{"inside"}
	return c
}

// then puts a function behind those before.
func (c *row) then(name string, kinds v1alpha1.FunctionKinds) {
	c.Spec.Functions = append(c.Spec.Functions, v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: kinds})
	c.Spec.Path = append(c.Spec.Path, v1alpha1.Endpoint(name))
}

func (c *row) build(tb testing.TB, files rules.Files) *graph.Graph {
	tb.Helper()
	c.Spec.Path = append(c.Spec.Path, "outside")
	return build(tb, &c.ServiceChain, files)
}

// Pairs is n pairs of a firewall of 500 rules and a router of 3,000 routes, one after the other.
func Pairs(tb testing.TB, n int) *graph.Graph {
	tb.Helper()
	rng := rand.New(rand.NewPCG(10, 0))
	c := newRow("pairs")
	prefixes, list := realPrefixes(tb), ruleList(tb, "acl1_713")
	files := rules.Files{Rules: map[rules.Source][]rules.Rule{}}
	for i := range n {
		from := rng.IntN(len(list) - 500)
		name := fmt.Sprintf("acl%d", i)
		files.Rules[rules.Source{File: name, Format: v1alpha1.FormatClassBench}] = list[from : from+500]
		fw := &v1alpha1.Firewall{Default: v1alpha1.ActionAccept, RulesFrom: &v1alpha1.RulesFrom{
			File: v1alpha1.FilePath(name), Format: v1alpha1.FormatClassBench, Actions: v1alpha1.ActionsOddAcceptEvenDrop,
		}}
		rt := &v1alpha1.Router{Routes: []v1alpha1.Route{{Prefix: "0.0.0.0/0", Port: "outside"}, {Prefix: "10.0.0.0/8", Port: "inside"}}}
		for _, k := range rng.Perm(len(prefixes))[:3000] {
			rt.Routes = append(rt.Routes, v1alpha1.Route{Prefix: v1alpha1.Prefix(prefixes[k].String()), Port: "outside"})
		}
		c.then(fmt.Sprintf("fw%d", i), v1alpha1.FunctionKinds{Firewall: fw})
		c.then(fmt.Sprintf("rt%d", i), v1alpha1.FunctionKinds{Router: rt})
	}
	return c.build(tb, files)
}

// Row is n routers in a row with one table of so many routes: half of them lead inside, half outside, and no packet goes
// round.
func Row(tb testing.TB, n, routes int) *graph.Graph {
	tb.Helper()
	c := newRow("row")
	table := []v1alpha1.Route{{Prefix: "0.0.0.0/0", Port: "outside"}, {Prefix: "10.0.0.0/8", Port: "inside"}}
	for i, p := range realPrefixes(tb)[:routes-len(table)] {
		table = append(table, v1alpha1.Route{Prefix: v1alpha1.Prefix(p.String()), Port: []v1alpha1.Name{"inside", "outside"}[i%2]})
	}
	for i := range n {
		c.then(fmt.Sprintf("r%d", i+1), v1alpha1.FunctionKinds{Router: &v1alpha1.Router{Routes: table}})
	}
	return c.build(tb, rules.Files{})
}
