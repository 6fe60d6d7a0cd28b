package netns

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// guests may have few connections each.
const guests = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: guests}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - {name: guard, connectionLimiter: {maxPerHost: 20}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, guard, nat, outside]
`

// TestAHostHasAsManyConnectionsAsItMay has the kernel open TCP connections from one host until the limit, close some and open others, while
// another host has its own.
func TestAHostHasAsManyConnectionsAsItMay(t *testing.T) {
	lab.Require(t)
	const limit, closed = 20, 5
	lan, wan, box := lanAndWAN(t)
	lan.Run(t, "ip", "addr", "add", "10.1.0.3/16", "dev", "eth0")
	serveEcho(t, wan, "0.0.0.0:80")
	engine := lab.StartEngine(t, box, []string{"inside=lan", "outside=wan"}, "--workers", "2")
	engine.Load(t, lab.Compile(t, lab.ParseText(t, guests)))

	refused := func() {
		t.Helper()
		before := engine.Dropped(t, "guard/limit")
		c, err := dialWithin(300*time.Millisecond, lan, "tcp", "10.1.0.2:0", "198.51.100.2:80")
		if err == nil {
			_ = c.Close()
			t.Fatalf("10.1.0.2 has connection %d", limit+1)
		}
		if late, ok := errors.AsType[net.Error](err); !ok || !late.Timeout() {
			t.Fatal(err)
		}
		if n := engine.Dropped(t, "guard/limit"); n == before {
			t.Error("a SYN beyond the limit is counted nowhere")
		}
	}
	first := connect(t, lan, "10.1.0.2", limit)
	refused()
	other := connect(t, lan, "10.1.0.3", limit/2)

	s := engine.Counters(t).GetSubscribers()[0]
	if h := s.GetHeaviest()[0]; s.GetName() != "guard" || h.GetPrefix() != 0x0a010002 || h.GetSessions() != limit || h.GetRefused() == 0 {
		t.Errorf("the heaviest host of %s is %v, want 10.1.0.2 with %d connections, and others refused", s.GetName(), h, limit)
	}
	for _, c := range first[:closed] {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range closed { // each counts for a second more
		lab.Until(t, lab.Patience, func() error {
			c, err := dialWithin(300*time.Millisecond, lan, "tcp", "10.1.0.2:0", "198.51.100.2:80")
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
				other = append(other, c)
			}
			return err
		})
	}
	refused()
	for i, c := range append(first[closed:], other...) {
		if err := c.answered([]byte(fmt.Sprint("connection ", i))); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// connect has a host open connections to the server.
func connect(t *testing.T, from *lab.Space, host string, n int) (list []*client) {
	t.Helper()
	for i := range n {
		c, err := dial(from, "tcp", host+":0", "198.51.100.2:80")
		if err != nil {
			t.Fatalf("connection %d of %s: %v", i, host, err)
		}
		t.Cleanup(func() { _ = c.Close() })
		list = append(list, c)
	}
	return list
}
