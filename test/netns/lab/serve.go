package lab

import (
	"net"
	"testing"
)

// ServeTCP has each connection to an address of a namespace handled on its own, and closed after that, until the test ends.
func ServeTCP(t testing.TB, s *Space, address string, handle func(net.Conn)) {
	t.Helper()
	l := In(t, s, func() (net.Listener, error) { return net.Listen("tcp4", address) })
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
}
