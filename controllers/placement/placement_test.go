package placement

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	for name, tc := range places {
		t.Run(name, func(t *testing.T) {
			// The outcome of these cases depends on no draw.
			for seed := range 8 {
				d := Place(NewList(tc.nodes), tc.req, Random(fmt.Sprint(seed)))
				var got []string
				for _, c := range d.Candidates {
					got = append(got, fmt.Sprintf("%s=%d", c.Node, c.Weight))
				}
				if s := strings.Join(got, " "); s != tc.want {
					t.Fatalf("seed %d: candidates %q, want %q", seed, s, tc.want)
				}
				want := tc.reason
				if want == "" {
					want = Placed
				}
				if d.Reason() != want || d.Message() != tc.message {
					t.Fatalf("seed %d: got  %s: %s\nwant %s: %s", seed, d.Reason(), d.Message(), want, tc.message)
				}
			}
		})
	}
}

var full = free(0)

// places are the candidates for a pod among some nodes.
var places = map[string]struct {
	nodes   []Node
	req     Request
	want    string // candidates with weights, the best first
	reason  Reason
	message string
}{
	"of two nodes the less loaded is preferred": {
		nodes:   []Node{worker("a", load(0.5)), worker("b", load(0.2))},
		req:     edge(),
		want:    "b=100 a=1",
		message: "b (load 0.20, 16 free cores), else a (load 0.50, 16 free cores); 2 of 2 nodes asked",
	},
	"of two equally loaded nodes the one with more free cores is preferred": {
		nodes:   []Node{worker("a", free(4)), worker("b", free(6))},
		req:     edge(),
		want:    "b=100 a=1",
		message: "b (load 0.00, 6 free cores), else a (load 0.00, 4 free cores); 2 of 2 nodes asked",
	},
	"the less loaded node loses if the instance does not fit there": {
		nodes:   []Node{worker("a", load(0.9)), worker("b", full)},
		req:     edge(),
		want:    "a=100",
		message: "a (load 0.90, 16 free cores); 2 of 2 nodes asked",
	},
	"a node that the chain names wins over less loaded ones and over spreading": {
		nodes:   []Node{worker("a", load(0.9)), worker("b"), worker("c")},
		req:     edge(func(r *Request) { r.Node, r.Used, r.MustSpread = "a", []string{"a"}, true }),
		want:    "a=100",
		message: "a (load 0.90, 16 free cores), which the chain names",
	},
	"a node that the chain names is refused with its reason though others fit": {
		nodes:   []Node{worker("a", full), worker("b")},
		req:     edge(func(r *Request) { r.Node = "a" }),
		reason:  TooFewFreeCores,
		message: "the chain names a (free exclusive cores: wanted 2, has 0 of 16)",
	},
	"a node that the chain names and that is not there is refused": {
		nodes:   []Node{worker("b")},
		req:     edge(func(r *Request) { r.Node = "a" }),
		reason:  NodeNotFound,
		message: "the chain names a (node a: wanted to exist, has no such node)",
	},
	"an instance goes to a node without one though it is more loaded": {
		nodes:   []Node{worker("a"), worker("b", load(0.9))},
		req:     edge(func(r *Request) { r.Used = []string{"a"} }),
		want:    "b=100 a=1",
		message: "b (load 0.90, 16 free cores), else a (load 0.00, 16 free cores) next to another instance; 2 of 2 nodes asked",
	},
	"an instance goes beside another one if no other node fits": {
		nodes:   []Node{worker("a"), worker("b", full)},
		req:     edge(func(r *Request) { r.Used = []string{"a"} }),
		want:    "a=100",
		message: "a (load 0.00, 16 free cores) next to another instance; 2 of 2 nodes asked",
	},
	"an instance that must spread waits for a node of its own": {
		nodes:  []Node{worker("a"), worker("b", full)},
		req:    edge(func(r *Request) { r.Used, r.MustSpread = []string{"a"}, true }),
		reason: NoNodeFits,
		message: "none of 2 nodes fits: NodeAlreadyUsed on a (other instances of the chain: wanted none, has one or more); " +
			"TooFewFreeCores on b (free exclusive cores: wanted 2, has 0 of 16)",
	},
	"a refusal by all nodes for one reason has that reason and names some of them": {
		nodes:  []Node{worker("a", full), worker("b", full), worker("c", free(1)), worker("d", full), worker("e", full)},
		req:    edge(),
		reason: TooFewFreeCores,
		message: "none of 5 nodes fits: TooFewFreeCores on a (free exclusive cores: wanted 2, has 0 of 16), " +
			"b (free exclusive cores: wanted 2, has 0 of 16), c (free exclusive cores: wanted 2, has 1 of 16) and 2 more",
	},
	"a cluster without nodes says so": {
		req: edge(), reason: NoNodes, message: "the cluster has no node to run on",
	},
}

func TestWeightsOfAShortListFallFrom100To1(t *testing.T) {
	d := Place(workers(8), edge(func(r *Request) { r.Candidates = 4 }), Random("x"))
	var got []int32
	for _, c := range d.Candidates {
		got = append(got, c.Weight)
	}
	if fmt.Sprint(got) != "[100 67 34 1]" {
		t.Errorf("weights %v, want 100, 67, 34, 1", got)
	}
}

func TestAffinityNamesTheCandidatesByField(t *testing.T) {
	a := Place(NewList([]Node{worker("a", load(0.5)), worker("b")}), edge(), Random("x")).Affinity()
	var required, preferred []string
	for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		required = append(required, term.MatchFields[0].String())
	}
	for _, term := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		preferred = append(preferred, fmt.Sprint(term.Weight, term.Preference.MatchFields[0].Values))
	}
	if len(required) != 2 || !strings.Contains(required[0], "Key:metadata.name,Operator:In,Values:[b]") {
		t.Errorf("required terms %v, want metadata.name in b, or in a", required)
	}
	if fmt.Sprint(preferred) != "[100 [b] 1 [a]]" {
		t.Errorf("preferred %v, want b with 100 and a with 1", preferred)
	}
	if (Decision{}).Affinity() != nil {
		t.Error("a refusal has an affinity")
	}
}

func TestDecidedInstancesAreCountedBeforeTheyRun(t *testing.T) {
	n := worker("a", zones([2]int{1, 8}, [2]int{4, 4}))
	n.FreeCores = 5
	first := After(n, edge())
	if first.FreeCores != 3 || first.Zones[1].FreeCores != 2 || first.FreeDevices["intel.com/vf"] != 6 || first.FreeHugepages[gib] != 31*gib {
		t.Errorf("after one instance of 2 cores and 2 devices the node is %+v", first)
	}
	if n.Zones[1].FreeCores != 4 || n.FreeDevices["intel.com/vf"] != 8 {
		t.Errorf("the node before was changed: %+v", n)
	}
	refusal, failed := Preflight(After(first, edge()), edge())
	if !failed || refusal.Reason != TooFewFreeCores {
		t.Errorf("a third instance of 2 cores on 5: %v, want TooFewFreeCores", refusal)
	}
}

func BenchmarkPlace(b *testing.B) {
	for _, n := range []int{16, 128, 1024, 8192} {
		b.Run(fmt.Sprint(n, " nodes"), func(b *testing.B) {
			nodes, rng, req := workers(n), Random("bench"), edge()
			b.ReportAllocs()
			for b.Loop() {
				Place(nodes, req, rng)
			}
		})
	}
}
