package netns

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// bypassing is the chain with a function that a flow goes past after 20 of its packets.
var bypassing = strings.Replace(watched, "outside: ips-outside", "outside: ips-outside, whenDown: Closed, bypass: {afterPackets: 20}", 1)

// seen is how many packets of connections to port 80 the bridge has had, from both ends.
func (b *bridged) seen(t *testing.T) (n int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`counter packets (\d+) `).FindAllStringSubmatch(b.ips.Run(t, "nft", "list", "ruleset"), -1) {
		of, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		n += of
	}
	return n
}

// past is how many packets from both sides went past the bridge as their flows had passed it often enough.
func (b *bridged) past(t *testing.T) (n uint64) {
	t.Helper()
	counters := b.engine.Counters(t).GetCounters()
	for _, name := range []string{"ips/past-inside", "ips/past-outside"} {
		i := slices.Index(b.program.GetCounters(), name)
		if i < 0 {
			t.Fatalf("the program counts %q, want %s", b.program.GetCounters(), name)
		}
		n += counters[i].GetPackets()
	}
	return n
}

// TestTheBulkOfAConnectionGoesPastABlackboxThatHasSeenItsBeginning has nftables count on the bridge.
func TestTheBulkOfAConnectionGoesPastABlackboxThatHasSeenItsBeginning(t *testing.T) {
	lab.Require(t, "nft")
	b := startBridged(t, bypassing)
	b.toggle(t, true)
	b.ips.Run(t, "nft", "table bridge t { chain c { type filter hook forward priority 0; tcp dport 80 counter; tcp sport 80 counter; }; }")
	c := connect(t, b.lan, "10.1.0.2", 1)[0]
	bulk := []byte(strings.Repeat("0123456789abcdef", 1<<20/16))
	for range 20 {
		if err := c.answered(bulk); err != nil {
			t.Fatal(err)
		}
	}
	// Packets that are on their way to the bridge as the twentieth comes back go through as well: some hundred, if a window of them is.
	n, past := b.seen(t), b.past(t)
	if n < 20 || n > 2000 || past < 20_000 {
		t.Errorf("the bridge had %d packets, and %d went past, want the first 20 and few more, and the rest of 40 MiB past", n, past)
	}
	b.outlives(t, c)
	b.beginsAgain(t, c)
}

// outlives has a connection go on that goes past the bridge while that is down, unlike others.
func (b *bridged) outlives(t *testing.T, c *client) {
	t.Helper()
	b.toggle(t, false)
	exchange(t, []*client{c}, "past the bridge, which is down")
	if other, err := dialWithin(300*time.Millisecond, b.lan, "tcp", "10.1.0.2:0", "198.51.100.2:80"); err == nil {
		_ = other.Close()
		t.Error("there is a connection that nobody has looked at while the bridge is down")
	}
	b.toggle(t, true)
}

// beginsAgain has a connection follow another one between the same ports: the bridge sees it from its beginning.
func (b *bridged) beginsAgain(t *testing.T, c *client) {
	t.Helper()
	from := c.LocalAddr().String()
	if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil { // its port is free at once
		t.Fatal(err)
	}
	_ = c.Close()
	before := b.seen(t)
	again, err := dial(b.lan, "tcp", from, "198.51.100.2:80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	exchange(t, []*client{again}, "between the same ports")
	if n := b.seen(t) - before; n < 5 {
		t.Errorf("the bridge had %d packets of the connection that followed, want its opening and its first exchange", n)
	}
}
