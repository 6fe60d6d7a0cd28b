package main

import (
	"fmt"

	"github.com/sinter-nfv/sinter/controllers/placement"
)

const (
	cores   = 32 // exclusive ones per node
	devices = 64 // VFs per node
	gib     = 1 << 30
	vf      = "intel.com/vf"
)

// cluster is the simulated nodes. What is promised is known at once; their load is
// known as of the last report.
type cluster struct {
	nodes  placement.List
	load   []float64 // the true one
	index  map[string]int
	prompt bool // every change of load is reported at once
}

func newCluster(n int, prompt bool) *cluster {
	c := &cluster{load: make([]float64, n), index: map[string]int{}, prompt: prompt}
	for i := range n {
		name := fmt.Sprintf("n%04d", i)
		c.index[name] = i
		c.nodes = append(c.nodes, placement.Node{
			Name: name, CPUManagerPolicy: "static", TopologyPolicy: "single-numa-node",
			Cores: cores, FreeCores: cores, FreeMemory: 256 * gib,
			FreeHugepages: map[int64]int64{gib: 64 * gib},
			FreeDevices:   map[string]int64{vf: devices},
		})
	}
	return c
}

// put takes (by 1) what a chain needs from a node, or gives it back (by -1).
func (c *cluster) put(i int, ch chain, by int) {
	n := &c.nodes[i]
	n.FreeCores -= by * ch.req.Cores
	n.FreeMemory -= int64(by) * ch.req.Memory
	n.FreeHugepages[gib] -= int64(by) * ch.req.Hugepages.Bytes
	n.FreeDevices[vf] -= int64(by * len(ch.req.Interfaces))
	c.load[i] = max(0, c.load[i]+float64(by)*ch.work/cores)
	if c.prompt {
		n.Load = c.load[i]
	}
}

// report makes all loads known.
func (c *cluster) report() {
	for i := range c.nodes {
		c.nodes[i].Load = c.load[i]
	}
}

// given is how many cores a node has given away.
func (c *cluster) given(i int) int { return c.nodes[i].Cores - c.nodes[i].FreeCores }
