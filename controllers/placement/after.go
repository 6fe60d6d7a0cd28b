package placement

import (
	"maps"
	"slices"
)

// After is the node with an instance on it that is decided but not yet running.
// Decisions that follow each other faster than pods are bound must count it, or
// they promise the same cores twice. Its load is not known before it runs.
func After(n Node, r Request) Node {
	zone := zoneFor(n, r)
	n.FreeCores -= r.Cores
	n.FreeMemory -= r.Memory
	n.FreeHugepages, n.FreeDevices = less(n.FreeHugepages, n.FreeDevices, r)
	if zone < 0 {
		n.Zones = nil // which zones give what is the kubelet's choice
		return n
	}
	n.Zones = slices.Clone(n.Zones)
	z := &n.Zones[zone]
	z.FreeCores -= r.Cores
	z.FreeHugepages, z.FreeDevices = less(z.FreeHugepages, z.FreeDevices, r)
	return n
}

func less(pages map[int64]int64, devices map[string]int64, r Request) (map[int64]int64, map[string]int64) {
	pages, devices = maps.Collect(maps.All(pages)), maps.Collect(maps.All(devices))
	if r.Hugepages.Bytes > 0 {
		pages[r.Hugepages.PageSize] -= r.Hugepages.Bytes
	}
	for name, n := range r.devices() {
		devices[name] -= n
	}
	return pages, devices
}
