package sriov

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/sriov/trunk"
)

// peers are a host behind a chain and a server before it, outside the guest, each in its VLAN on the card's cable.
type peers struct {
	host, server *lab.Space
	seen         chan string // addresses from which the server was asked
}

// The site of chain.yaml.
const (
	hostAddress, hostGateway = "10.0.0.2", "10.0.0.1"
	serverAddress            = "203.0.113.254"
	pool                     = "203.0.113.10"
	port                     = 8080
)

func newPeers(t *testing.T, cable *trunk.Trunk, insideVLAN, outsideVLAN uint16) *peers {
	t.Helper()
	p := &peers{host: lab.New(t, "host"), server: lab.New(t, "server"), seen: make(chan string, 16)}
	cable.Join(t, p.host, insideVLAN, "eth0", hostAddress+"/24")
	cable.Join(t, p.server, outsideVLAN, "eth0", serverAddress+"/24")
	p.host.Run(t, "ip", "route", "add", "default", "via", hostGateway)
	p.serve(t)
	return p
}

// serve answers TCP and UDP with what was asked, in capitals.
func (p *peers) serve(t *testing.T) {
	t.Helper()
	address := net.JoinHostPort(serverAddress, fmt.Sprint(port))
	u := lab.In(t, p.server, func() (net.PacketConn, error) { return net.ListenPacket("udp4", address) })
	t.Cleanup(func() { _ = u.Close() })
	note := func(from net.Addr) {
		select {
		case p.seen <- from.(interface{ String() string }).String():
		default: // nobody looks
		}
	}
	lab.ServeTCP(t, p.server, address, func(c net.Conn) {
		note(c.RemoteAddr())
		if text, err := io.ReadAll(c); err == nil {
			_, _ = io.WriteString(c, strings.ToUpper(string(text)))
		}
	})
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := u.ReadFrom(buf)
			if err != nil {
				return
			}
			note(from)
			_, _ = u.WriteTo([]byte(strings.ToUpper(string(buf[:n]))), from)
		}
	}()
}

// ask sends a text from the host to the server and wants it back in capitals, from the server's
// address, after it came to the server from an address of the NAPT's pool.
func (p *peers) ask(network, text string) error {
	for len(p.seen) > 0 {
		<-p.seen
	}
	answer, err := p.exchange(network, text)
	if err != nil {
		return fmt.Errorf("%s through the chain: %w", network, err)
	}
	if want := strings.ToUpper(text); answer != want {
		return fmt.Errorf("%s through the chain: answer of %d bytes, want the %d bytes that were sent, in capitals", network, len(answer), len(want))
	}
	if from, _, _ := strings.Cut(<-p.seen, ":"); from != pool {
		return fmt.Errorf("%s: the server was asked from %s, want %s of the NAPT's pool", network, from, pool)
	}
	return nil
}

func (p *peers) exchange(network, text string) (string, error) {
	var c net.Conn
	var err error
	p.host.Do(func() {
		c, err = (&net.Dialer{Timeout: 5 * time.Second}).Dial(network+"4", net.JoinHostPort(serverAddress, fmt.Sprint(port)))
	})
	if err != nil {
		return "", err
	}
	defer c.Close()
	limit := 30 * time.Second
	if network == "udp" {
		limit = 2 * time.Second // lost is lost
	}
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		if err := tcp.CloseWrite(); err != nil {
			return "", err
		}
		answer, err := io.ReadAll(c)
		return string(answer), err
	}
	buf := make([]byte, 2048)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// converse has TCP carry more than a window's worth, and UDP single packets.
func (p *peers) converse(t *testing.T) {
	t.Helper()
	eventually(t, patience, func() error { return p.ask("udp", "is anybody there?") })
	for n := range 20 {
		if err := p.ask("udp", fmt.Sprintf("packet %d", n)); err != nil {
			t.Error(err)
		}
	}
	if err := p.ask("tcp", strings.Repeat("a stream of many segments. ", 20_000)); err != nil {
		t.Error(err)
	}
}
