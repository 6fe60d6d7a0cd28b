// Package doorway is for servers that any pod of a cluster can reach: it bounds what each source may have of them, so that strangers cannot
// take them from those whom they are for.
package doorway

import (
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of a listener.
type Limits struct {
	Total     int     // connections at once
	PerSource int     // of one address
	Rate      float64 // connections a second of one address, …
	Burst     int     // … and so many at once
	// Strangers are the connections a second of all addresses together that are not known; 0: as many as come. So many again may come at once.
	Strangers float64
}

const (
	// maxSources is how many addresses are remembered. Those without connections are forgotten first.
	maxSources = 4096
	// maxKnown is how many addresses are known.
	maxKnown = 64
	// shutTime is how long the kernel refuses connections of a source that opened more than its rate.
	shutTime = 10 * time.Second
	// shutPause is how long a listener waits for further sources to be shut out, as the kernel is told of all together.
	shutPause = 50 * time.Millisecond
)

// Listener is a net.Listener that refuses and ends connections beyond its limits. Where there is no room, the source that has most connections
// loses its oldest, so that a newcomer of another one finds room, however many connections strangers hold. A source that opens more than its rate
// is shut out by the kernel for a while.
type Listener struct {
	net.Listener
	// Expects tells whether a source is known before anybody there has shown who it is; nil: none is. It is set before Accept.
	Expects func(source netip.Addr) bool

	limits  Limits
	steered *steered // nil: not opened by Listen, so that the kernel refuses nobody

	mu        sync.Mutex
	sources   map[netip.Addr]*source
	known     map[netip.Addr]time.Time // since when
	strangers *rate.Limiter
	total     int
	refused   uint64
	shut      map[netip.Addr]time.Time // until when the kernel refuses their connections
	telling   *time.Timer              // tells the kernel; nil: nobody was ever shut out
	soon      bool                     // whether that is in shutPause at most
}

type source struct {
	conns  []*conn // the oldest first
	opened *rate.Limiter
}

// Limit puts limits on a listener.
func Limit(open net.Listener, limits Limits) *Listener {
	l := &Listener{Listener: open, limits: limits, sources: map[netip.Addr]*source{}, known: map[netip.Addr]time.Time{}, shut: map[netip.Addr]time.Time{}}
	l.strangers = rate.NewLimiter(rate.Inf, 0)
	if n := limits.Strangers; n > 0 {
		l.strangers = rate.NewLimiter(rate.Limit(n), int(math.Ceil(n)))
	}
	l.steered, _ = open.(*steered)
	return l
}

// Close ends the listener.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.telling != nil {
		l.telling.Stop()
	}
	l.mu.Unlock()
	return l.Listener.Close()
}

// Refused is how many connections were not taken, or ended for others.
func (l *Listener) Refused() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// Accept returns the next connection that is within the limits.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, ended := l.take(raw, time.Now())
		for _, e := range ended {
			reset(e)
		}
		if c != nil {
			return c, nil
		}
	}
}

// take counts a connection among those of its source; nil: it is beyond the source's rate. ended are to be closed.
func (l *Listener) take(raw net.Conn, now time.Time) (c *conn, ended []net.Conn) {
	from := sourceOf(raw.RemoteAddr())
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sources[from]
	if s == nil {
		l.forget(now)
		s = &source{opened: rate.NewLimiter(rate.Limit(l.limits.Rate), l.limits.Burst)}
		l.sources[from] = s
	}
	beyond := !s.opened.AllowN(now, 1)
	if beyond {
		l.shutOut(from, now)
	}
	if beyond || !l.knows(from) && !l.strangers.AllowN(now, 1) {
		l.refused++
		return nil, []net.Conn{raw}
	}
	for len(s.conns) >= l.limits.PerSource {
		ended = append(ended, l.endOldest(s))
	}
	for l.total >= l.limits.Total {
		ended = append(ended, l.endOldest(l.greediest()))
	}
	c = &conn{Conn: raw, of: l, from: from}
	s.conns = append(s.conns, c)
	l.total++
	return c, ended
}

