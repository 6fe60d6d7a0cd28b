package binding

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cpus gives each worker a CPU, first those on the devices' NUMA nodes; the control thread has the rest. It sleeps nearly
// always, so that with none left it shares the workers'.
func (d *decision) cpus(cpus []int, workers int) error {
	if workers == 0 {
		workers = len(cpus)
	}
	if len(cpus) < workers || workers == 0 {
		return fmt.Errorf("%d workers, and the engine may use %d CPUs (%s): its container must ask for as many whole CPUs",
			workers, len(cpus), FormatCPUs(cpus))
	}
	nodes := d.sys.cpuNodes()
	near := func(cpu int) bool {
		return slices.ContainsFunc(d.plan.Devices, func(v Device) bool { return v.Node != NoNode && nodes[cpu] == v.Node })
	}
	order := slices.Sorted(slices.Values(cpus))
	slices.SortStableFunc(order, func(a, b int) int { return btoi(near(b)) - btoi(near(a)) })
	d.plan.Workers = slices.Sorted(slices.Values(order[:workers]))
	d.plan.Control = slices.Sorted(slices.Values(order[workers:]))
	if len(d.plan.Control) == 0 {
		d.plan.Control = d.plan.Workers
	} else {
		// A pod asks for as many whole CPUs as workers, and has just those if they are its own.
		d.note("other pods may run on the CPUs of the engine, which were not given to it alone (%s for %d); set the kubelet's cpuManagerPolicy to static",
			FormatCPUs(cpus), workers)
	}
	for _, v := range d.plan.Devices {
		far := slices.DeleteFunc(slices.Clone(d.plan.Workers), func(cpu int) bool {
			node, known := nodes[cpu]
			return !known || v.Node == NoNode || node == v.Node
		})
		if len(far) > 0 {
			d.plan.Remote = append(d.plan.Remote, fmt.Sprintf("interface %s is on NUMA node %d, CPUs %s are not", v.Interface, v.Node, FormatCPUs(far)))
		}
	}
	return nil
}

// ParseCPUs reads the kernel's list of CPUs ("0-3,8").
func ParseCPUs(text string) ([]int, error) {
	var cpus []int
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		low, high, ranged := strings.Cut(item, "-")
		if !ranged {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 16)
		last, err2 := strconv.ParseUint(high, 10, 16)
		if err != nil || err2 != nil || first > last {
			return nil, fmt.Errorf("CPUs %q: %q: want a number or a range, as in 0-3,8", text, item)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus, nil
}

// FormatCPUs writes CPUs as the kernel does ("0-3,8").
func FormatCPUs(cpus []int) string {
	var items []string
	for i := 0; i < len(cpus); {
		k := i
		for k+1 < len(cpus) && cpus[k+1] == cpus[k]+1 {
			k++
		}
		if k == i {
			items = append(items, strconv.Itoa(cpus[i]))
		} else {
			items = append(items, fmt.Sprintf("%d-%d", cpus[i], cpus[k]))
		}
		i = k + 1
	}
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ",")
}

func joinCPUs(cpus []int) string {
	text := make([]string, len(cpus))
	for i, cpu := range cpus {
		text[i] = strconv.Itoa(cpu)
	}
	return strings.Join(text, ",")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
