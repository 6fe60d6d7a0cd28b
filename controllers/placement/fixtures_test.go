package placement

import "fmt"

const (
	kib = 1 << 10
	mib = kib << 10
	gib = mib << 10
)

// worker is a node that takes any request of these tests.
func worker(name string, changes ...func(*Node)) Node {
	n := Node{
		Name: name, CPUManagerPolicy: "static", TopologyPolicy: "single-numa-node",
		Cores: 16, FreeCores: 16, FreeMemory: 64 * gib,
		FreeHugepages: map[int64]int64{gib: 32 * gib, 2 * mib: gib},
		FreeDevices:   map[string]int64{"intel.com/vf": 8},
	}
	for _, change := range changes {
		change(&n)
	}
	return n
}

func load(share float64) func(*Node) { return func(n *Node) { n.Load = share } }

func free(cores int) func(*Node) { return func(n *Node) { n.FreeCores = cores } }

// zones splits what is free into NUMA nodes by cores and devices.
func zones(parts ...[2]int) func(*Node) {
	return func(n *Node) {
		for i, p := range parts {
			n.Zones = append(n.Zones, Zone{
				ID: i, FreeCores: p[0], FreeHugepages: map[int64]int64{gib: 16 * gib},
				FreeDevices: map[string]int64{"intel.com/vf": int64(p[1])},
			})
		}
	}
}

func workers(n int) List {
	var nodes []Node
	for i := range n {
		nodes = append(nodes, worker(fmt.Sprintf("n%03d", i)))
	}
	return NewList(nodes)
}

// edge is an instance with two cores, a huge page and two devices.
func edge(changes ...func(*Request)) Request {
	r := Request{
		Cores: 2, Memory: gib, Hugepages: Hugepages{PageSize: gib, Bytes: gib}, Aligned: true,
		Interfaces: []Interface{{"inside", "intel.com/vf"}, {"outside", "intel.com/vf"}},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// counted counts the nodes that are asked.
type counted struct {
	List
	asked map[string]int
}

func count(l List) counted { return counted{l, map[string]int{}} }

func (c counted) Ask(i int) Node {
	c.asked[c.Name(i)]++
	return c.List.Ask(i)
}
