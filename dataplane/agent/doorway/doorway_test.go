package doorway

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"
)

// door is a listener with limits whose connections are held open.
type door struct {
	*Listener
	taken chan net.Conn
}

func open(t *testing.T, limits Limits) *door {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Limit(l, limits), make(chan net.Conn, 1024)}
	t.Cleanup(func() { _ = d.Close() })
	go func() {
		for {
			c, err := d.Accept()
			if err != nil {
				return
			}
			d.taken <- c
		}
	}()
	return d
}

// try connects from an address of the loopback network. The error may be that the door has ended it already.
func (d *door) try(t *testing.T, from string) (net.Conn, error) {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", d.Addr().String())
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func (d *door) dial(t *testing.T, from string) net.Conn {
	t.Helper()
	c, err := d.try(t, from)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ended tells whether the door has ended a connection.
func ended(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

var roomy = Limits{Total: 1000, PerSource: 1000, Rate: 1e6, Burst: 1e6}

func TestASourceLosesItsOldestConnectionBeyondItsLimit(t *testing.T) {
	limits := roomy
	limits.PerSource = 2
	d := open(t, limits)
	var own []net.Conn
	other := d.dial(t, "127.0.0.3")
	<-d.taken
	for range 4 {
		own = append(own, d.dial(t, "127.0.0.2"))
		<-d.taken
	}
	for i, c := range own {
		if got := ended(t, c); got != (i < 2) {
			t.Errorf("connection %d of four: ended is %v, want the first two ended", i, got)
		}
	}
	if ended(t, other) || d.Refused() != 2 {
		t.Errorf("another source's connection has ended, or %d were refused, want 2", d.Refused())
	}
}

func TestANewcomerFindsRoomBesideSourcesThatHoldAll(t *testing.T) {
	limits := roomy
	limits.Total = 30
	d := open(t, limits)
	var strangers []net.Conn
	for i := range 30 { // ten addresses, three each
		strangers = append(strangers, d.dial(t, fmt.Sprintf("127.0.1.%d", i%10+1)))
		<-d.taken
	}
	kubelet := d.dial(t, "127.0.0.1")
	<-d.taken
	lost := 0
	for _, c := range strangers {
		if ended(t, c) {
			lost++
		}
	}
	if lost != 1 || ended(t, kubelet) {
		t.Errorf("%d connections of strangers ended, and the newcomer's: %v; want one, and not his", lost, ended(t, kubelet))
	}
	// What is closed counts no longer.
	for _, c := range strangers {
		_ = c.Close()
	}
	if n := d.Refused(); n != 1 {
		t.Errorf("%d refused, want 1", n)
	}
}

func TestASourceOpensNoMoreConnectionsASecondThanItMay(t *testing.T) {
	limits := roomy
	limits.Rate, limits.Burst = 0.001, 5
	d := open(t, limits)
	kept := 0
	for range 20 {
		c, err := d.try(t, "127.0.0.2")
		if err == nil && !ended(t, c) {
			kept++
		}
	}
	if kept != 5 || d.Refused() != 15 {
		t.Errorf("%d of 20 kept, %d refused; want 5 and 15", kept, d.Refused())
	}
	if ended(t, d.dial(t, "127.0.0.3")) {
		t.Error("another source's connection is refused, too")
	}
}

func TestAnAdmittedConnectionIsNotEndedForOthers(t *testing.T) {
	limits := roomy
	limits.Total, limits.PerSource = 2, 1
	d := open(t, limits)
	known := d.dial(t, "127.0.0.2")
	Admit(<-d.taken)
	for i := range 10 {
		d.dial(t, fmt.Sprintf("127.0.0.%d", 2+i%3))
		<-d.taken
	}
	if ended(t, known) {
		t.Error("the admitted connection has ended")
	}
}

func TestSourcesWithoutConnectionsAreForgotten(t *testing.T) {
	l := Limit(nil, Limits{Total: 10, PerSource: 1, Rate: 1, Burst: 2})
	now := time.Now()
	for i := range 3 * maxSources {
		c, _ := l.take(&fake{from: net.TCPAddr{IP: net.IPv4(10, byte(i>>16), byte(i>>8), byte(i))}}, now)
		if c == nil {
			t.Fatalf("the connection of source %d is refused", i)
		}
		_ = c.Close()
		if len(l.sources) > maxSources {
			t.Fatalf("%d sources are remembered, want %d at most", len(l.sources), maxSources)
		}
	}
	// A host has all addresses of its /64.
	six := func(last byte) net.TCPAddr { return net.TCPAddr{IP: net.IP{0: 0x20, 1: 1, 15: last}} }
	if sourceOf(ptr(six(1))) != sourceOf(ptr(six(2))) {
		t.Error("two addresses of one /64 are two sources")
	}
}

func ptr(a net.TCPAddr) *net.TCPAddr { return &a }

type fake struct {
	net.Conn
	from net.TCPAddr
}

func (f *fake) RemoteAddr() net.Addr { return &f.from }
func (f *fake) Close() error         { return nil }

func TestStrangersCauseFewLines(t *testing.T) {
	var lines []string
	w := &Writer{Print: func(line string) { lines = append(lines, line) }}
	for i := range 1000 {
		_, _ = fmt.Fprintf(w, "mistake %d", i)
	}
	if len(lines) != logBurst {
		t.Fatalf("%d lines of 1000, want %d", len(lines), logBurst)
	}
	var l Lines
	now := time.Now()
	for range 1000 {
		l.Next(now)
	}
	if write, left := l.Next(now.Add(logEvery)); !write || left != 1000-logBurst {
		t.Errorf("after a while: %v, %d left out; want a line, and %d", write, left, 1000-logBurst)
	}
}
