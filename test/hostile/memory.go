package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Memory is a cgroup with a limit of memory.
type Memory struct {
	cgroup
	peak string
}

// NewMemory makes a cgroup with a limit in bytes, and skips the test where none can be made.
func NewMemory(t *testing.T, bytes int64) Memory {
	t.Helper()
	value := strconv.FormatInt(bytes, 10)
	g, isV2 := newCgroup(t, "memory", fmt.Sprintf("%dm", bytes>>20), limit{"memory.limit_in_bytes", value}, limit{"memory.max", value})
	if isV2 {
		return Memory{g, "memory.peak"}
	}
	return Memory{g, "memory.max_usage_in_bytes"}
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
