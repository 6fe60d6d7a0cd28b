// Package collector runs a flow collector that others wrote, nfcapd of nfdump, for tests of exports.
package collector

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Collector takes flows on a port of this host, until they are asked for.
type Collector struct {
	Addr netip.AddrPort

	tb  testing.TB
	in  Space
	dir string
	cmd *exec.Cmd
	log bytes.Buffer
}

// Flow is a record as the collector shows it. Packets and bytes are what it takes for the whole traffic: sampled ones times the rate that it was told.
type Flow struct {
	Source, Destination         string
	SourcePort, DestinationPort string
	Protocol                    string
	Packets, Bytes              uint64
}

// patience is how long the collector may take to listen, and to end.
const patience = 10 * time.Second

// Space is where a collector runs: a network namespace.
type Space interface {
	Start(*exec.Cmd) error
	Do(func()) // on a thread that is in it
}

// here is the namespace of the test.
type here struct{}

func (here) Start(c *exec.Cmd) error { return c.Start() }
func (here) Do(f func())             { f() }

// Start starts a collector on this host. The test is skipped if there is none on this machine.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	return StartIn(tb, here{}, freePort(tb))
}

// StartIn starts a collector on an address of a network namespace.
func StartIn(tb testing.TB, s Space, at netip.AddrPort) *Collector {
	tb.Helper()
	for _, tool := range []string{"nfcapd", "nfdump"} {
		if _, err := exec.LookPath(tool); err != nil {
			tb.Skipf("%v: `make deps` installs it", err)
		}
	}
	c := &Collector{tb: tb, in: s, dir: tb.TempDir(), Addr: at}
	c.cmd = exec.Command("nfcapd", "-w", c.dir, "-b", c.Addr.Addr().String(), "-p", strconv.Itoa(int(c.Addr.Port())), "-t", "3600")
	c.cmd.Stdout, c.cmd.Stderr = &c.log, &c.log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.Start(c.cmd); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.stop)
	for over := time.Now().Add(patience); c.socket() == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(over) {
			c.stop()
			tb.Fatalf("nfcapd does not listen on %s:\n%s", c.Addr, c.log.String())
		}
	}
	return c
}

func freePort(tb testing.TB) netip.AddrPort {
	tb.Helper()
	l, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return netip.MustParseAddrPort(l.LocalAddr().String())
}

// socket is the collector's in the kernel's list of sockets; empty: it has none yet.
func (c *Collector) socket() string {
	c.tb.Helper()
	var sockets []byte
	var err error
	c.in.Do(func() { sockets, err = os.ReadFile("/proc/thread-self/net/udp") })
	if err != nil {
		c.tb.Fatal(err)
	}
	for line := range strings.Lines(string(sockets)) {
		if strings.Contains(line, fmt.Sprintf(":%04X ", c.Addr.Port())) {
			return line
		}
	}
	return ""
}

// waits tells whether the socket has what the collector has not read: the fifth field is what waits to go and what came.
func (c *Collector) waits() bool {
	f := strings.Fields(c.socket())
	return len(f) > 4 && !strings.HasSuffix(f[4], ":00000000")
}

func (c *Collector) stop() {
	if c.cmd.ProcessState != nil {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	_ = c.cmd.Wait() // what it has is on disk then
}

// Flows ends the collector and tells what it got.
func (c *Collector) Flows() []Flow {
	c.tb.Helper()
	time.Sleep(100 * time.Millisecond) // what is on its way
	for over := time.Now().Add(patience); c.waits(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(over) {
			c.tb.Fatalf("nfcapd does not read what it got: %s", c.socket())
		}
	}
	c.stop()
	out, err := exec.Command("nfdump", "-R", c.dir, "-q", "-N", "-o", "fmt:%sa|%sp|%da|%dp|%pr|%pkt|%byt").CombinedOutput()
	if err != nil {
		c.tb.Fatalf("nfdump: %v\n%s\nnfcapd said\n%s", err, out, c.log.String())
	}
	var list []Flow
	for line := range strings.Lines(string(out)) {
		f := strings.Split(line, "|")
		if len(f) != 7 {
			continue
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		number := func(s string) uint64 {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				c.tb.Fatalf("nfdump's line %q: %v", line, err)
			}
			return n
		}
		list = append(list, Flow{
			Source: f[0], SourcePort: f[1], Destination: f[2], DestinationPort: f[3], Protocol: f[4], Packets: number(f[5]), Bytes: number(f[6]),
		})
	}
	c.tb.Logf("nfcapd got %d records; it said\n%s", len(list), c.log.String())
	return list
}
