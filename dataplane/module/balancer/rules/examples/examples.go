// Package examples has programs next to the bounds of the rules of load balancers: the sample of package ruletest, changed.
package examples

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// balanced is the sample with a load balancer, which the first leg's packets go to, changed.
func balanced(change func(t *programpb.StateTable)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		t := &programpb.StateTable{Name: "lb/balancer", MaxSessions: 1000, Balancer: &programpb.Balancer{
			TcpMs: 900_000, TcpTransitoryMs: 240_000, UdpMs: 300_000,
			Backends: []*programpb.Backend{{Address: 0x0a00000b, Weight: 1}, {Address: 0x0a00000b, Port: 8080, Weight: 256}, {Address: 0x0a00000c}},
		}}
		change(t)
		p.Tables = append(p.Tables, t)
		l := ruletest.FirstLeg(p)
		l.Ops = append(l.Ops, &programpb.Op{Op: &programpb.Op_Balance{Balance: 1}}, &programpb.Op{Op: &programpb.Op_BalanceBack{BalanceBack: 1}})
	}
}

func balancerOf(change func(b *programpb.Balancer)) func(*programpb.Program) {
	return balanced(func(t *programpb.StateTable) { change(t.Balancer) })
}

// directOf is the sample with a direct load balancer, to which no backend sends.
func directOf(stateless bool) func(*programpb.Program) {
	return func(p *programpb.Program) {
		balancerOf(func(b *programpb.Balancer) { b.Direct, b.Stateless = true, stateless })(p)
		l := ruletest.FirstLeg(p)
		l.Ops = l.Ops[:len(l.Ops)-1]
	}
}

// Limits of balancers.
const (
	maxBackends = 512
	maxSessions = 8_000_000
	maxIdleMs   = 7 * 24 * 3_600_000
)

// Programs are with a balancer, their second table; the first is right.
var Programs = []ruletest.Example{
	ruletest.Accepted("balancer", balanced(func(*programpb.StateTable) {})),
	ruletest.Accepted("balancer-by-client", balancerOf(func(b *programpb.Balancer) { b.ByClient = true })),
	ruletest.Accepted("balancer-direct", directOf(false)),
	ruletest.Accepted("balancer-stateless", directOf(true)),
	ruletest.Refused("balancer-direct-back", balancerOf(func(b *programpb.Balancer) { b.Direct = true }), "balance_back is 1 (lb/balancer), to which no backend sends: it is direct"),
	ruletest.Refused("balancer-stateless-nat", balancerOf(func(b *programpb.Balancer) { b.Stateless = true }), "stateless without direct"),
	ruletest.Accepted("balancer-down", balancerOf(func(b *programpb.Balancer) { b.Backends[1].Down = true })),
	ruletest.Accepted("balancer-without-backends", balancerOf(func(b *programpb.Balancer) { b.Backends = nil })),
	ruletest.Accepted("balancer-largest", balanced(func(t *programpb.StateTable) {
		t.MaxSessions, t.Balancer.TcpMs = maxSessions, maxIdleMs
		t.Balancer.Backends = ruletest.Many(maxBackends, func(i int) *programpb.Backend {
			return &programpb.Backend{Address: uint32(0x0a000000 + i), Port: 65535, Weight: uint32(i % 257)}
		})
	})),
	ruletest.Refused("balancer-513-backends", balancerOf(func(b *programpb.Balancer) {
		b.Backends = ruletest.Many(maxBackends+1, func(i int) *programpb.Backend { return &programpb.Backend{Address: uint32(i)} })
	}), "tables[1] (lb/balancer): backends: there are 513, want at most 512"),
	ruletest.Refused("balancer-sessions-0", balanced(func(t *programpb.StateTable) { t.MaxSessions = 0 }), "tables[1] (lb/balancer): max_sessions is 0, want 1..8000000"),
	ruletest.Refused("balancer-sessions-8000001", balanced(func(t *programpb.StateTable) { t.MaxSessions = maxSessions + 1 }), "max_sessions is 8000001, want 1..8000000"),
	ruletest.Refused("balancer-tcp-0", balancerOf(func(b *programpb.Balancer) { b.TcpMs = 0 }), "tables[1] (lb/balancer): tcp_ms is 0, want 1..604800000"),
	ruletest.Refused("balancer-transitory-0", balancerOf(func(b *programpb.Balancer) { b.TcpTransitoryMs = 0 }), "tcp_transitory_ms is 0, want 1..604800000"),
	ruletest.Refused("balancer-udp-week", balancerOf(func(b *programpb.Balancer) { b.UdpMs = maxIdleMs + 1 }), "udp_ms is 604800001, want 1..604800000"),
	ruletest.Refused("balancer-no-backend-1", balancerOf(func(b *programpb.Balancer) { b.NoBackend = 1 }), "tables[1] (lb/balancer): no_backend is 1, but there are only 1"),
	ruletest.Refused("balancer-full-1", balancerOf(func(b *programpb.Balancer) { b.Full = 1 }), "full is 1, but there are only 1"),
	ruletest.Refused("balancer-no-session-1", balancerOf(func(b *programpb.Balancer) { b.NoSession = 1 }), "no_session is 1, but there are only 1"),
	ruletest.Refused("balancer-port-65536", balancerOf(func(b *programpb.Balancer) { b.Backends[2].Port = 65536 }), "tables[1] (lb/balancer): backends[2].port is 65536, want at most 65535"),
	ruletest.Refused("balancer-weight-257", balancerOf(func(b *programpb.Balancer) { b.Backends[1].Weight = 257 }), "backends[1].weight is 257, want at most 256"),
	ruletest.Refused("balancer-backend-twice", balancerOf(func(b *programpb.Balancer) { b.Backends[1].Port = 0 }), "backends[1] is 0xa00000b port 0, want one above the one before"),
	ruletest.Refused("balancer-op", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Balance{Balance: 1}}}
	}, "balance is 1, but there are only 1"),
	ruletest.Refused("balancer-op-of-napt", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Balance{}}}
	}, "balance is 0 (nat), which is of kind napt, want a balancer's"),
	ruletest.Refused("balancer-back-of-napt", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_BalanceBack{}}}
	}, "balance_back is 0 (nat), which is of kind napt, want a balancer's"),
	ruletest.Refused("balancer-run", func(p *programpb.Program) {
		balanced(func(*programpb.StateTable) {})(p)
		p.Runs[0].Table = 1
	}, "runs[0] (nat): table is 1 (lb/balancer), which is of kind balancer, want a NAPT's"),
}
