package netns

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// TestAFloodDoesNotTakeAFunctionDown sends an open function ten times what it takes: it loses probes as it loses packets, and nobody may get past it by that.
func TestAFloodDoesNotTakeAFunctionDown(t *testing.T) {
	lab.Require(t, "nft")
	b := startBridged(t, strings.Replace(watched, "outside: ips-outside", "outside: ips-outside, whenDown: Open", 1))
	b.toggle(t, true)
	c, err := dial(b.lan, "udp", "10.1.0.2:4000", "198.51.100.2:80")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lab.Until(t, lab.Patience, func() error { return c.answered([]byte("before the flood")) })
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	b.ips.Run(t, "nft", "table bridge t { chain c { type filter hook forward priority 0; iif inside limit rate over 500/second burst 5 packets drop; }; }")

	lab.Until(t, lab.Patience, func() error { // a machine that is busy may stop the bridge for a moment
		past, before := b.passedBy(t), b.engine.Counters(t)
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Microsecond) { // evenly, as no probe finds room then
			if _, err := c.Write([]byte("flood")); err != nil {
				t.Fatal(err)
			}
		}
		after := b.engine.Counters(t)
		left := port(t, after, "ips-inside").GetTxPackets() - port(t, before, "ips-inside").GetTxPackets()
		back := port(t, after, "ips-outside").GetRxPackets() - port(t, before, "ips-outside").GetRxPackets()
		if past = b.passedBy(t) - past; past > 0 || back > left/2 || back < 100 {
			return fmt.Errorf("%d packets left for the function, %d came back and %d went past it; want a flood that it cannot take, and none past it", left, back, past)
		}
		return nil
	})
}

// TestWhatARingDoesNotTakeIsLostUnderItsFunctionsName stops a program that shares memory with the engine, and sends more than the ring has room for.
func TestWhatARingDoesNotTakeIsLostUnderItsFunctionsName(t *testing.T) {
	lab.Require(t, "dpdk-testpmd")
	lan, wan, box := lanAndWAN(t)
	serveEcho(t, wan, "0.0.0.0:80")
	folder := t.TempDir()
	engine := lab.StartEngine(t, box, memifBinds(folder))
	program := lab.Compile(t, lab.ParseText(t, watched))
	engine.Load(t, program)
	function := startBridge(t, box, folder)
	c, err := dial(lan, "udp", "10.1.0.2:4000", "198.51.100.2:80")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lab.Until(t, lab.Patience, func() error { return c.answered([]byte("through the function")) })

	if err := syscall.Kill(function.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	lost := func() uint64 {
		for _, d := range engine.Counters(t).GetDrops() {
			if d.GetReason() == "ips/full" && d.GetKind() == programpb.DropKind_DROP_KIND_LOSS {
				return d.GetPackets()
			}
		}
		return 0
	}
	const n = 3000
	before, lostBefore := engine.Counters(t), lost() // there was no ring at first
	for i := range n {
		if _, err := c.Write([]byte("more than there is room for")); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			time.Sleep(time.Millisecond) // the devices in between have rings, too
		}
	}
	lab.Until(t, lab.Patience, func() error {
		taken := port(t, engine.Counters(t), "ips-inside").GetTxPackets() - port(t, before, "ips-inside").GetTxPackets()
		if lost := lost() - lostBefore; lost+taken != n || taken > 1024 || engine.Dropped(t, "tx-full") > 0 {
			return fmt.Errorf("the ring has taken %d packets, and %d are lost as ips/full; want %d together, and no more than the ring has", taken, lost, n)
		}
		return nil
	})
	was := lost()
	engine.Load(t, lab.Compile(t, lab.ParseText(t, strings.Replace(watched, "default: Drop", "default: Accept", 1))))
	if now := lost(); now < was {
		t.Errorf("%d packets are lost as ips/full after another program, want the %d from before", now, was)
	}
}
