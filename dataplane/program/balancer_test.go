package program

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
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
		l := firstLeg(p)
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
		l := firstLeg(p)
		l.Ops = l.Ops[:len(l.Ops)-1]
	}
}

// balancerExamples are of load balancers.
var balancerExamples = []example{
	{"balancer", balanced(func(*programpb.StateTable) {}), nil},
	{"balancer-by-client", balancerOf(func(b *programpb.Balancer) { b.ByClient = true }), nil},
	{"balancer-direct", directOf(false), nil},
	{"balancer-stateless", directOf(true), nil},
	{"balancer-direct-back", balancerOf(func(b *programpb.Balancer) { b.Direct = true }), []string{"balance_back is 1 (lb/balancer), to which no backend sends: it is direct"}},
	{"balancer-stateless-nat", balancerOf(func(b *programpb.Balancer) { b.Stateless = true }), []string{"stateless without direct"}},
	{"balancer-down", balancerOf(func(b *programpb.Balancer) { b.Backends[1].Down = true }), nil},
	{"balancer-without-backends", balancerOf(func(b *programpb.Balancer) { b.Backends = nil }), nil},
	{"balancer-largest", balanced(func(t *programpb.StateTable) {
		t.MaxSessions, t.Balancer.TcpMs = maxBalancerSessions, maxIdleMs
		t.Balancer.Backends = many(maxBackends, func(i int) *programpb.Backend {
			return &programpb.Backend{Address: uint32(0x0a000000 + i), Port: 65535, Weight: uint32(i % 257)}
		})
	}), nil},
	{"balancer-513-backends", balancerOf(func(b *programpb.Balancer) {
		b.Backends = many(maxBackends+1, func(i int) *programpb.Backend { return &programpb.Backend{Address: uint32(i)} })
	}), []string{"tables[1] (lb/balancer): backends: there are 513, want at most 512"}},
	{"balancer-sessions-0", balanced(func(t *programpb.StateTable) { t.MaxSessions = 0 }), []string{"tables[1] (lb/balancer): max_sessions is 0, want 1..8000000"}},
	{"balancer-sessions-8000001", balanced(func(t *programpb.StateTable) { t.MaxSessions = maxBalancerSessions + 1 }), []string{"max_sessions is 8000001, want 1..8000000"}},
	{"balancer-tcp-0", balancerOf(func(b *programpb.Balancer) { b.TcpMs = 0 }), []string{"tables[1] (lb/balancer): tcp_ms is 0, want 1..604800000"}},
	{"balancer-transitory-0", balancerOf(func(b *programpb.Balancer) { b.TcpTransitoryMs = 0 }), []string{"tcp_transitory_ms is 0, want 1..604800000"}},
	{"balancer-udp-week", balancerOf(func(b *programpb.Balancer) { b.UdpMs = maxIdleMs + 1 }), []string{"udp_ms is 604800001, want 1..604800000"}},
	{"balancer-no-backend-1", balancerOf(func(b *programpb.Balancer) { b.NoBackend = 1 }), []string{"tables[1] (lb/balancer): no_backend is 1, but there are only 1"}},
	{"balancer-full-1", balancerOf(func(b *programpb.Balancer) { b.Full = 1 }), []string{"full is 1, but there are only 1"}},
	{"balancer-no-session-1", balancerOf(func(b *programpb.Balancer) { b.NoSession = 1 }), []string{"no_session is 1, but there are only 1"}},
	{"balancer-port-65536", balancerOf(func(b *programpb.Balancer) { b.Backends[2].Port = 65536 }), []string{"tables[1] (lb/balancer): backends[2].port is 65536, want at most 65535"}},
	{"balancer-weight-257", balancerOf(func(b *programpb.Balancer) { b.Backends[1].Weight = 257 }), []string{"backends[1].weight is 257, want at most 256"}},
	{"balancer-backend-twice", balancerOf(func(b *programpb.Balancer) { b.Backends[1].Port = 0 }), []string{"backends[1] is 0xa00000b port 0, want one above the one before"}},
	{"balancer-op", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Balance{Balance: 1}}}
	}, []string{"balance is 1, but there are only 1"}},
	{"balancer-op-of-napt", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Balance{}}}
	}, []string{"balance is 0 (nat), which is of kind napt, want a balancer's"}},
	{"balancer-back-of-napt", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_BalanceBack{}}}
	}, []string{"balance_back is 0 (nat), which is of kind napt, want a balancer's"}},
	{"balancer-run", func(p *programpb.Program) {
		balanced(func(*programpb.StateTable) {})(p)
		p.Runs[0].Table = 1
	}, []string{"runs[0] (nat): table is 1 (lb/balancer), which is of kind balancer, want a NAPT's"}},
}

func TestTheCheckOfBackendsIsChecked(t *testing.T) {
	right := programpb.HealthCheck{Port: 80, IntervalMs: 2000, TimeoutMs: 1000, Unhealthy: 3, Healthy: 2}
	for want, change := range map[string]func(h *programpb.HealthCheck){
		"": func(*programpb.HealthCheck) {},
		"tables[1] (lb/balancer): backends[0] has no port, nor has the check of it":          func(h *programpb.HealthCheck) { h.Port = 0 },
		"tables[1] (lb/balancer): check.port is 65536, want at most 65535":                   func(h *programpb.HealthCheck) { h.Port = 65536 },
		"tables[1] (lb/balancer): check.unhealthy is 0 and check.healthy 2, want at least 1": func(h *programpb.HealthCheck) { h.Unhealthy = 0 },
		"tables[1] (lb/balancer): check.interval_ms is 0, want 1..604800000":                 func(h *programpb.HealthCheck) { h.IntervalMs = 0 },
		"tables[1] (lb/balancer): check.timeout_ms is 604800001, want 1..604800000":          func(h *programpb.HealthCheck) { h.TimeoutMs = maxIdleMs + 1 },
	} {
		p := sample()
		balancerOf(func(b *programpb.Balancer) {
			h := proto.Clone(&right).(*programpb.HealthCheck)
			change(h)
			b.Check = h
		})(p)
		err := Validate(p)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
