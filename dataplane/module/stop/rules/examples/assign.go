package examples

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// replicas is what a program has of replicas of a function.
type replicas struct {
	tables   []*programpb.StateTable // a replica's each
	assign   *programpb.Assign
	assigned *programpb.Assigned // by the first table
}

// shares is the sample with a table and two wires for each of n replicas: tables 1 to n, interfaces from 2 on. The first leg goes to a replica, and by that
// of the last segment the flow is the first one's.
func shares(n int, change func(r replicas)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		r := replicas{assign: &programpb.Assign{}, assigned: &programpb.Assigned{Table: 1}}
		for i := range n {
			name, wire := fmt.Sprint("ips", i), uint32(len(p.Interfaces))
			for _, side := range []string{"inside", "outside"} {
				p.Interfaces = append(p.Interfaces, &programpb.Interface{
					Name: name + "/" + side, Address: 0xc0000201, PrefixLen: 32, Mtu: 1500, Segment: 2, Wire: true,
				})
			}
			r.tables = append(r.tables, &programpb.StateTable{Name: name, MaxSessions: 1000, Assignment: &programpb.Assignment{
				TcpMs: 7_440_000, TcpTransitoryMs: 240_000, TcpClosingMs: 1_000, UdpMs: 300_000, IcmpMs: 60_000,
			}})
			r.assign.Replicas = append(r.assign.Replicas, &programpb.Replica{
				Table: uint32(len(p.Tables) + i), Segment: uint32(1 + i%2), Key: uint64(i+1) << 60, Inside: wire, Outside: wire + 1,
			})
		}
		p.Tables = append(p.Tables, r.tables...)
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Assign{Assign: r.assign}
		if n > 0 {
			last := p.Segments[2].Classes[0].Legs[0]
			last.Ops = append(last.Ops, &programpb.Op{Op: &programpb.Op_Assigned{Assigned: r.assigned}})
		}
		change(r)
	}
}

// second is it with two replicas and a change of the second one.
func second(change func(r *programpb.Replica)) func(*programpb.Program) {
	return shares(2, func(r replicas) { change(r.assign.Replicas[1]) })
}

// ended is it with two replicas and a change of the first one's table.
func ended(change func(t *programpb.StateTable)) func(*programpb.Program) {
	return shares(2, func(r replicas) { change(r.tables[0]) })
}

// same changes nothing.
func same(replicas) {}

// Assigns are with replicas of a function; the first is right.
var Assigns = []ruletest.Example{
	ruletest.Accepted("assign", shares(2, same)),
	ruletest.Accepted("assign-draining", second(func(r *programpb.Replica) { r.Draining = true })),
	ruletest.Accepted("assign-all-draining", shares(2, func(r replicas) { r.assign.Replicas[0].Draining, r.assign.Replicas[1].Draining = true, true })),
	ruletest.Accepted("assign-from-outside", shares(2, func(r replicas) { r.assign.FromOutside, r.assigned.FromOutside = true, true })),
	ruletest.Accepted("assign-1", shares(1, same)),
	ruletest.Accepted("assign-8", shares(8, same)),
	ruletest.Accepted("assign-fewest", ended(func(t *programpb.StateTable) {
		t.MaxSessions = 1
		t.Assignment = &programpb.Assignment{TcpMs: 1, TcpTransitoryMs: 1, TcpClosingMs: 1, UdpMs: 1, IcmpMs: 1}
	})),
	ruletest.Accepted("assign-most", ended(func(t *programpb.StateTable) { t.MaxSessions = most })),
	ruletest.Refused("assign-0", shares(0, same), "assign has 0 replicas, want 1..8"),
	ruletest.Refused("assign-9", shares(9, same), "assign has 9 replicas, want 1..8"),
	ruletest.Refused("assign-table-of-another", second(func(r *programpb.Replica) { r.Table = 1 }), "table is 1, which another one has, want a table of its own"),
	ruletest.Refused("assign-key", second(func(r *programpb.Replica) { r.Key = 1 << 60 }),
		"key is 0x1000000000000000, which another one has, want a key of its own"),
	ruletest.Refused("assign-key-of-the-first", shares(8, func(r replicas) { r.assign.Replicas[7].Key, r.assign.Replicas[0].Key = 1<<63+1, 1<<63+1 }),
		"key is 0x8000000000000001, which another one has, want a key of its own"),
	ruletest.Refused("assign-table", second(func(r *programpb.Replica) { r.Table = 3 }), "assign.replicas", "table is 3, but there are only 3"),
	ruletest.Refused("assign-table-of-napt", second(func(r *programpb.Replica) { r.Table = 0 }),
		"assign.replicas", "table is 0 (nat), which is of kind napt, want one of assignment"),
	ruletest.Refused("assign-segment", second(func(r *programpb.Replica) { r.Segment = 3 }), "assign.replicas", "segment is 3, but there are only 3"),
	ruletest.Refused("assign-inside", second(func(r *programpb.Replica) { r.Inside = 6 }), "assign.replicas", "inside is 6, but there are only 6"),
	ruletest.Refused("assign-outside", second(func(r *programpb.Replica) { r.Outside = 6 }), "assign.replicas", "outside is 6, but there are only 6"),
	ruletest.Refused("assign-inside-no-wire", second(func(r *programpb.Replica) { r.Inside = 0 }), "assign.replicas", "inside is 0 (in), want a wire"),
	ruletest.Refused("assign-outside-no-wire", second(func(r *programpb.Replica) { r.Outside = 1 }), "assign.replicas", "outside is 1 (out), want a wire"),
	ruletest.Refused("assign-tcp-0", ended(func(t *programpb.StateTable) { t.Assignment.TcpMs = 0 }), "tables[1] (ips0): tcp_ms is 0, want at least 1"),
	ruletest.Refused("assign-transitory-0", ended(func(t *programpb.StateTable) { t.Assignment.TcpTransitoryMs = 0 }),
		"tables[1] (ips0): tcp_transitory_ms is 0, want at least 1"),
	ruletest.Refused("assign-closing-0", ended(func(t *programpb.StateTable) { t.Assignment.TcpClosingMs = 0 }),
		"tables[1] (ips0): tcp_closing_ms is 0, want at least 1"),
	ruletest.Refused("assign-udp-0", ended(func(t *programpb.StateTable) { t.Assignment.UdpMs = 0 }), "tables[1] (ips0): udp_ms is 0, want at least 1"),
	ruletest.Refused("assign-icmp-0", ended(func(t *programpb.StateTable) { t.Assignment.IcmpMs = 0 }), "tables[1] (ips0): icmp_ms is 0, want at least 1"),
	ruletest.Refused("assign-flows-0", ended(func(t *programpb.StateTable) { t.MaxSessions = 0 }), "tables[1] (ips0): max_sessions is 0, want 1..16777216 flows"),
	ruletest.Refused("assign-flows-16777217", ended(func(t *programpb.StateTable) { t.MaxSessions = most + 1 }),
		"tables[1] (ips0): max_sessions is 16777217, want 1..16777216 flows"),
	ruletest.Refused("assigned-table", shares(2, func(r replicas) { r.assigned.Table = 3 }), "assigned.table is 3, but there are only 3"),
	ruletest.Refused("assigned-table-of-napt", shares(2, func(r replicas) { r.assigned.Table = 0 }),
		"assigned.table is 0 (nat), which is of kind napt, want one of assignment"),
}
