package program

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Limits of balancers; the engine has the same (kind/balancer/sn_balancer.c).
const (
	maxBackends         = 512
	maxWeight           = 256
	maxBalancerSessions = 8_000_000
	maxIdleMs           = 7 * 24 * 3_600_000
)

func init() {
	operations[reflect.TypeFor[*programpb.Op_Balance]()] = operation{
		kind: State,
		check: func(v validator, at string, o *programpb.Op) error {
			return v.balancerOf(at, "balance", o.GetBalance())
		},
		text: func(p *Program, o *programpb.Op) string { return "balance " + p.GetTables()[o.GetBalance()].GetName() },
		unless: func(p *Program, o *programpb.Op) []string {
			b := p.GetTables()[o.GetBalance()].GetBalancer()
			return []string{p.GetReasons()[b.GetNoBackend()], p.GetReasons()[b.GetFull()], p.GetReasons()[b.GetNoSession()]}
		},
		leaves: func(x *exit, o *programpb.Op) {
			if x.p.GetTables()[o.GetBalance()].GetBalancer().GetDirect() {
				x.hop, x.via = false, false // some leave as they came
				return
			}
			x.redirected, x.dst = true, nil
		},
	}
	operations[reflect.TypeFor[*programpb.Op_BalanceBack]()] = operation{
		kind: State,
		check: func(v validator, at string, o *programpb.Op) error {
			if err := v.balancerOf(at, "balance_back", o.GetBalanceBack()); err != nil {
				return err
			}
			if t := v.p.GetTables()[o.GetBalanceBack()]; t.GetBalancer().GetDirect() {
				return fmt.Errorf("%s: balance_back is %d (%s), to which no backend sends: it is direct", at, o.GetBalanceBack(), t.GetName())
			}
			return nil
		},
		text: func(p *Program, o *programpb.Op) string {
			return "balance back " + p.GetTables()[o.GetBalanceBack()].GetName()
		},
	}
	registerState(stateKind{
		name:   "balancer",
		claims: func(t *programpb.StateTable) bool { return t.GetBalancer() != nil },
		check:  validator.balancer,
		text:   balancerText,
		holds:  "flows, both ways",
	})
}

// balancerOf refuses the index of a table that is not a balancer's.
func (v validator) balancerOf(at, field string, i uint32) error {
	if err := index(at, field, i, len(v.p.GetTables())); err != nil {
		return err
	}
	if t := v.p.GetTables()[i]; t.GetBalancer() == nil {
		return fmt.Errorf("%s: %s is %d (%s), which is of kind %s, want a balancer's", at, field, i, t.GetName(), kindOf(t).name)
	}
	return nil
}

func (v validator) balancer(at string, t *programpb.StateTable) error {
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
	return first(
		idle(at, "tcp_ms", b.GetTcpMs()),
		idle(at, "tcp_transitory_ms", b.GetTcpTransitoryMs()),
		idle(at, "udp_ms", b.GetUdpMs()),
		index(at, "no_backend", b.GetNoBackend(), len(v.p.GetReasons())),
		index(at, "full", b.GetFull(), len(v.p.GetReasons())),
		index(at, "no_session", b.GetNoSession(), len(v.p.GetReasons())),
		count(at+": backends", len(b.GetBackends()), maxBackends),
		each(b.GetBackends(), func(i int, k *programpb.Backend) error { return backend(at, b, i, k) }),
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
	return first(idle(at, "check.interval_ms", h.GetIntervalMs()), idle(at, "check.timeout_ms", h.GetTimeoutMs()))
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

func balancerText(_ *Program, t *programpb.StateTable) string {
	b := t.GetBalancer()
	var s strings.Builder
	s.WriteString("backends")
	for _, k := range b.GetBackends() {
		fmt.Fprintf(&s, " %s", address(k.GetAddress()))
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
