package graph_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

func twoPortChain(f v1alpha1.FunctionKinds) *v1alpha1.ServiceChain {
	c := &v1alpha1.ServiceChain{}
	c.Name = "scale"
	c.Spec = v1alpha1.ServiceChainSpec{
		Interfaces: []v1alpha1.Interface{
			{Name: "inside", Address: "10.0.0.1/24", MTU: 1500},
			{Name: "outside", Address: "203.0.113.1/24", MTU: 1500},
		},
		Functions: []v1alpha1.Function{{Name: "f", FunctionKinds: f}},
		Path:      []v1alpha1.Endpoint{"inside", "f", "outside"},
	}
	return c
}

// BenchmarkBuildFirewall lowers a firewall of as many rules as the largest set
// that SNF measured; the rules are parsed already.
func BenchmarkBuildFirewall(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range 8550 {
		text = fmt.Appendf(text, "@%d.%d.%d.%d/32\t%d.%d.0.0/16\t0 : 65535\t%d : %d\t0x06/0xFF\t0x1000/0x1000\n",
			rng.IntN(200)+1, rng.IntN(256), rng.IntN(256), rng.IntN(256), rng.IntN(200)+1, rng.IntN(256), rng.IntN(1000), rng.IntN(1000)+1000)
	}
	list, problems := rules.ClassBench(text)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	const file = "acl"
	c := twoPortChain(v1alpha1.FunctionKinds{Firewall: &v1alpha1.Firewall{
		Default:   v1alpha1.ActionDrop,
		RulesFrom: &v1alpha1.RulesFrom{File: file, Format: v1alpha1.FormatClassBench, Actions: v1alpha1.ActionsOddAcceptEvenDrop},
	}})
	in := graph.Inputs{Files: rules.Files{Rules: map[rules.Source][]rules.Rule{{File: file, Format: v1alpha1.FormatClassBench}: list}}}
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			rules.ClassBench(text)
		}
	})
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			if g, found := graph.Build(c, in); g == nil {
				b.Fatal(found)
			}
		}
	})
}

// BenchmarkBuildRoutes lowers a router with as many routes as the Internet has.
func BenchmarkBuildRoutes(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	prefixes := make([]netip.Prefix, 900_000)
	for i := range prefixes {
		n := rng.Uint32()
		a := netip.AddrFrom4([4]byte{byte(n>>24)%200 + 1, byte(n >> 16), byte(n >> 8), 0})
		prefixes[i] = netip.PrefixFrom(a, 16+rng.IntN(9)).Masked()
	}
	const file = "table"
	c := twoPortChain(v1alpha1.FunctionKinds{Router: &v1alpha1.Router{
		RoutesFrom: []v1alpha1.RoutesFrom{{File: file, Port: "outside", Via: "203.0.113.254"}},
	}})
	in := graph.Inputs{Files: rules.Files{Prefixes: map[string][]netip.Prefix{file: prefixes}}}
	for b.Loop() {
		if g, found := graph.Build(c, in); g == nil {
			b.Fatal(found)
		}
	}
}
