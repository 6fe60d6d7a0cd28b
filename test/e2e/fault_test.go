package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// fault has the first process of a container jump to address 0. (A signal from outside
// would not do: the first process of a PID namespace gets only those that it handles.)
func fault(t *testing.T, container string) {
	t.Helper()
	pid := firstProcess(t, container)
	// All requests must come from one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.PtraceAttach(pid); err != nil {
		t.Fatalf("process %d: attach: %v", pid, err)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatalf("process %d: wait: %v", pid, err)
	}
	var registers syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &registers); err != nil {
		t.Fatalf("process %d: registers: %v", pid, err)
	}
	registers.SetPC(0)
	if err := syscall.PtraceSetRegs(pid, &registers); err != nil {
		t.Fatalf("process %d: registers: %v", pid, err)
	}
	if err := syscall.PtraceDetach(pid); err != nil {
		t.Fatalf("process %d: detach: %v", pid, err)
	}
}

// firstProcess is the process of a container that has the PID 1 there.
func firstProcess(t *testing.T, container string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		groups, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(groups), container) {
			continue // ended meanwhile, or another's
		}
		folder := filepath.Dir(file)
		status, err := os.ReadFile(filepath.Join(folder, "status"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if ids := strings.Fields(line); len(ids) > 2 && ids[0] == "NSpid:" && ids[len(ids)-1] == "1" {
				pid, err := strconv.Atoi(filepath.Base(folder))
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
		}
	}
	t.Fatalf("container %s has no process", container)
	return 0
}
