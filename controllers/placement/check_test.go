package placement

import "testing"

func TestPreflight(t *testing.T) {
	for name, tc := range preflights {
		t.Run(name, func(t *testing.T) {
			req := tc.req
			if req.Cores == 0 {
				req = edge()
			}
			refusal, failed := Preflight(tc.node, req)
			got := ""
			if failed {
				got = string(refusal.Reason) + ": " + refusal.String()
			}
			if got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// preflights are what keeps a pod from a node.
var preflights = map[string]struct {
	node Node
	req  Request
	want string // reason and text; empty: fits
}{
	"a free node fits": {node: worker("n")},
	"a node with just enough of all fits": {
		node: worker("n", free(2), func(n *Node) {
			n.FreeMemory, n.FreeHugepages, n.FreeDevices = gib, map[int64]int64{gib: gib}, map[string]int64{"intel.com/vf": 2}
		}),
	},
	"a node that is not ready is refused": {
		node: worker("n", func(n *Node) { n.NotReady = true }),
		want: "NodeNotReady: n (condition Ready: wanted True, has False or Unknown)",
	},
	"a node without a label of the selector is refused": {
		node: worker("n"), req: edge(func(r *Request) { r.Selector = map[string]string{"nfv": "yes"} }),
		want: `NodeNotSelected: n (label nfv of the node selector: wanted "yes", has none)`,
	},
	"a node with another value of the selector's label is refused": {
		node: worker("n", func(n *Node) { n.Labels = map[string]string{"a": "b", "nfv": "no"} }),
		req:  edge(func(r *Request) { r.Selector = map[string]string{"nfv": "yes", "a": "b"} }),
		want: `NodeNotSelected: n (label nfv of the node selector: wanted "yes", has "no")`,
	},
	"a node with all labels of the selector fits": {
		node: worker("n", func(n *Node) { n.Labels = map[string]string{"a": "b", "nfv": "yes"} }),
		req:  edge(func(r *Request) { r.Selector = map[string]string{"nfv": "yes"} }),
	},
	"a cordoned node is refused": {
		node: worker("n", func(n *Node) { n.Cordoned = true }),
		want: "NodeCordoned: n (spec.unschedulable: wanted false, has true)",
	},
	"a taint that pods do not tolerate is named": {
		node: worker("n", func(n *Node) { n.Taint = "dedicated=db:NoSchedule" }),
		want: "NodeTainted: n (taints: wanted only tolerated ones, has dedicated=db:NoSchedule)",
	},
	"a node with an instance is refused where instances must spread": {
		node: worker("n"), req: edge(func(r *Request) { r.Used, r.MustSpread = []string{"n"}, true }),
		want: "NodeAlreadyUsed: n (other instances of the chain: wanted none, has one or more)",
	},
	"a node with an instance fits where instances should spread": {
		node: worker("n"), req: edge(func(r *Request) { r.Used = []string{"n"} }),
	},
	"without the static CPU manager no core is exclusive": {
		node: worker("n", func(n *Node) { n.CPUManagerPolicy = "none" }),
		want: "CPUManagerNotStatic: n (kubelet's cpuManagerPolicy: wanted static, has none)",
	},
	"policies that are not known refuse nothing": {
		node: worker("n", func(n *Node) { n.CPUManagerPolicy, n.TopologyPolicy = "", "" }),
	},
	"best-effort alignment is not enough": {
		node: worker("n", func(n *Node) { n.TopologyPolicy = "best-effort" }),
		want: "TopologyNotAligned: n (kubelet's topologyManagerPolicy: wanted single-numa-node or restricted, has best-effort)",
	},
	"restricted alignment is enough where one NUMA node has all": {
		node: worker("n", zones([2]int{1, 8}, [2]int{8, 8}), func(n *Node) { n.TopologyPolicy = "restricted" }),
	},
	"a node with one NUMA node needs no topology policy": {
		node: worker("n", zones([2]int{16, 8}), func(n *Node) { n.TopologyPolicy = "none" }),
	},
	"a chain that need not be aligned takes any topology": {
		node: worker("n", zones([2]int{1, 1}, [2]int{1, 1}), func(n *Node) { n.TopologyPolicy = "none" }),
		req:  edge(func(r *Request) { r.Aligned = false }),
	},
	"a node that will never be large enough says so": {
		node: worker("n"), req: edge(func(r *Request) { r.Cores = 17 }),
		want: "TooFewCores: n (exclusive cores: wanted 17, has 16)",
	},
	"a node whose cores are given away may have some later": {
		node: worker("n", free(1)),
		want: "TooFewFreeCores: n (free exclusive cores: wanted 2, has 1 of 16)",
	},
	"huge pages of another size do not count": {
		node: worker("n"), req: edge(func(r *Request) { r.Hugepages = Hugepages{2 * mib, 4 * gib} }),
		want: "TooFewHugepages: n (free hugepages-2Mi: wanted 4Gi, has 1Gi)",
	},
	"memory runs out": {
		node: worker("n", func(n *Node) { n.FreeMemory = 512 * mib }),
		want: "TooLittleMemory: n (free memory: wanted 1Gi, has 512Mi)",
	},
	"a lack of devices names the interfaces that need them": {
		node: worker("n", func(n *Node) { n.FreeDevices = map[string]int64{"intel.com/vf": 1} }),
		want: "TooFewDevices: n (free intel.com/vf: wanted 2 (inside, outside), has 1)",
	},
	"each resource is counted by itself": {
		node: worker("n"),
		req: edge(func(r *Request) {
			r.Interfaces = []Interface{{"a", "intel.com/vf"}, {"b", "nvidia.com/vf"}, {"c", ""}, {"d", "intel.com/vf"}}
		}),
		want: "TooFewDevices: n (free nvidia.com/vf: wanted 1 (b), has 0)",
	},
	"an interface without a resource needs no device": {
		node: worker("n", func(n *Node) { n.FreeDevices = nil }), req: edge(func(r *Request) { r.Interfaces = []Interface{{"a", ""}} }),
	},
	"cores on one NUMA node and devices on the other do not fit together": {
		node: worker("n", zones([2]int{1, 8}, [2]int{15, 1})),
		want: "NotOnOneNUMANode: n (free on one NUMA node: wanted 2 cores + 1Gi hugepages-1Gi + 2 intel.com/vf, " +
			"has NUMA node 0 with 1 cores + 16Gi hugepages-1Gi + 8 intel.com/vf, NUMA node 1 with 15 cores + 16Gi hugepages-1Gi + 1 intel.com/vf)",
	},
	"what waiting cannot change is told first": {
		node: worker("n", free(0), func(n *Node) { n.CPUManagerPolicy = "none" }),
		want: "CPUManagerNotStatic: n (kubelet's cpuManagerPolicy: wanted static, has none)",
	},
}
