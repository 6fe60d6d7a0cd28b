package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// cgroup is a group of processes with a limit, of either version of cgroups. It goes with the test, after processes that start later.
type cgroup struct{ folder string }

// limit is a file of a cgroup's folder, and what it says.
type limit struct{ file, value string }

// newCgroup makes a cgroup of a controller with a limit as either version has it, and skips the test where none can be made.
func newCgroup(t *testing.T, controller, name string, v1, v2 limit) (g cgroup, isV2 bool) {
	t.Helper()
	name = fmt.Sprintf("sinter-test-%d-%s", os.Getpid(), name)
	g.folder = filepath.Join("/sys/fs/cgroup", controller, name)
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+"+controller), 0)
		g.folder, isV2, v1 = filepath.Join("/sys/fs/cgroup", name), true, v2
	}
	if err := os.Mkdir(g.folder, 0o755); err != nil {
		t.Skipf("no cgroup with a limit of %s can be made: %v", controller, err)
	}
	t.Cleanup(func() { _ = os.Remove(g.folder) })
	if err := os.WriteFile(filepath.Join(g.folder, v1.file), []byte(v1.value), 0); err != nil {
		t.Skipf("no limit of %s can be set: %v", controller, err)
	}
	return g, isV2
}

// Hold puts a process into the cgroup. What it has taken before does not count.
func (g cgroup) Hold(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Fatal(err)
	}
}
