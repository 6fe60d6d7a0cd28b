package placement

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawNodes makes nodes of which many lack something.
func drawNodes(t *rapid.T) []Node {
	count := rapid.IntRange(0, 24).Draw(t, "nodes")
	var nodes []Node
	for i := range count {
		n := worker(fmt.Sprintf("n%02d", i))
		n.NotReady = rapid.IntRange(0, 9).Draw(t, "not ready") == 0
		n.Cordoned = rapid.IntRange(0, 9).Draw(t, "cordoned") == 0
		n.CPUManagerPolicy = rapid.SampledFrom([]string{"static", "static", "none", ""}).Draw(t, "cpu manager")
		n.TopologyPolicy = rapid.SampledFrom([]string{"single-numa-node", "restricted", "best-effort", ""}).Draw(t, "topology")
		n.FreeCores = rapid.IntRange(0, n.Cores).Draw(t, "free cores")
		n.Load = rapid.Float64Range(0, 1).Draw(t, "load")
		n.FreeMemory = rapid.Int64Range(0, 4).Draw(t, "memory") * gib
		n.FreeHugepages = map[int64]int64{gib: rapid.Int64Range(0, 4).Draw(t, "huge pages") * gib}
		n.FreeDevices = map[string]int64{"intel.com/vf": rapid.Int64Range(0, 8).Draw(t, "devices")}
		if rapid.Bool().Draw(t, "zones known") {
			low := rapid.IntRange(0, n.FreeCores).Draw(t, "cores of zone 0")
			zones([2]int{low, 4}, [2]int{n.FreeCores - low, 4})(&n)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func drawRequest(t *rapid.T) Request {
	return edge(func(r *Request) {
		r.Cores = rapid.IntRange(1, 8).Draw(t, "cores")
		r.Aligned = rapid.Bool().Draw(t, "aligned")
		r.MustSpread = rapid.Bool().Draw(t, "must spread")
		r.Candidates = rapid.IntRange(0, 4).Draw(t, "candidates")
		r.Used = rapid.SliceOfN(rapid.StringMatching(`n0[0-9]`), 0, 4).Draw(t, "used")
	})
}

// fits says over again, in one breath, what the checks say one by one.
func fits(n Node, r Request) bool {
	pages, devices := n.FreeHugepages[gib], n.FreeDevices["intel.com/vf"]
	zone := len(n.Zones) == 0 || slices.ContainsFunc(n.Zones, func(z Zone) bool {
		return z.FreeCores >= r.Cores && z.FreeHugepages[gib] >= gib && z.FreeDevices["intel.com/vf"] >= 2
	})
	policy := n.TopologyPolicy != "best-effort"
	return !n.NotReady && !n.Cordoned && n.CPUManagerPolicy != "none" &&
		n.FreeCores >= r.Cores && n.FreeMemory >= gib && pages >= gib && devices >= 2 &&
		(!r.Aligned || policy && zone) && !(r.MustSpread && slices.Contains(r.Used, n.Name))
}

func TestLaws(t *testing.T) {
	for name, law := range laws {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			law(t, drawNodes(t), drawRequest(t), rapid.String().Draw(t, "seed"))
		}))
	}
}

