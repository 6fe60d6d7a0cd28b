// Package rules has the rules of load balancers in packet programs: operations that choose a backend and that translate its
// packets back, and tables of sessions.
package rules

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Limits of balancers; the engine has the same (../engine/sn_balancer.c).
const (
	maxBackends         = 512
	maxWeight           = 256
	maxBalancerSessions = 8_000_000
	maxIdleMs           = 7 * 24 * 3_600_000
)

// balancers are the tables of sessions with backends.
var balancers = &rule.StateKind{
	Name:   "balancer",
	Wanted: "a balancer's",
	Claims: func(t *programpb.StateTable) bool { return t.GetBalancer() != nil },
	Check:  balancer,
	Text:   balancerText,
	Holds:  "flows, both ways",
	Memory: memory,
}

// memory: no shard has more than an eighth of all flows, and some.
func memory(t *programpb.StateTable) rule.Memory {
	n := int64(t.GetMaxSessions())
	entries := min(n/8+1024, n)
	return rule.Memory{Most: n, Shards: rule.Shards, Entries: entries + 1, Buckets: entries/8 + 1}
}

func init() {
	rule.RegisterState(balancers)
	rule.RegisterOperation[*programpb.Op_Balance](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return balancers.Index(p, at, "balance", o.GetBalance())
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "balance " + p.GetTables()[o.GetBalance()].GetName()
		},
		Unless: func(p *programpb.Program, o *programpb.Op) []string {
			b := p.GetTables()[o.GetBalance()].GetBalancer()
			return []string{p.GetReasons()[b.GetNoBackend()], p.GetReasons()[b.GetFull()], p.GetReasons()[b.GetNoSession()]}
		},
		Leaves: func(p *programpb.Program, x *rule.Exit, o *programpb.Op) {
			if p.GetTables()[o.GetBalance()].GetBalancer().GetDirect() {
				x.Hop, x.Via = false, false // some leave as they came
				return
			}
			x.Redirect()
		},
		Hops: func(p *programpb.Program, o *programpb.Op) (hops []uint32) {
			if int(o.GetBalance()) >= len(p.GetTables()) {
				return nil
			}
			b := p.GetTables()[o.GetBalance()].GetBalancer()
			for _, to := range b.GetBackends() {
				if b.GetDirect() {
					hops = append(hops, to.GetAddress())
				}
			}
			return hops
		},
	})
	rule.RegisterOperation[*programpb.Op_BalanceBack](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			if err := balancers.Index(p, at, "balance_back", o.GetBalanceBack()); err != nil {
				return err
			}
			if t := p.GetTables()[o.GetBalanceBack()]; t.GetBalancer().GetDirect() {
				return fmt.Errorf("%s: balance_back is %d (%s), to which no backend sends: it is direct", at, o.GetBalanceBack(), t.GetName())
			}
			return nil
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "balance back " + p.GetTables()[o.GetBalanceBack()].GetName()
		},
	})
}

func balancer(p *programpb.Program, at string, t *programpb.StateTable) error {
	b := t.GetBalancer()
	if n := t.GetMaxSessions(); n < 1 || n > maxBalancerSessions {
		return fmt.Errorf("%s: max_sessions is %d, want 1..%d", at, n, maxBalancerSessions)
	}
	if b.GetStateless() && !b.GetDirect() {
		return fmt.Errorf("%s: stateless without direct", at)
	}
	if ms := b.GetSlowStartMs(); ms > maxIdleMs {
		return fmt.Errorf("%s: slow_start_ms is %d, want at most %d", at, ms, maxIdleMs)
	}
	if err := healthCheck(at, b); err != nil {
		return err
	}
	return rule.First(
		idle(at, "tcp_ms", b.GetTcpMs()),
		idle(at, "tcp_transitory_ms", b.GetTcpTransitoryMs()),
		idle(at, "udp_ms", b.GetUdpMs()),
		rule.Index(at, "no_backend", b.GetNoBackend(), len(p.GetReasons())),
		rule.Index(at, "full", b.GetFull(), len(p.GetReasons())),
		rule.Index(at, "no_session", b.GetNoSession(), len(p.GetReasons())),
		rule.Count(at+": backends", len(b.GetBackends()), maxBackends),
		rule.Each(b.GetBackends(), func(i int, k *programpb.Backend) error { return backend(at, b, i, k) }),
	)
}

// healthCheck checks how backends are checked, which the engine does not read.
func healthCheck(at string, b *programpb.Balancer) error {
	h := b.GetCheck()
	if h == nil {
		return nil
	}
	for i, k := range b.GetBackends() {
		if h.GetPort() == 0 && k.GetPort() == 0 {
			return fmt.Errorf("%s: backends[%d] has no port, nor has the check of it", at, i)
		}
	}
	switch {
	case h.GetPort() > 65535:
		return fmt.Errorf("%s: check.port is %d, want at most 65535", at, h.GetPort())
	case h.GetUnhealthy() < 1 || h.GetHealthy() < 1:
		return fmt.Errorf("%s: check.unhealthy is %d and check.healthy %d, want at least 1", at, h.GetUnhealthy(), h.GetHealthy())
	}
	return rule.First(idle(at, "check.interval_ms", h.GetIntervalMs()), idle(at, "check.timeout_ms", h.GetTimeoutMs()))
}

func idle(at, field string, ms uint32) error {
	if ms < 1 || ms > maxIdleMs {
		return fmt.Errorf("%s: %s is %d, want 1..%d", at, field, ms, maxIdleMs)
	}
	return nil
}

func backend(at string, b *programpb.Balancer, i int, k *programpb.Backend) error {
	key := func(k *programpb.Backend) uint64 { return uint64(k.GetAddress())<<16 | uint64(k.GetPort()) }
	switch {
	case k.GetPort() > 65535:
		return fmt.Errorf("%s: backends[%d].port is %d, want at most 65535", at, i, k.GetPort())
	case k.GetWeight() > maxWeight:
		return fmt.Errorf("%s: backends[%d].weight is %d, want at most %d", at, i, k.GetWeight(), maxWeight)
	case i > 0 && key(k) <= key(b.GetBackends()[i-1]):
		return fmt.Errorf("%s: backends[%d] is %#x port %d, want one above the one before", at, i, k.GetAddress(), k.GetPort())
	}
	return nil
}

func balancerText(_ *programpb.Program, t *programpb.StateTable) string {
	b := t.GetBalancer()
	var s strings.Builder
	s.WriteString("backends")
	for _, k := range b.GetBackends() {
		fmt.Fprintf(&s, " %s", rule.Address(k.GetAddress()))
		if k.GetPort() != 0 {
			fmt.Fprintf(&s, ":%d", k.GetPort())
		}
		if k.GetWeight() != 1 {
			fmt.Fprintf(&s, " weight %d", k.GetWeight())
		}
	}
	if b.GetByClient() {
		s.WriteString(", by client")
	}
	if b.GetStateless() {
		s.WriteString(", direct, stateless")
		return s.String()
	}
	if b.GetDirect() {
		s.WriteString(", direct")
	}
	fmt.Fprintf(&s, ", at most %d sessions", t.GetMaxSessions())
	return s.String()
}
