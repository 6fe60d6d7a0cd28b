package doorway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"
)

// door is a listener with limits whose connections are held open.
type door struct {
	*Listener
	taken chan net.Conn
}

func open(t *testing.T, limits Limits) *door { t.Helper(); return openAt(t, "127.0.0.1:0", limits) }

func openAt(t *testing.T, address string, limits Limits) *door {
	t.Helper()
	return openBy(t, address, nil, limits)
}

func openBy(t *testing.T, address string, by []int, limits Limits) *door {
	t.Helper()
	l, err := Listen(t.Context(), address, by)
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

// connect connects from an address of the loopback network.
func (d *door) connect(t *testing.T, from string, patience time.Duration) (net.Conn, error) {
	t.Helper()
	_, port, err := net.SplitHostPort(d.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	host := "127.0.0.1"
	if strings.Contains(from, ":") {
		host = "::1"
	}
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
}

// try connects, and holds the connection until the test ends. The error may be that the door has ended it already.
func (d *door) try(t *testing.T, from string) (net.Conn, error) {
	t.Helper()
	c, err := d.connect(t, from, time.Second)
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
	// Closed connections count no longer.
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
	for range 8 { // soon the kernel does not answer it any more
		c, err := d.try(t, "127.0.0.2")
		if err == nil && !ended(t, c) {
			kept++
		}
	}
	if kept != 5 || d.Refused() < 1 {
		t.Errorf("%d of 8 kept, %d refused; want 5, and one at least", kept, d.Refused())
	}
	if ended(t, d.dial(t, "127.0.0.3")) {
		t.Error("another source's connection is refused, too")
	}
}

// To accept a connection and to refuse it costs the agent's processor time, of which it has little.
func TestTheKernelShutsOutASourceThatOpensMoreThanItMay(t *testing.T) {
	for name, sources := range map[string]struct{ listen, greedy, other string }{
		"IPv4":                       {"127.0.0.1:0", "127.0.0.2", "127.0.0.3"},
		"IPv4, at a socket for both": {"[::]:0", "127.0.0.2", "127.0.0.3"},
		"IPv6":                       {"[::]:0", "::1", "127.0.0.3"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := roomy
			limits.Rate, limits.Burst = 0.001, 2
			d := openAt(t, sources.listen, limits)
			d.dial(t, sources.greedy) // stays
			c := <-d.taken
			for deadline := time.Now().Add(5 * time.Second); !isTimeout(d.tryFor(t, sources.greedy, 100*time.Millisecond)); {
				if time.Now().After(deadline) {
					t.Fatal("the kernel still answers the source after five seconds")
				}
			}
			refused := d.Refused()
			for range 5 {
				if err := d.tryFor(t, sources.greedy, 100*time.Millisecond); !isTimeout(err) {
					t.Errorf("the kernel still answers the source: %v", err)
				}
			}
			if n := d.Refused(); n != refused {
				t.Errorf("%d more connections came to the agent", n-refused)
			}
			if ended(t, d.dial(t, sources.other)) {
				t.Error("another source is shut out, too")
			}
			if _, err := c.Write([]byte("ok")); err != nil {
				t.Errorf("a connection of before has ended: %v", err)
			}
			d.mu.Lock()
			for a := range d.shut {
				d.shut[a] = time.Now()
			}
			d.telling.Reset(0)
			d.mu.Unlock()
			for deadline := time.Now().Add(5 * time.Second); isTimeout(d.tryFor(t, sources.greedy, time.Second)); {
				if time.Now().After(deadline) {
					t.Fatal("the source is shut out for good")
				}
			}
		})
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// tryFor connects for so long at most.
func (d *door) tryFor(t *testing.T, from string, patience time.Duration) error {
	t.Helper()
	c, err := d.connect(t, from, patience)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func TestWhatComesByOtherInterfacesIsDroppedAlsoWhileSourcesAreShutOut(t *testing.T) {
	loopback, err := Facing(nil)
	if err != nil {
		t.Fatal(err)
	}
	none := loopback[0] + 1000 // the index of no interface
	limits := roomy
	limits.Rate, limits.Burst = 0.001, 2
	for _, tt := range []struct {
		by    []int
		reach bool
	}{{loopback, true}, {[]int{none, loopback[0]}, true}, {[]int{none}, false}} {
		d := openBy(t, "127.0.0.1:0", tt.by, limits)
		reached := func(when string) {
			patience := 200 * time.Millisecond
			if tt.reach {
				patience = 10 * time.Second
			}
			if err := d.tryFor(t, "127.0.0.3", patience); (err == nil) != tt.reach {
				t.Errorf("by interfaces %v, %s: %v, want a connection: %t", tt.by, when, err, tt.reach)
			}
		}
		reached("at first")
		d.mu.Lock()
		d.shutOut(netip.MustParseAddr("127.0.0.2"), time.Now())
		d.mu.Unlock()
		for deadline := time.Now().Add(5 * time.Second); !isTimeout(d.tryFor(t, "127.0.0.2", 200*time.Millisecond)); {
			if time.Now().After(deadline) {
				t.Fatal("a source is not shut out")
			}
		}
		reached("beside a source that is shut out")
	}
}

func TestAProgramHasRoomForAllWhomItMayShutOut(t *testing.T) {
	var many []netip.Addr
	for i := range maxRefused {
		many = append(many, netip.AddrFrom16([16]byte{0: 0x20, 7: byte(i), 15: 1}))
	}
	l, err := Listen(t.Context(), "[::1]:0", make([]int, maxInterfaces))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.(*steered).steer(many); err != nil {
		t.Error(err)
	}
}

func TestStrangersShareWhatTheKnownHaveForThemselves(t *testing.T) {
	limits := roomy
	limits.Strangers = 3
	l := Limit(nil, limits)
	l.Expects = func(source netip.Addr) bool { return source == netip.MustParseAddr("10.0.0.2") }
	now := time.Now()
	takes := func(last byte) net.Conn {
		if c, _ := l.take(&fake{from: net.TCPAddr{IP: net.IPv4(10, 0, 0, last)}}, now); c != nil {
			return c
		}
		return nil
	}
	reader := takes(1)
	Know(reader)
	for i := range byte(2) {
		if takes(10+i) == nil {
			t.Errorf("stranger %d is refused", i)
		}
	}
	if takes(20) != nil {
		t.Error("a fourth stranger is let in")
	}
	if takes(1) == nil || takes(2) == nil {
		t.Error("one who is known or expected is refused because of strangers")
	}
	for i := range byte(maxKnown) {
		now = now.Add(time.Second)
		Know(takes(100 + i))
	}
	if _, known := l.known[netip.MustParseAddr("10.0.0.1")]; known || len(l.known) != maxKnown {
		t.Errorf("%d are known, among them the oldest: %t; want %d, without it", len(l.known), known, maxKnown)
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

// With SO_REUSEPORT another agent of the same user could listen at the port, too, and would get some of the connections.
// A stranger, or the kubelet, may connect as soon as the first socket listens.
func TestAListenerOpensThoughASourceIsFaster(t *testing.T) {
	refusing, _, err := listen(t.Context(), "127.0.0.1:0", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer refusing.Close()
	d := &door{Listener: Limit(refusing, Limits{})}
	c, err := d.connect(t, "127.0.0.2", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), refusing.Addr()); err != nil {
		t.Errorf("the backlog is full already: %v", err)
	}
	_ = c.Close()
	if c, err := d.connect(t, "127.0.0.1", 300*time.Millisecond); !isTimeout(err) {
		t.Errorf("a connection to the socket that refuses: %v, %v, want none", c, err)
	}
}

func TestASecondListenerAtAPortIsRefused(t *testing.T) {
	for _, tt := range []struct{ first, second string }{
		{"127.0.0.1", "127.0.0.1"}, {"[::1]", "[::1]"}, {"[::]", "[::]"}, {"[::]", "127.0.0.1"}, {"127.0.0.1", ""},
	} {
		_, port, err := net.SplitHostPort(openAt(t, tt.first+":0", roomy).Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		second, err := Listen(t.Context(), tt.second+":"+port, nil)
		if err == nil {
			_ = second.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), ":"+port+": ") {
			t.Errorf("at %s beside %s: %v, want an error that the address is in use, with the port %s", tt.second, tt.first, err, port)
		}
	}
}