// knows tells whether a source is known.
func (l *Listener) knows(from netip.Addr) bool {
	_, known := l.known[from]
	return known || l.Expects != nil && l.Expects(from)
}

// shutOut has the kernel drop what a source sends.
func (l *Listener) shutOut(from netip.Addr, now time.Time) {
	if l.steered == nil || len(l.shut) >= maxRefused {
		return
	}
	l.shut[from] = now.Add(shutTime)
	switch {
	case l.soon:
	case l.telling == nil:
		l.telling = time.AfterFunc(shutPause, l.tell)
	default:
		l.telling.Reset(shutPause)
	}
	l.soon = true
}

// tell tells the kernel who is shut out from now on.
func (l *Listener) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.soon = false
	maps.DeleteFunc(l.shut, func(_ netip.Addr, until time.Time) bool { return !until.After(now) })
	_ = l.steered.steer(slices.Collect(maps.Keys(l.shut))) // it was closed meanwhile
	if len(l.shut) > 0 {
		l.telling.Reset(slices.MinFunc(slices.Collect(maps.Values(l.shut)), time.Time.Compare).Sub(now))
	}
}

// Know tells whose a connection is that Accept returned: of its source further ones are not counted among those of strangers.
func Know(c net.Conn) {
	own, ok := c.(*conn)
	if !ok {
		return
	}
	l := own.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[own.from]; !known && len(l.known) >= maxKnown {
		oldest := own.from
		for a, since := range l.known {
			if t, ok := l.known[oldest]; !ok || since.Before(t) {
				oldest = a
			}
		}
		delete(l.known, oldest)
	}
	l.known[own.from] = time.Now()
}

// endOldest takes the oldest connection from a source.
func (l *Listener) endOldest(s *source) net.Conn {
	c := s.conns[0]
	s.conns = s.conns[1:]
	c.gone = true
	l.total--
	l.refused++
	return c.Conn
}

// greediest is the source that has most connections.
func (l *Listener) greediest() *source {
	var most *source
	for _, s := range l.sources {
		if most == nil || len(s.conns) > len(most.conns) {
			most = s
		}
	}
	return most
}

// forget makes room for sources, now and then for many at once: those that have no connection, and may open as many as a new one, and if these are few,
// others that have none.
func (l *Listener) forget(now time.Time) {
	if len(l.sources) < maxSources {
		return
	}
	const keep = maxSources * 3 / 4
	for _, rested := range []bool{true, false} {
		for from, s := range l.sources {
			if len(l.sources) <= keep {
				return
			}
			if len(s.conns) == 0 && (!rested || s.opened.TokensAt(now) >= float64(l.limits.Burst)) {
				delete(l.sources, from)
			}
		}
	}
}

// conn is a connection that its listener counts.
type conn struct {
	net.Conn
	of   *Listener
	from netip.Addr
	gone bool // not counted: ended, or admitted
}

// Close ends the connection, which its listener no longer counts.
func (c *conn) Close() error {
	c.of.release(c)
	return c.Conn.Close()
}

// Admit takes a connection that Accept returned out of the limits, as it is known now whose it is: strangers cannot end it any more. The caller
// bounds how many there are.
func Admit(c net.Conn) {
	Know(c)
	if own, ok := c.(*conn); ok {
		own.of.release(own)
	}
}

// release no longer counts a connection.
func (l *Listener) release(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.gone {
		return
	}
	c.gone = true
	l.total--
	s := l.sources[c.from]
	for i := range s.conns {
		if s.conns[i] == c {
			s.conns = append(s.conns[:i], s.conns[i+1:]...)
			break
		}
	}
}

// reset ends a connection at once: the kernel keeps nothing of it.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func sourceOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return Source(tcp.AddrPort().Addr())
}

// Source is whom connections of an address are counted under: an IPv4 address, or the first one of the /64 of an IPv6 one, as a host has all
// of that.
func Source(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is4() {
		return a
	}
	prefix, err := a.WithZone("").Prefix(64)
	if err != nil {
		return netip.Addr{}
	}
	return prefix.Addr()
}
