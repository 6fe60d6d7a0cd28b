package netns

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// memif is a wire by memory that the engine shares with another process (DPDK's net_memif): a socket of its own, on which one of the two waits.
func memif(folder, wire, role string) string {
	return fmt.Sprintf("net_memif_%s,role=%s,socket=%s,socket-abstract=no", wire, role, filepath.Join(folder, wire))
}

// memifBinds are the interfaces of watched, with wires on which the engine waits.
func memifBinds(folder string) []string {
	return []string{"inside=lan", "outside=wan", "ips-inside=" + memif(folder, "ips-inside", "server"), "ips-outside=" + memif(folder, "ips-outside", "server")}
}

// startBridge starts a program with DPDK that gives each frame of one wire to the other. It polls, so others go first.
func startBridge(t *testing.T, s *lab.Space, folder string) *lab.Process {
	t.Helper()
	args := []string{
		"-n", "19", "dpdk-testpmd", "--no-huge", "-m", "128", "--no-pci", "--no-telemetry", "--no-shconf", "--lcores", "0@0-1,1@0-1",
		"--vdev", memif(folder, "ips-inside", "client"), "--vdev", memif(folder, "ips-outside", "client"),
		"--", "--forward-mode=io", "--auto-start", "--total-num-mbufs=8192", "--stats-period=60",
	}
	p := s.Spawn(t, "nice", args...)
	t.Cleanup(p.Kill) // else it ends as one does that was told to
	return p
}

// TestAProgramWithDPDKIsAFunctionOfAChain has it killed under TCP connections, and another one in its place; then the engine.
func TestAProgramWithDPDKIsAFunctionOfAChain(t *testing.T) {
	lab.Require(t, "dpdk-testpmd")
	lan, wan, box := lanAndWAN(t)
	serveEcho(t, wan, "0.0.0.0:80")
	folder := t.TempDir()
	engine := lab.StartEngine(t, box, memifBinds(folder))
	b := &bridged{lan: lan, engine: engine, program: lab.Compile(t, lab.ParseText(t, strings.Replace(watched, "outside: ips-outside", "outside: ips-outside, whenDown: Open", 1)))}
	engine.Load(t, b.program)
	b.knows(t, false)
	clients := connect(t, lan, "10.1.0.2", 10)
	exchange(t, clients, "past a function that is not there yet")

	first := startBridge(t, box, folder)
	b.knows(t, true)
	clients = append(clients, connect(t, lan, "10.1.0.2", 10)...)
	lab.Until(t, lab.Patience, func() error { // a machine that is busy may stop the program for a moment
		before := b.passedBy(t)
		exchange(t, clients, "through the function")
		if n := b.passedBy(t) - before; n > 0 {
			return fmt.Errorf("%d packets passed by the function, want none", n)
		}
		return nil
	})
	s := engine.Counters(t)
	if left, back := port(t, s, "ips-inside").GetTxPackets(), port(t, s, "ips-outside").GetRxPackets(); left < 100 || back < 100 {
		t.Errorf("%d packets left by ips-inside, and %d came back by ips-outside, want those of the connections", left, back)
	}

	first.Kill()
	b.knows(t, false)
	exchange(t, clients, "past the function that was killed")
	second := startBridge(t, box, folder)
	b.knows(t, true)
	exchange(t, clients, "through the next one")

	second.Kill()
	engine.Process.Kill() // it leaves its sockets
	b.engine = lab.StartEngine(t, box, memifBinds(folder))
	b.engine.Load(t, b.program)
	startBridge(t, box, folder)
	b.knows(t, true)
	exchange(t, connect(t, lan, "10.1.0.2", 5), "by the next engine")
}

func TestAWireOfSharedMemoryIsForOneWorker(t *testing.T) {
	lab.Require(t)
	box := lab.New(t, "engine")
	args := []string{"--socket", filepath.Join(t.TempDir(), "s"), "--no-huge", "--workers", "2", "--bind", "ips=" + memif(t.TempDir(), "ips", "server")}
	out, err := box.Try(lab.EnginePath(t), args...)
	if want := "which may have one queue, and 2 workers need as many: use --workers 1"; err == nil || !strings.Contains(err.Error()+out, want) {
		t.Errorf("got %v\n%s\nwant an error that says %q", err, out, want)
	}
}
