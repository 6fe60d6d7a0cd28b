// Package oracle has the meaning of connection limiters: connections, and how many each host has of them.
package oracle

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.ConnLimit) pass.Element {
		return &limit{ConnLimit: e, of: map[flow.Flow]*connection{}, hosts: map[uint32]int{}}
	})
}

// limit is a limiter with its connections.
type limit struct {
	element.ConnLimit
	of    map[flow.Flow]*connection // live or not, by what of a packet from inside tells them
	hosts map[uint32]int            // how many of these each host has, by its prefix
	swept time.Duration             // when those that have been over for a moment were looked for last
}

// connection is one that is counted, as its packets from inside tell it.
type connection struct {
	flow.Flow
	table *limit
	from  pass.Origin // of its source, if that was loose when it began
	moves bool        // it is out of its table until it is put back
	last  time.Duration
	tcp   flow.TCP
}

// Resume implements pass.Keeping: connections stay, with the timeouts of now, and count for the hosts of now, however many these may have.
func (l *limit) Resume(before pass.Element) pass.Element {
	if old, ok := before.(*limit); ok {
		for _, e := range old.of {
			e.table = l
			l.put(e)
		}
	}
	return l
}

func (l *limit) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, in int) (int, bool) {
	f, ok := told(p.IP, in)
	if !ok {
		return l.Leaves(in), false
	}
	e := l.find(f, r.Now)
	if e == nil && in == element.ConnLimitInside && begins(p.IP) {
		if reason := l.refuses(r, f); reason != "" {
			r.Discard(n, p, reason)
			return pass.Ended, false
		}
		e = l.begin(r, f, p.By)
		own, _ := l.count(l.host(f.Src), r.Now)
		r.Note("a connection begins, the host has %d of %d", own, l.PerHost.MaxSessions)
	}
	if e != nil {
		e.use(r, p.IP, in)
	}
	return l.Leaves(in), false
}

// told is the connection that a packet from a side tells, as its packets from inside do; false: it tells none. Queries of ICMP come from
// inside, replies from outside.
func told(ip []byte, side int) (f flow.Flow, ok bool) {
	f, ok = flow.Told(ip)
	if ok && ip[9] == header.ICMP {
		ok = flow.IsQuery(ip) == (side == element.ConnLimitInside)
	}
	return f.FromInside(side == element.ConnLimitOutside), ok
}

// begins tells whether a packet from inside that tells a connection may begin it.
func begins(ip []byte) bool {
	const flags = header.SYN | header.ACK | header.RST | header.FIN
	return ip[9] != header.TCP || header.Transport(ip)[13]&flags == header.SYN
}

// find is the live connection that is told.
func (l *limit) find(f flow.Flow, now time.Duration) *connection {
	if e := l.of[f]; e != nil && l.live(e, now) {
		return e
	}
	return nil
}

func (l *limit) live(e *connection, now time.Duration) bool {
	return now-e.last <= flow.Timeout(l.Timeouts, e.Proto, &e.tcp)
}

// host is what the addresses of a host share.
func (l *limit) host(addr uint32) uint32 { return addr >> (32 - l.PerHost.PrefixLen) }

// aMoment is for how long an engine that has just looked for what is over counts what has been over since (docs/elements.md).
const aMoment = 10 * time.Millisecond

// refuses is why a connection may not begin; empty: it may. Where a host or the table has enough with those that have just been over, an engine's
// run may tell.
func (l *limit) refuses(r *pass.Run, f flow.Flow) (reason string) {
	host := l.host(f.Src)
	if l.hosts[host] < l.PerHost.MaxSessions && len(l.of) < l.Max {
		return ""
	}
	l.forget(r.Now)
	own, all := l.count(host, r.Now)
	told := func(reason string) bool { return slices.Contains(r.Refusals, pass.Drop{Reason: reason}) }
	switch {
	case own >= l.PerHost.MaxSessions, l.hosts[host] >= l.PerHost.MaxSessions && told(l.PerHost.Reason):
		return l.PerHost.Reason
	case all >= l.Max, len(l.of) >= l.Max && told(l.Full):
		return l.Full
	}
	return ""
}