// laws hold for all nodes, requests and seeds.
var laws = map[string]func(*rapid.T, []Node, Request, string){
	"no node is a candidate that does not fit": func(t *rapid.T, nodes []Node, req Request, seed string) {
		for _, c := range Place(NewList(nodes), req, Random(seed)).Candidates {
			if n := find(nodes, c.Node); !fits(n, req) {
				t.Fatalf("candidate %+v does not fit %+v", n, req)
			}
		}
	},
	"a refusal means that no node fits, and says why of each": func(t *rapid.T, nodes []Node, req Request, seed string) {
		d := Place(NewList(nodes), req, Random(seed))
		if d.Placed() != slices.ContainsFunc(nodes, func(n Node) bool { return fits(n, req) }) {
			t.Fatalf("placed: %t, but the nodes say otherwise: %s", d.Placed(), d.Message())
		}
		if !d.Placed() && len(d.Refusals) != len(nodes) {
			t.Fatalf("%d reasons for %d nodes", len(d.Refusals), len(nodes))
		}
	},
	"a node that the chain names is the one candidate, or refused with its reason": func(t *rapid.T, nodes []Node, req Request, seed string) {
		req.Node = rapid.SampledFrom([]string{"n00", "n03", "n07", "n23"}).Draw(t, "named")
		d := Place(NewList(nodes), req, Random(seed))
		alone := req
		alone.MustSpread = false
		switch n := find(nodes, req.Node); {
		case n.Name == "" && d.Reason() != NodeNotFound:
			t.Fatalf("%s is not there, but: %s", req.Node, d.Message())
		case n.Name != "" && fits(n, alone) && !slices.Equal(d.Required(), []string{req.Node}):
			t.Fatalf("%s fits, but: %s", req.Node, d.Message())
		case !d.Placed() && (len(d.Refusals) != 1 || d.Refusals[0].Node != req.Node || d.Refusals[0].Lack == Lack{}):
			t.Fatalf("refused by %v, want %s alone and what it lacks", d.Refusals, req.Node)
		case d.Asked > 1:
			t.Fatalf("%d nodes asked for one named", d.Asked)
		}
	},
	"the same seed makes the same choice, in whatever order the nodes come": func(t *rapid.T, nodes []Node, req Request, seed string) {
		a := Place(NewList(nodes), req, Random(seed))
		b := Place(NewList(rapid.Permutation(nodes).Draw(t, "order")), req, Random(seed))
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%+v\nand then %+v", a, b)
		}
	},
	"no node is asked twice, and none after the short list is full": func(t *rapid.T, nodes []Node, req Request, seed string) {
		all := count(NewList(nodes))
		d := Place(all, req, Random(seed))
		for name, times := range all.asked {
			if times > 1 {
				t.Fatalf("%s was asked %d times", name, times)
			}
		}
		if len(all.asked) != d.Asked || d.Asked != len(d.Candidates)+len(d.Refusals) {
			t.Fatalf("asked %d nodes, says %d, with %d candidates and %d refusals", len(all.asked), d.Asked, len(d.Candidates), len(d.Refusals))
		}
		if len(d.Candidates) > max(req.Candidates, 1)+choices-1 {
			t.Fatalf("%d candidates, %d wanted", len(d.Candidates), req.Candidates)
		}
	},
	"a node with an instance comes behind those without": func(t *rapid.T, nodes []Node, req Request, seed string) {
		d := Place(NewList(nodes), req, Random(seed))
		if !slices.IsSortedFunc(d.Candidates, func(a, b Candidate) int { return btoi(a.Used) - btoi(b.Used) }) {
			t.Fatalf("order %+v", d.Candidates)
		}
		if d.Placed() && d.Candidates[0].Used && slices.ContainsFunc(nodes, func(n Node) bool { return !req.uses(n.Name) && fits(n, req) }) {
			t.Fatalf("a second instance on %s though another node fits", d.Candidates[0].Node)
		}
	},
	"what is promised one after the other is never more than there is": func(t *rapid.T, nodes []Node, req Request, seed string) {
		rng := Random(seed)
		for d := Place(NewList(nodes), req, rng); d.Placed(); d = Place(NewList(nodes), req, rng) {
			i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == d.Candidates[0].Node })
			nodes[i] = After(nodes[i], req)
			if n := nodes[i]; n.FreeCores < 0 || n.FreeMemory < 0 || n.FreeHugepages[gib] < 0 || n.FreeDevices["intel.com/vf"] < 0 {
				t.Fatalf("%s gives more than it has: %+v", n.Name, n)
			}
		}
	},
}

func find(nodes []Node, name string) Node {
	for _, n := range nodes {
		if n.Name == name {
			return n
		}
	}
	return Node{}
}

// TestTwoChoicesBalance deals one-core instances to equal nodes. By theory the fullest
// node is above the mean by ln ln n / ln 2 and a constant with two choices, and by much
// more with one (Mitzenmacher).
func TestTwoChoicesBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(64, 256).Draw(t, "nodes")
		each := rapid.IntRange(4, 12).Draw(t, "instances per node")
		seed := rapid.Uint32().Draw(t, "seed")
		const runs = 4
		var two, one int
		for run := range runs {
			rng := Random(fmt.Sprint(seed, run))
			above := fullest(n, n*each, func(nodes List) int {
				d := Place(nodes, Request{Cores: 1}, rng)
				return slices.IndexFunc(nodes, func(n Node) bool { return n.Name == d.Candidates[0].Node })
			}) - each
			if bound := math.Log(math.Log(float64(n)))/math.Ln2 + 3; float64(above) > bound {
				t.Fatalf("the fullest of %d nodes is %d above the mean, want at most %.1f", n, above, bound)
			}
			two += above
			one += fullest(n, n*each, func(nodes List) int { return rng.IntN(len(nodes)) }) - each
		}
		if two >= one {
			t.Fatalf("in %d runs the fullest nodes are %d above the mean, %d with one random choice", runs, two, one)
		}
	})
}

// fullest deals instances and gives the most that a node has.
func fullest(n, instances int, choose func(List) int) int {
	nodes := workers(n)
	for i := range nodes {
		nodes[i].Cores, nodes[i].FreeCores = instances, instances
	}
	most := 0
	for range instances {
		i := choose(nodes)
		nodes[i].FreeCores--
		taken := nodes[i].Cores - nodes[i].FreeCores
		nodes[i].Load = float64(taken) / float64(instances)
		most = max(most, taken)
	}
	return most
}
