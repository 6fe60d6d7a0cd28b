package soak

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tolerance is how many KiB memory may grow by. A leak of 90 KB a swap has 300,000 in an hour.
const tolerance = 8 << 10

// process is a process whose memory is watched.
type process struct {
	name string
	pid  int
	kib  []int // resident, reading by reading
}

// processes are sinterctl and the engine that it has started.
func processes(t *testing.T, sinterctl int) []*process {
	t.Helper()
	list := []*process{{name: "sinterctl run", pid: sinterctl}}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", sinterctl))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", sinterctl, task.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, &process{name: "engine", pid: pid})
		}
	}
	if len(list) != 2 {
		t.Fatalf("sinterctl has %d processes, want the engine", len(list)-1)
	}
	return list
}

// read reads how much memory is resident.
func (p *process) read(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			p.kib = append(p.kib, kib)
			return
		}
	}
	t.Fatalf("the %s has no VmRSS", p.name)
}

// quarter is the median of a quarter of the readings, the first one 0.
func (p *process) quarter(i int) int {
	list := slices.Clone(p.kib[len(p.kib)*i/4 : max(len(p.kib)*(i+1)/4, len(p.kib)*i/4+1)])
	slices.Sort(list)
	return list[len(list)/2]
}

// flat refuses memory that grows. In the first quarter it does: sessions are made, and none has ended yet.
func (p *process) flat() error {
	if grown := p.quarter(3) - p.quarter(1); grown > tolerance {
		return fmt.Errorf("%s has %d KiB more in the last quarter than in the second, want at most %d", p.name, grown, tolerance)
	}
	return nil
}

func TestMemoryThatGrowsWithEachSwapIsSeenAndTheBeginningIsNot(t *testing.T) {
	const readings = 700 // of two hours
	for name, c := range map[string]struct {
		kib  func(i int) int
		flat bool
	}{
		"as it is":        {func(int) int { return 600_000 }, true},
		"up and down":     {func(i int) int { return 600_000 + i%7*1_000 }, true},
		"the beginning":   {func(i int) int { return 400_000 + 1_000*min(i, 150) }, true},
		"3 KiB each swap": {func(i int) int { return 90_000 + 10*3*i }, false},
	} {
		p := &process{name: name}
		for i := range readings {
			p.kib = append(p.kib, c.kib(i))
		}
		if err := p.flat(); (err == nil) != c.flat {
			t.Errorf("%s: %v", name, err)
		}
	}
}
