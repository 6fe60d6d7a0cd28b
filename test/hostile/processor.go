package hostile

import (
	"fmt"
	"testing"
)

// Processor is a cgroup with a limit of processor time, as a container's limits.cpu makes it.
type Processor struct{ cgroup }

// NewProcessor makes a cgroup with so many thousandths of a CPU, and skips the test where none can be made.
func NewProcessor(t *testing.T, millis int64) Processor {
	t.Helper()
	const period = 100_000 // µs, the kubelet's
	quota := millis * period / 1000
	g, _ := newCgroup(t, "cpu", fmt.Sprintf("cpu%d", millis), limit{"cpu.cfs_quota_us", fmt.Sprint(quota)}, limit{"cpu.max", fmt.Sprintf("%d %d", quota, period)})
	return Processor{g}
}
