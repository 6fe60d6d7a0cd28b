package placement

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Reason says in CamelCase why a node is refused, or how a decision came out.
type Reason string

// Reasons for which a node is refused.
const (
	NodeNotFound        Reason = "NodeNotFound"
	NodeNotSelected     Reason = "NodeNotSelected"
	NodeNotReady        Reason = "NodeNotReady"
	NodeCordoned        Reason = "NodeCordoned"
	NodeTainted         Reason = "NodeTainted"
	NodeAlreadyUsed     Reason = "NodeAlreadyUsed"
	CPUManagerNotStatic Reason = "CPUManagerNotStatic"
	TopologyNotAligned  Reason = "TopologyNotAligned"
	TooFewCores         Reason = "TooFewCores"     // the node is too small, however long one waits
	TooFewFreeCores     Reason = "TooFewFreeCores" // it is large enough, but others run there
	TooFewHugepages     Reason = "TooFewHugepages"
	TooLittleMemory     Reason = "TooLittleMemory"
	TooFewDevices       Reason = "TooFewDevices"
	NotOnOneNUMANode    Reason = "NotOnOneNUMANode"
)

// Lack is a thing that a node does not have.
type Lack struct {
	Thing, Wanted, Has string
}

// String is the lack as a condition shows it.
func (l Lack) String() string { return fmt.Sprintf("%s: wanted %s, has %s", l.Thing, l.Wanted, l.Has) }

// Check tells whether a node lacks something, and what.
type Check func(Node, Request) (reason Reason, lack Lack, failed bool)

// checks go from what waiting cannot change to what may change any minute.
var checks = []Check{
	selected, ready, schedulable, tolerated, unused,
	staticCPUManager, alignedTopology, largeEnough,
	freeCores, freeHugepages, freeMemory, freeDevices, oneZone,
}

// Preflight gives the first reason for which a node cannot take an instance. It
// also tells whether a node that holds one would still be chosen.
func Preflight(n Node, r Request) (Refusal, bool) {
	for _, check := range checks {
		if reason, lack, failed := check(n, r); failed {
			return Refusal{Node: n.Name, Reason: reason, Lack: lack}, true
		}
	}
	return Refusal{}, false
}

func selected(n Node, r Request) (Reason, Lack, bool) {
	for _, key := range slices.Sorted(maps.Keys(r.Selector)) {
		if has, ok := n.Labels[key]; !ok {
			return NodeNotSelected, Lack{"label " + key + " of the node selector", strconv.Quote(r.Selector[key]), "none"}, true
		} else if has != r.Selector[key] {
			return NodeNotSelected, Lack{"label " + key + " of the node selector", strconv.Quote(r.Selector[key]), strconv.Quote(has)}, true
		}
	}
	return "", Lack{}, false
}

func ready(n Node, _ Request) (Reason, Lack, bool) {
	if !n.NotReady {
		return "", Lack{}, false
	}
	return NodeNotReady, Lack{"condition Ready", "True", "False or Unknown"}, true
}

func schedulable(n Node, _ Request) (Reason, Lack, bool) {
	if !n.Cordoned {
		return "", Lack{}, false
	}
	return NodeCordoned, Lack{"spec.unschedulable", "false", "true"}, true
}

func tolerated(n Node, _ Request) (Reason, Lack, bool) {
	if n.Taint == "" {
		return "", Lack{}, false
	}
	return NodeTainted, Lack{"taints", "only tolerated ones", n.Taint}, true
}

func unused(n Node, r Request) (Reason, Lack, bool) {
	if !r.MustSpread || !r.uses(n.Name) {
		return "", Lack{}, false
	}
	return NodeAlreadyUsed, Lack{"other instances of the chain", "none", "one or more"}, true
}

func staticCPUManager(n Node, _ Request) (Reason, Lack, bool) {
	if n.CPUManagerPolicy == "" || n.CPUManagerPolicy == "static" {
		return "", Lack{}, false
	}
	return CPUManagerNotStatic, Lack{"kubelet's cpuManagerPolicy", "static", n.CPUManagerPolicy}, true
}

