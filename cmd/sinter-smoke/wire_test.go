package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair has a veth pair, a0 and b0, in a network namespace of the test's thread, or skips the test where that is not allowed.
func pair(t *testing.T) (a, b *wire) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	for _, args := range []string{"link add a0 type veth peer name b0", "link set a0 up", "link set b0 up"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	var ends [2]*wire
	for i, name := range []string{"a0", "b0"} {
		w, err := openWire(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(w.fd) })
		ends[i] = w
	}
	return ends[0], ends[1]
}

func TestAWireSendsLinesAndPrintsWhatItReceives(t *testing.T) {
	a, b := pair(t)
	header := fmt.Sprintf("%x%x88b5", []byte(b.mac), []byte(a.mac))
	fromB, fromA := fmt.Sprintf("%s%x", header, "from b"), fmt.Sprintf("%s%x", header, "from a")
	in, hold := io.Pipe()
	out, written := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- b.run(in, written)
		_ = written.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != b.mac.String() {
		t.Fatalf("the first line is %q, want %s", lines.Text(), b.mac)
	}
	if _, err := fmt.Fprintln(hold, fromB); err != nil {
		t.Fatal(err)
	}
	await(t, a, fromB)
	// Were what it sends printed, it would come before this one.
	if err := a.send(strings.NewReader("\n" + fromA + "\n")); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		switch lines.Text() {
		case fromA:
			_ = hold.Close()
		case fromB:
			t.Error("the frame that it sends is printed")
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// await reads frames until one comes, in hex.
func await(t *testing.T, w *wire, frame string) {
	t.Helper()
	buffer := make([]byte, maxFrame)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if n, _, err := unix.Recvfrom(w.fd, buffer, 0); err == nil && hex.EncodeToString(buffer[:n]) == frame {
			return
		}
	}
	t.Fatalf("%s did not come", frame)
}

func TestAWireRefusesWhatIsNoFrame(t *testing.T) {
	w := &wire{fd: -1}
	for text, want := range map[string]string{
		"\nxyz":                          "line 2: encoding/hex: invalid byte: U+0078 'x'; want a frame as hexadecimal digits",
		"abc":                            "line 1: encoding/hex: odd length hex string",
		strings.Repeat("00", maxFrame+1): "line 1: a frame of 2049 bytes; want 2048 at most",
		strings.Repeat("00", 14):         "line 1: send: bad file descriptor",
		strings.Repeat("0", bufio.MaxScanTokenSize): "token too long",
	} {
		if err := w.send(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func TestThereIsNoOtherSubcommand(t *testing.T) {
	if ok, err := subcommand(t.Context(), []string{"--lease", "x"}); ok || err != nil {
		t.Errorf("flags alone are taken for a command: %v", err)
	}
	if ok, err := subcommand(t.Context(), []string{"wires"}); !ok || err == nil || !strings.Contains(err.Error(), "want wire, idle") {
		t.Errorf("wires: %v", err)
	}
	if _, err := subcommand(t.Context(), []string{"wire", "--interface", "none0"}); err == nil || !strings.Contains(err.Error(), `--interface "none0"`) {
		t.Errorf("an interface that is not there: %v", err)
	}
}

func TestIdleEndsByItself(t *testing.T) {
	if err := idle(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := idle(stopped, time.Hour); err != nil {
		t.Error(err)
	}
}
