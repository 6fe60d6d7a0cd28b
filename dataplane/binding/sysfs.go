package binding

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// NoNode is the NUMA node of what has none, or none that is known.
const NoNode = -1

// sysfs reads what the kernel says of devices and CPUs.
type sysfs struct{ fs.FS }

func (s sysfs) number(name string, none int) int {
	b, err := fs.ReadFile(s.FS, name)
	if err != nil {
		return none
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return none
	}
	return n
}

// pciNode is the NUMA node of a PCI device.
func (s sysfs) pciNode(address string) int {
	return s.number(path.Join("bus/pci/devices", address, "numa_node"), NoNode)
}

// linkNode is the NUMA node of the device behind a kernel interface; virtual ones have none.
func (s sysfs) linkNode(link string) int {
	return s.number(path.Join("class/net", link, "device/numa_node"), NoNode)
}

// pciDriver is the kernel driver that a PCI device is bound to, empty if not known.
func (s sysfs) pciDriver(address string) string {
	target, err := fs.ReadLink(s.FS, path.Join("bus/pci/devices", address, "driver"))
	if err != nil {
		return ""
	}
	return path.Base(target)
}

// cpuNodes are the NUMA nodes of all CPUs.
func (s sysfs) cpuNodes() map[int]int {
	nodes := map[int]int{}
	lists, err := fs.Glob(s.FS, "devices/system/node/node*/cpulist")
	if err != nil {
		return nodes
	}
	for _, name := range lists {
		node, err := strconv.Atoi(strings.TrimPrefix(path.Base(path.Dir(name)), "node"))
		if err != nil {
			continue
		}
		b, err := fs.ReadFile(s.FS, name)
		if err != nil {
			continue
		}
		cpus, err := ParseCPUs(strings.TrimSpace(string(b)))
		if err != nil {
			continue
		}
		for _, cpu := range cpus {
			nodes[cpu] = node
		}
	}
	return nodes
}