// alignedTopology: `restricted` does as well as `single-numa-node`, because it uses no
// more NUMA nodes than it must, and oneZone sees to it that one is enough.
func alignedTopology(n Node, r Request) (Reason, Lack, bool) {
	if !r.Aligned || len(n.Zones) == 1 {
		return "", Lack{}, false
	}
	switch n.TopologyPolicy {
	case "", "single-numa-node", "restricted":
		return "", Lack{}, false
	}
	return TopologyNotAligned, Lack{"kubelet's topologyManagerPolicy", "single-numa-node or restricted", n.TopologyPolicy}, true
}

func largeEnough(n Node, r Request) (Reason, Lack, bool) {
	if n.Cores >= r.Cores {
		return "", Lack{}, false
	}
	return TooFewCores, Lack{"exclusive cores", strconv.Itoa(r.Cores), strconv.Itoa(n.Cores)}, true
}

func freeCores(n Node, r Request) (Reason, Lack, bool) {
	if n.FreeCores >= r.Cores {
		return "", Lack{}, false
	}
	return TooFewFreeCores, Lack{"free exclusive cores", strconv.Itoa(r.Cores), fmt.Sprintf("%d of %d", n.FreeCores, n.Cores)}, true
}

func freeHugepages(n Node, r Request) (Reason, Lack, bool) {
	has := n.FreeHugepages[r.Hugepages.PageSize]
	if has >= r.Hugepages.Bytes {
		return "", Lack{}, false
	}
	return TooFewHugepages, Lack{"free hugepages-" + size(r.Hugepages.PageSize), size(r.Hugepages.Bytes), size(has)}, true
}

func freeMemory(n Node, r Request) (Reason, Lack, bool) {
	if n.FreeMemory >= r.Memory {
		return "", Lack{}, false
	}
	return TooLittleMemory, Lack{"free memory", size(r.Memory), size(n.FreeMemory)}, true
}

func freeDevices(n Node, r Request) (Reason, Lack, bool) {
	for name, wanted := range r.devices() {
		if has := n.FreeDevices[name]; has < wanted {
			return TooFewDevices, Lack{
				"free " + name, fmt.Sprintf("%d (%s)", wanted, strings.Join(r.takers(name), ", ")), strconv.FormatInt(has, 10),
			}, true
		}
	}
	return "", Lack{}, false
}

func oneZone(n Node, r Request) (Reason, Lack, bool) {
	if !r.Aligned || len(n.Zones) == 0 || zoneFor(n, r) >= 0 {
		return "", Lack{}, false
	}
	var has []string
	for _, z := range n.Zones {
		has = append(has, fmt.Sprintf("NUMA node %d with %s", z.ID, z.describe(r)))
	}
	all := Zone{FreeCores: r.Cores, FreeHugepages: map[int64]int64{r.Hugepages.PageSize: r.Hugepages.Bytes}, FreeDevices: map[string]int64{}}
	for name, wanted := range r.devices() {
		all.FreeDevices[name] = wanted
	}
	return NotOnOneNUMANode, Lack{"free on one NUMA node", all.describe(r), strings.Join(has, ", ")}, true
}

// zoneFor is the first zone that holds all of a request, or -1.
func zoneFor(n Node, r Request) int {
	for i, z := range n.Zones {
		if z.holds(r) {
			return i
		}
	}
	return -1
}

func (z Zone) holds(r Request) bool {
	if z.FreeCores < r.Cores || z.FreeHugepages[r.Hugepages.PageSize] < r.Hugepages.Bytes {
		return false
	}
	for name, wanted := range r.devices() {
		if z.FreeDevices[name] < wanted {
			return false
		}
	}
	return true
}

// describe lists of a zone what a request asks for.
func (z Zone) describe(r Request) string {
	parts := []string{fmt.Sprintf("%d cores", z.FreeCores)}
	if r.Hugepages.Bytes > 0 {
		parts = append(parts, size(z.FreeHugepages[r.Hugepages.PageSize])+" hugepages-"+size(r.Hugepages.PageSize))
	}
	for name := range r.devices() {
		parts = append(parts, fmt.Sprintf("%d %s", z.FreeDevices[name], name))
	}
	return strings.Join(parts, " + ")
}

// takers are the interfaces that need a device of a resource.
func (r Request) takers(name string) []string {
	var names []string
	for _, i := range r.Interfaces {
		if i.Resource == name {
			names = append(names, i.Name)
		}
	}
	return names
}

func size(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }
