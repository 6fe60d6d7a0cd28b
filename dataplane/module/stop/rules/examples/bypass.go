package examples

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// flows is what a program has of flows that go past a function.
type flows struct {
	table  *programpb.StateTable
	bypass *programpb.Bypass
	passed *programpb.Passed
}

// past is the sample with a table of flows, its second one: the first leg goes past a function or through it, and that of the last segment counts what came back.
func past(change func(f flows)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		f := flows{
			table: &programpb.StateTable{Name: "ips", MaxSessions: 1000, Passing: &programpb.Passing{
				TcpMs: 7_440_000, TcpTransitoryMs: 240_000, TcpClosingMs: 1_000, UdpMs: 300_000, IcmpMs: 60_000, Packets: 20,
			}},
			bypass: &programpb.Bypass{Table: 1, Through: 1, Past: 2},
			passed: &programpb.Passed{Table: 1},
		}
		p.Tables = append(p.Tables, f.table)
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Bypass{Bypass: f.bypass}
		last := p.Segments[2].Classes[0].Legs[0]
		last.Ops = append(last.Ops, &programpb.Op{Op: &programpb.Op_Passed{Passed: f.passed}})
		change(f)
	}
}

// most is how many flows a table may have.
const most = 1 << 24

// Bypasses are with a table of flows that may go past a function; the first is right.
var Bypasses = []ruletest.Example{
	ruletest.Accepted("bypass", past(func(flows) {})),
	ruletest.Accepted("bypass-from-outside", past(func(f flows) { f.bypass.FromOutside, f.passed.FromOutside = true, true })),
	ruletest.Accepted("bypass-fewest", past(func(f flows) {
		f.table.MaxSessions = 1
		f.table.Passing = &programpb.Passing{TcpMs: 1, TcpTransitoryMs: 1, TcpClosingMs: 1, UdpMs: 1, IcmpMs: 1, Packets: 1}
	})),
	ruletest.Accepted("bypass-most", past(func(f flows) { f.table.MaxSessions, f.table.Passing.Packets = most, 65535 })),
	ruletest.Refused("bypass-tcp-0", past(func(f flows) { f.table.Passing.TcpMs = 0 }), "tables[1] (ips): tcp_ms is 0, want at least 1"),
	ruletest.Refused("bypass-transitory-0", past(func(f flows) { f.table.Passing.TcpTransitoryMs = 0 }), "tables[1] (ips): tcp_transitory_ms is 0, want at least 1"),
	ruletest.Refused("bypass-closing-0", past(func(f flows) { f.table.Passing.TcpClosingMs = 0 }), "tables[1] (ips): tcp_closing_ms is 0, want at least 1"),
	ruletest.Refused("bypass-udp-0", past(func(f flows) { f.table.Passing.UdpMs = 0 }), "tables[1] (ips): udp_ms is 0, want at least 1"),
	ruletest.Refused("bypass-icmp-0", past(func(f flows) { f.table.Passing.IcmpMs = 0 }), "tables[1] (ips): icmp_ms is 0, want at least 1"),
	ruletest.Refused("bypass-flows-0", past(func(f flows) { f.table.MaxSessions = 0 }), "tables[1] (ips): max_sessions is 0, want 1..16777216 flows"),
	ruletest.Refused("bypass-flows-16777217", past(func(f flows) { f.table.MaxSessions = most + 1 }), "tables[1] (ips): max_sessions is 16777217, want 1..16777216 flows"),
	ruletest.Refused("bypass-packets-0", past(func(f flows) { f.table.Passing.Packets = 0 }), "tables[1] (ips): packets is 0, want 1..65535"),
	ruletest.Refused("bypass-packets-65536", past(func(f flows) { f.table.Passing.Packets = 65536 }), "tables[1] (ips): packets is 65536, want 1..65535"),
	ruletest.Refused("bypass-table", past(func(f flows) { f.bypass.Table = 2 }), "bypass.table is 2, but there are only 2"),
	ruletest.Refused("bypass-table-of-napt", past(func(f flows) { f.bypass.Table = 0 }), "bypass.table is 0 (nat), which is of kind napt, want one of passing"),
	ruletest.Refused("bypass-through", past(func(f flows) { f.bypass.Through = 3 }), "bypass.through is 3, but there are only 3"),
	ruletest.Refused("bypass-past", past(func(f flows) { f.bypass.Past = 3 }), "bypass.past is 3, but there are only 3"),
	ruletest.Refused("passed-table", past(func(f flows) { f.passed.Table = 2 }), "passed.table is 2, but there are only 2"),
	ruletest.Refused("passed-table-of-napt", past(func(f flows) { f.passed.Table = 0 }), "passed.table is 0 (nat), which is of kind napt, want one of passing"),
}
