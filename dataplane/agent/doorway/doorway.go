// Package doorway is for servers that any pod of a cluster can reach: it bounds what each source may have of them, so that strangers cannot
// take them from those whom they are for.
package doorway

import (
	"net"
	"net/netip"
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
}

// maxSources is how many addresses are remembered. Those without connections are forgotten first.
const maxSources = 4096

// Listener is a net.Listener that refuses and ends connections beyond its limits. Where there is no room, the source that has most connections
// loses its oldest, so that a newcomer of another one finds room, however many connections strangers hold.
type Listener struct {
	net.Listener
	limits Limits

	mu      sync.Mutex
	sources map[netip.Addr]*source
	total   int
	refused uint64
}

type source struct {
	conns  []*conn // the oldest first
	opened *rate.Limiter
}

// Limit puts limits on a listener.
func Limit(l net.Listener, limits Limits) *Listener {
	return &Listener{Listener: l, limits: limits, sources: map[netip.Addr]*source{}}
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
	if !s.opened.AllowN(now, 1) {
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

// sourceOf is whom a connection is counted under: an IPv4 address, or the /64 of an IPv6 one, as a host has all of that.
func sourceOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	from := tcp.AddrPort().Addr().Unmap()
	if from.Is4() {
		return from
	}
	prefix, err := from.WithZone("").Prefix(64)
	if err != nil {
		return netip.Addr{}
	}
	return prefix.Addr()
}
