// Package examples has programs next to the bounds of the rules of connection limiters: the sample of package ruletest, changed.
package examples

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// limiter is what the sample has of a limiter of connections: its second table, whose hosts are a set of subscribers, and an operation of the
// first leg.
type limiter struct {
	table   *programpb.StateTable
	hosts   *programpb.SubscriberLimits
	connect *programpb.Connect
}

func limited(change func(p *programpb.Program, l limiter)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		l := limiter{
			table: &programpb.StateTable{Name: "guard", MaxSessions: 1000, ConnectionLimit: &programpb.ConnectionLimit{
				TcpMs: 7_440_000, TcpTransitoryMs: 240_000, TcpClosingMs: 10_000, UdpMs: 300_000, IcmpMs: 60_000, Subscribers: 1,
			}},
			hosts:   &programpb.SubscriberLimits{Name: "guard", PrefixLen: 24, MaxSessions: 100, Reason: uint32(len(p.Reasons))},
			connect: &programpb.Connect{Table: 1, Full: uint32(len(p.Reasons)) + 1},
		}
		p.Reasons = append(p.Reasons, "guard/limit", "guard/full")
		p.Tables, p.Subscribers = append(p.Tables, l.table), append(p.Subscribers, l.hosts)
		ruletest.FirstLeg(p).Ops = append(ruletest.FirstLeg(p).Ops, &programpb.Op{Op: &programpb.Op_Connect{Connect: l.connect}})
		change(p, l)
	}
}

func connections(change func(l limiter)) func(*programpb.Program) {
	return limited(func(_ *programpb.Program, l limiter) { change(l) })
}

// maxConnections is how many a table may have.
const maxConnections = 1 << 24

// Programs are with a table of connections, their second one; the first is right.
var Programs = []ruletest.Example{
	ruletest.Accepted("connections", connections(func(limiter) {})),
	ruletest.Accepted("connections-from-outside", connections(func(l limiter) { l.connect.FromOutside = true })),
	ruletest.Accepted("connections-fewest", connections(func(l limiter) {
		l.table.MaxSessions, l.hosts.MaxSessions, l.hosts.PrefixLen = 1, 1, 1
		c := l.table.ConnectionLimit
		c.TcpMs, c.TcpTransitoryMs, c.TcpClosingMs, c.UdpMs, c.IcmpMs = 1, 1, 1, 1, 1
	})),
	ruletest.Accepted("connections-most", connections(func(l limiter) {
		l.table.MaxSessions, l.hosts.MaxSessions, l.hosts.PrefixLen = maxConnections, maxConnections, 32
	})),
	ruletest.Accepted("connections-beside-a-run", limited(func(p *programpb.Program, _ limiter) {
		p.Subscribers = append(p.Subscribers, &programpb.SubscriberLimits{Name: "nat", PrefixLen: 32, MaxSessions: 100, MaxPorts: 10})
		p.Runs[0].Subscribers = 2
	})),
	ruletest.Refused("connections-0", connections(func(l limiter) { l.table.MaxSessions = 0 }), "tables[1] (guard): max_sessions is 0, want 1..16777216 connections"),
	ruletest.Refused("connections-16777217", connections(func(l limiter) { l.table.MaxSessions = maxConnections + 1 }), "tables[1] (guard): max_sessions is 16777217, want 1..16777216 connections"),
	ruletest.Refused("connections-tcp-0", connections(func(l limiter) { l.table.ConnectionLimit.TcpMs = 0 }), "tables[1] (guard): tcp_ms is 0, want at least 1"),
	ruletest.Refused("connections-transitory-0", connections(func(l limiter) { l.table.ConnectionLimit.TcpTransitoryMs = 0 }), "tables[1] (guard): tcp_transitory_ms is 0, want at least 1"),
	ruletest.Refused("connections-closing-0", connections(func(l limiter) { l.table.ConnectionLimit.TcpClosingMs = 0 }), "tables[1] (guard): tcp_closing_ms is 0, want at least 1"),
	ruletest.Refused("connections-udp-0", connections(func(l limiter) { l.table.ConnectionLimit.UdpMs = 0 }), "tables[1] (guard): udp_ms is 0, want at least 1"),
	ruletest.Refused("connections-icmp-0", connections(func(l limiter) { l.table.ConnectionLimit.IcmpMs = 0 }), "tables[1] (guard): icmp_ms is 0, want at least 1"),
	ruletest.Refused("connections-of-nobody", connections(func(l limiter) { l.table.ConnectionLimit.Subscribers = 0 }), "tables[1] (guard): subscribers is 0, want 1..1"),
	ruletest.Refused("connections-subscribers-2", connections(func(l limiter) { l.table.ConnectionLimit.Subscribers = 2 }), "tables[1] (guard): subscribers is 2, want 1..1"),
	ruletest.Refused("connections-ports", connections(func(l limiter) { l.hosts.MaxPorts = 1 }), "tables[1] (guard): subscribers is 1 (guard), whose max_ports is 1, want 0"),
	ruletest.Refused("connections-subscribers-twice", limited(func(p *programpb.Program, l limiter) {
		p.Tables = append(p.Tables, &programpb.StateTable{Name: "other", MaxSessions: 1, ConnectionLimit: l.table.ConnectionLimit})
	}), "tables[2] (other): subscribers is 1 (guard), which is that of tables[1] (guard), want a set of its own"),
	ruletest.Refused("connections-of-a-run", limited(func(p *programpb.Program, _ limiter) { p.Runs[0].Subscribers = 1 }), "runs[0] (nat): subscribers is 1 (guard), whose max_ports is 0, want at least 1"),
	ruletest.Refused("connections-run", limited(func(p *programpb.Program, _ limiter) { p.Runs[0].Table = 1 }), "runs[0] (nat): table is 1 (guard), which is of kind connections, want a NAPT's"),
	ruletest.Refused("connections-hosts-prefix-0", connections(func(l limiter) { l.hosts.PrefixLen = 0 }), "subscribers[0] (guard): prefix_len is 0, want 1..32"),
	ruletest.Refused("connections-hosts-prefix-33", connections(func(l limiter) { l.hosts.PrefixLen = 33 }), "subscribers[0] (guard): prefix_len is 33, want 1..32"),
	ruletest.Refused("connections-hosts-0", connections(func(l limiter) { l.hosts.MaxSessions = 0 }), "subscribers[0] (guard): max_sessions is 0, want at least 1"),
	ruletest.Refused("connections-hosts-reason", connections(func(l limiter) { l.hosts.Reason = 99 }), "subscribers[0] (guard): reason is 99, but there are only "),
	ruletest.Refused("connect-table-2", connections(func(l limiter) { l.connect.Table = 2 }), "connect.table is 2, but there are only 2"),
	ruletest.Refused("connect-of-napt", connections(func(l limiter) { l.connect.Table = 0 }), "connect.table is 0 (nat), which is of kind napt, want one of connections"),
	ruletest.Refused("connect-full", connections(func(l limiter) { l.connect.Full = 99 }), "connect.full is 99, but there are only "),
}
