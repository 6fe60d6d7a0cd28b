package lab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/test/packets"
)

// Require skips a test that cannot run here: it needs root, and the tools that it names.
func Require(t testing.TB, tools ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: network namespaces and raw sockets are made")
	}
	for _, tool := range append([]string{"ip", "ethtool"}, tools...) {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs the program %s: run make deps", tool)
		}
	}
}

// Space is a network namespace. A thread lives in it and does what must be begun there: sockets
// and processes stay in the namespace that they were made in.
type Space struct {
	Name  string // for messages
	path  string
	tasks chan func()
}

// New makes a namespace whose loopback is up and that speaks no IPv6 (its neighbour discovery
// would show up among the counted packets). It ends with the test.
func New(t testing.TB, name string) *Space {
	t.Helper()
	s := &Space{Name: name, tasks: make(chan func())}
	ready := make(chan error)
	go s.live(ready)
	if err := <-ready; err != nil {
		t.Skipf("needs the right to make network namespaces: %v", err)
	}
	t.Cleanup(func() { close(s.tasks) })
	s.Sysctl(t, "net.ipv6.conf.all.disable_ipv6", "1")
	s.Sysctl(t, "net.ipv6.conf.default.disable_ipv6", "1")
	s.Run(t, "ip", "link", "set", "lo", "up")
	return s
}

// live never unlocks its thread, so that the runtime ends it instead of using it elsewhere.
func (s *Space) live(ready chan<- error) {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		ready <- err
		return
	}
	s.path = fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
	ready <- nil
	for task := range s.tasks {
		task()
	}
}

// Do has f run on the namespace's thread.
func (s *Space) Do(f func()) {
	done := make(chan struct{})
	s.tasks <- func() { defer close(done); f() }
	<-done
}

// In is what f returns when run on the namespace's thread.
func In[T any](t testing.TB, s *Space, f func() (T, error)) T {
	t.Helper()
	var v T
	var err error
	s.Do(func() { v, err = f() })
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return v
}

// Sysctl sets a kernel parameter of the namespace.
func (s *Space) Sysctl(t testing.TB, key, value string) {
	t.Helper()
	In(t, s, func() (struct{}, error) {
		path := filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
		err := os.WriteFile(path, []byte(value), 0o644)
		if os.IsNotExist(err) && strings.Contains(key, "ipv6") {
			err = nil // a kernel without IPv6
		}
		return struct{}{}, err
	})
}

// Command prepares a program that Start or Try will run in the namespace; it dies with it.
func (s *Space) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return cmd
}

// Start starts a command in the namespace.
func (s *Space) Start(cmd *exec.Cmd) error {
	var err error
	s.Do(func() { err = cmd.Start() })
	return err
}

// Try runs a program in the namespace to its end; the text is all that it wrote.
func (s *Space) Try(name string, args ...string) (string, error) {
	cmd := s.Command(name, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := s.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("%s: %s %s: %w\n%s", s.Name, name, strings.Join(args, " "), err, out.String())
	}
	return out.String(), err
}

// Run is Try for programs that must succeed.
func (s *Space) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := s.Try(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// MAC is the address of one of the namespace's devices.
func (s *Space) MAC(t testing.TB, device string) packets.MAC {
	t.Helper()
	i := In(t, s, func() (*net.Interface, error) { return net.InterfaceByName(device) })
	return packets.MAC(i.HardwareAddr)
}
