// Package free finds what nobody uses yet.
package free

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
)

const lowest = 10_240 // of the ports that Address looks at

// Address is an address of the loopback network, with a TCP port, at which nobody listens. The kernel gives the port to no outgoing
// connection: of those that it may give, one could be taken again before whoever wants it listens.
func Address(t testing.TB) string {
	t.Helper()
	first := 32_768
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &first)
	}
	if first <= lowest {
		t.Fatalf("outgoing connections have ports from %d on (ip_local_port_range): none above %d is left", first, lowest)
	}
	var err error
	for range 100 {
		var l net.Listener
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(first-lowest))
		if l, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal(err)
	return ""
}
