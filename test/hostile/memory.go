package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Memory is a cgroup with a limit, of either version; it goes with the test, after processes that start later.
type Memory struct{ folder, peak string }

// NewMemory makes a cgroup with a limit in bytes, and skips the test where none can be made.
func NewMemory(t *testing.T, limit int64) Memory {
	t.Helper()
	name := fmt.Sprintf("sinter-test-%d-%d", os.Getpid(), limit>>20)
	m, file := Memory{"/sys/fs/cgroup/memory/" + name, "memory.max_usage_in_bytes"}, "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0)
		m, file = Memory{"/sys/fs/cgroup/" + name, "memory.peak"}, "memory.max"
	}
	if err := os.Mkdir(m.folder, 0o755); err != nil {
		t.Skipf("no cgroup with a limit of memory can be made: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(m.folder) })
	if err := os.WriteFile(filepath.Join(m.folder, file), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
		t.Skipf("no limit of memory can be set: %v", err)
	}
	return m
}

// Hold puts a process into the cgroup. What it has taken before does not count.
func (m Memory) Hold(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Fatal(err)
	}
}

// Used is the most bytes that were used at a time.
func (m Memory) Used(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.folder, m.peak))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
