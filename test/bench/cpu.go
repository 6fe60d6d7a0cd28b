package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// cpu names the processor, with the caches that a core sees: what a chain costs depends on whether its tables are in them.
func cpu() string {
	name := "unknown processor"
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		if _, rest, ok := strings.Cut(string(text), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			name = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	for level := 2; level <= 3; level++ {
		size, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d/size", level))
		if err == nil {
			name += fmt.Sprintf(", L%d %s", level, strings.TrimSpace(string(size)))
		}
	}
	return name
}

// cpus says which processors rows were measured on: one sentence if it is one, else the rows of each.
func cpus(results []result) string {
	var names []string
	of, clock := map[string][]string{}, map[string]float64{} // of the TSC, GHz: cycles are rounded, so it is not quite the same in all rows
	for _, r := range results {
		name := r.CPU
		if name == "" {
			name = "a processor that was not noted"
		}
		if of[name] == nil {
			names = append(names, name)
			clock[name] = r.Mpps * r.Cycles / 1e3
		}
		of[name] = append(of[name], r.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(of[b]) - len(of[a]) })
	var b strings.Builder
	for i, name := range names {
		rows := "All rows were"
		switch {
		case i > 0:
			rows = strings.Join(of[name], ", ") + ":"
		case len(names) > 1:
			rows = "Rows not named here were"
		}
		fmt.Fprintf(&b, "%s measured on %s", rows, name)
		if clock[name] > 0 {
			fmt.Fprintf(&b, ", TSC %.2f GHz", clock[name])
		}
		b.WriteString(".\n")
	}
	return b.String()
}