// Refuses implements pass.Refusing.
func (l *limit) Refuses() []string { return []string{l.PerHost.Reason, l.Full} }

// count is how many live connections a host has, and all have.
func (l *limit) count(host uint32, now time.Duration) (own, all int) {
	for _, e := range l.of {
		if l.live(e, now) {
			all++
			if l.host(e.Src) == host {
				own++
			}
		}
	}
	return own, all
}

// forget removes the connections that have been over for longer than a moment.
func (l *limit) forget(now time.Duration) {
	if now <= l.swept {
		return
	}
	l.swept = now
	for _, e := range l.of {
		if !l.live(e, now-aMoment) {
			l.remove(e)
		}
	}
}

// begin makes a connection, in the place of one that is over.
func (l *limit) begin(r *pass.Run, f flow.Flow, by pass.Origins) *connection {
	e := &connection{Flow: f, table: l, last: r.Now}
	l.put(e)
	r.Undoable(func() { l.remove(e) })
	e.from = r.Depend(by, e)
	return e
}

// use has a packet from a side refresh its connection.
func (e *connection) use(r *pass.Run, ip []byte, side int) {
	last, tcp := e.last, e.tcp
	r.Undoable(func() { e.last, e.tcp = last, tcp })
	if e.Proto != header.TCP || e.tcp.Use(header.Transport(ip), side) {
		e.last = r.Now
	}
}

// put has a connection be one of the table's. Of two with one place, one is over: that which was not used for longer.
func (l *limit) put(e *connection) {
	if old := l.of[e.Flow]; old != nil {
		if old.last > e.last {
			return
		}
		l.remove(old)
	}
	l.of[e.Flow] = e
	l.hosts[l.host(e.Src)]++
}

func (l *limit) remove(e *connection) {
	delete(l.of, e.Flow)
	host := l.host(e.Src)
	if l.hosts[host]--; l.hosts[host] == 0 {
		delete(l.hosts, host)
	}
}

// Origin implements pass.Dependent.
func (e *connection) Origin() pass.Origin { return e.from }

// Take implements pass.Dependent. What the table has forgotten is not put into it again.
func (e *connection) Take() {
	if e.moves = e.table.of[e.Flow] == e; e.moves {
		e.table.remove(e)
	}
}

// Put implements pass.Dependent. The connection counts for the host that has the address.
func (e *connection) Put(at flow.Endpoint) {
	e.Src, e.Sport = at.Addr, at.Port
	if e.moves {
		e.table.put(e)
	}
}

// Connection is a live one that a limiter counts.
type Connection struct {
	Table          string
	Proto          uint8
	Inside, Remote netip.AddrPort // ports as in pass.Binding
	Idle           time.Duration
	State          string // of TCP: opening, established or closing; else open
	Loose          bool   // nobody has seen Inside, which a NAPT chose
}

func (c Connection) String() string {
	return fmt.Sprintf("%s: proto %d %v → %v %s, idle for %v", c.Table, c.Proto, c.Inside, c.Remote, c.State, c.Idle)
}

// ConnectionsOf are the live connections that a chain's limiters count, in no order.
func ConnectionsOf(c *pass.Chain, now time.Duration) (out []Connection) {
	for _, l := range pass.All[*limit](c) {
		for _, e := range l.of {
			if l.live(e, now) {
				out = append(out, Connection{
					Table: l.Table, Proto: e.Proto, Idle: now - e.last, State: flow.State(e.Proto, &e.tcp), Loose: e.from != nil && e.from.Loose(),
					Inside: netip.AddrPortFrom(header.Addr(e.Src), e.Sport), Remote: netip.AddrPortFrom(header.Addr(e.Dst), e.Dport),
				})
			}
		}
	}
	return out
}
