package netns

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
