package netns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// echo answers TCP and UDP with what it was sent, and remembers from where it came.
type echo struct {
	mu    sync.Mutex
	peers map[string]netip.AddrPort // by what was sent first
}

func serveEcho(t *testing.T, s *lab.Space, address string) *echo {
	t.Helper()
	e := &echo{peers: map[string]netip.AddrPort{}}
	lab.ServeTCP(t, s, address, e.tcp)
	p := lab.In(t, s, func() (net.PacketConn, error) { return net.ListenPacket("udp4", address) })
	t.Cleanup(func() { _ = p.Close() })
	go e.udp(p)
	return e
}

func (e *echo) tcp(c net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		e.note(buf[:n], c.RemoteAddr())
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (e *echo) udp(p net.PacketConn) {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := p.ReadFrom(buf)
		if err != nil {
			return
		}
		e.note(buf[:n], from)
		if _, err := p.WriteTo(buf[:n], from); err != nil {
			return
		}
	}
}

func (e *echo) note(sent []byte, from net.Addr) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(sent) < 200 { // not the middle of a long stream
		e.peers[string(sent)] = netip.MustParseAddrPort(from.String())
	}
}

// peer is from where a text came.
func (e *echo) peer(text string) netip.AddrPort {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.peers[text]
}

// client is a connection of one host, from a port that the test chooses.
type client struct{ net.Conn }

func dial(s *lab.Space, network, from, to string) (*client, error) {
	return dialWithin(5*time.Second, s, network, from, to)
}

// dialWithin gives up after some time.
func dialWithin(timeout time.Duration, s *lab.Space, network, from, to string) (*client, error) {
	local, err := netip.ParseAddrPort(from)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: timeout}
	if network == "tcp" {
		d.LocalAddr = net.TCPAddrFromAddrPort(local)
	} else {
		d.LocalAddr = net.UDPAddrFromAddrPort(local)
	}
	var c net.Conn
	s.Do(func() { c, err = d.Dial(network+"4", to) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return &client{c}, nil
}

// answered sends a text, and wants it back.
func (c *client) answered(text []byte) error {
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { _, err := c.Write(text); sent <- err }()
	got := make([]byte, len(text))
	_, err := io.ReadFull(c, got)
	if err = errors.Join(err, <-sent); err != nil {
		return err
	}
	if !bytes.Equal(got, text) {
		return fmt.Errorf("sent %.40q, got %.40q", text, got)
	}
	return nil
}

// silent wants nothing back, neither a text nor an error, for as long as an answer would take many times over.
func (c *client) silent() error {
	if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return err
	}
	switch n, err := c.Read(make([]byte, 1500)); {
	case err == nil:
		return fmt.Errorf("got %d bytes, want none", n)
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return nil
}
