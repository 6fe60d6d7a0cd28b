// Package cpu gives tests the CPUs that their measurements need on a machine that others use, too, and tells whether they had them.
package cpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Usable are the CPUs that this process may use.
func Usable(t testing.TB) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(os.NewSyscallError("sched_getaffinity", err))
	}
	var list []int
	for cpu := 0; len(list) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list
}

// Confine keeps this process, and what it starts from now on, on one CPU until the test ends: the
// others are left to the engine's workers, which choose theirs themselves. It is preferred, too.
func Confine(t testing.TB, cpu int) {
	t.Helper()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(os.NewSyscallError("sched_getaffinity", err))
	}
	one.Set(cpu)
	if err := setAffinity(&one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := setAffinity(&before); err != nil {
			t.Error(err)
		}
	})
	Prefer(t)
}

// Prefer has this process's session go before others until the test ends. Without that the niceness of a thread says
// nothing about threads of other sessions (sched(7), "The autogroup feature").
func Prefer(t testing.TB) {
	t.Helper()
	if err := setAutogroup(topPriority); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := setAutogroup(0); err != nil {
			t.Error(err)
		}
	})
}

// setAutogroup does nothing where there is no such group: in a kernel without the feature, and in a session as old as
// the system (init's, whose threads all compete by their own niceness: EINVAL).
func setAutogroup(nice int) error {
	err := os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(nice)), 0o644)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

// setAffinity moves all threads of this process; those to come inherit from them.
func setAffinity(set *unix.CPUSet) error {
	tasks, err := threads(os.Getpid())
	for _, tid := range tasks {
		if e := unix.SchedSetaffinity(tid, set); e != nil && e != unix.ESRCH {
			return os.NewSyscallError("sched_setaffinity", e)
		}
	}
	return err
}

// topPriority is the nice value that ordinary threads give way to.
const topPriority = -20

// Favour gives the calling goroutine a thread of its own for good, which has the CPU before all ordinary ones. The
// thread must not wait for a turn within the process either: further ones are allowed to run.
func Favour() error {
	runtime.LockOSThread()
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 8))
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return favour(unix.Gettid())
}

// favour puts a thread before all ordinary ones: by weight, and, with a time slice shorter than theirs, as soon as it
// wakes up (kernels before 6.12 do not look at the slice).
func favour(tid int) error {
	const shortest = 100 * time.Microsecond
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(tid, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: topPriority, Runtime: uint64(shortest),
	}, 0))
}

// Nap is a sleep of less than a millisecond: time.Sleep is not that exact, and leaves it to other
// threads to wake this one.
func Nap(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0) // woken early: no harm
}

// Worker is the worker thread of an engine.
type Worker struct{ stat string }

// FavourWorkers gives the workers of the engine that is a process, or a child of it, their CPUs before all ordinary threads, as CPUs of
// their own would.
func FavourWorkers(t testing.TB, process int) []Worker {
	t.Helper()
	var workers []Worker
	for _, pid := range family(process) {
		tasks, err := threads(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tasks {
			dir := fmt.Sprintf("/proc/%d/task/%d", pid, tid)
			name, err := os.ReadFile(filepath.Join(dir, "comm"))
			if err != nil || !strings.Contains(string(name), "-worker") { // rte-worker-1, lcore-worker-1: as DPDK names them
				continue
			}
			if err := favour(tid); err != nil {
				t.Fatal(err)
			}
			workers = append(workers, Worker{filepath.Join(dir, "schedstat")})
		}
	}
	if len(workers) == 0 {
		t.Fatal("no worker thread found in the engine")
	}
	return workers
}

// Waited is how long the worker wanted its CPU and did not have it, since it began.
func (w Worker) Waited(t testing.TB) time.Duration {
	t.Helper()
	text, err := os.ReadFile(w.stat)
	if err != nil {
		t.Fatal(err)
	}
	var ran, waited time.Duration
	if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
		t.Fatalf("%s: %v", w.stat, err)
	}
	return waited
}

// family is a process and its children's children.
func family(pid int) []int {
	all := []int{pid}
	tasks, _ := threads(pid)
	for _, tid := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid))
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(all, family(child)...)
			}
		}
	}
	return all
}

func threads(pid int) ([]int, error) {
	dir, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	var list []int
	for _, e := range dir {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, tid)
		}
	}
	return list, err
}
