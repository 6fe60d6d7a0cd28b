// Package health looks after the backends of load balancers: it checks them from outside, as the program in force says, and tells the engine
// which are down, and the weights of those that start slowly. docs/agent.md, "Backends".
package health

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const (
	slowSteps = 10  // of a slow start
	maxWeight = 256 // of the engine's
)

// Target is a backend of a load balancer.
type Target struct {
	Table   string         // of the balancer
	Backend netip.AddrPort // port 0: that to which clients send
}

// Name is the backend as chains have it: its address, and its own port if it has one.
func (t Target) Name() string {
	if t.Backend.Port() == 0 {
		return t.Backend.Addr().String()
	}
	return t.Backend.String()
}

// Check is how one is checked.
type Check struct {
	To                 netip.AddrPort
	Path               string // of an HTTP request; empty: a connection is opened
	Interval, Timeout  time.Duration
	Unhealthy, Healthy int // checks in a row
}

// backend is what is known of a target.
type backend struct {
	Target
	weight    uint32
	check     *Check // nil: nobody checks it
	slowStart time.Duration
	down      bool
	known     bool      // some check told whether it is down
	streak    int       // checks in a row that say otherwise
	begins    time.Time // its slow start; zero: it has its weight
}

// heard takes note of a check, and tells whether the backend went up or down by it.
func (b *backend) heard(ok bool, now time.Time) (changed bool) {
	if ok != b.down {
		b.streak = 0
		b.known = b.known || ok
		return false
	}
	b.streak++
	threshold := b.check.Unhealthy
	if b.down {
		threshold = b.check.Healthy
	}
	if b.streak < threshold {
		return false
	}
	b.down, b.known, b.streak = !b.down, true, 0
	b.begins = time.Time{}
	if !b.down && b.slowStart > 0 {
		b.begins = now
	}
	return true
}

// step is how far its slow start is: slowSteps, if it is over.
func (b *backend) step(now time.Time) int {
	if b.begins.IsZero() {
		return slowSteps
	}
	return min(slowSteps, 1+int(slowSteps*now.Sub(b.begins)/b.slowStart))
}

// roster is the backends of a program.
type roster map[Target]*backend

// of is the roster of another program. Backends that both have keep what is known of them. Those that the program adds to a balancer start slowly.
func (r roster) of(p *programpb.Program, now time.Time) roster {
	next, before := roster{}, r.tables(now)
	for _, t := range p.GetTables() {
		for _, k := range t.GetBalancer().GetBackends() {
			at := Target{t.GetName(), netip.AddrPortFrom(addressOf(k.GetAddress()), uint16(k.GetPort()))}
			b := &backend{Target: at, known: t.GetBalancer().GetCheck() == nil}
			if old := r[at]; old != nil {
				*b = *old
			} else if before[t.GetName()] != nil && t.GetBalancer().GetSlowStartMs() > 0 {
				b.begins = now
			}
			b.weight, b.slowStart, b.check = k.GetWeight(), ms(t.GetBalancer().GetSlowStartMs()), checkOf(t.GetBalancer().GetCheck(), at.Backend)
			if b.check == nil {
				b.down, b.known, b.streak = false, true, 0
			}
			if b.slowStart == 0 {
				b.begins = time.Time{}
			}
			next[at] = b
		}
	}
	return next
}

// Addresses are numbers in programs.
func addressOf(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func ms(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

func checkOf(h *programpb.HealthCheck, backend netip.AddrPort) *Check {
	if h == nil {
		return nil
	}
	return &Check{
		To: netip.AddrPortFrom(backend.Addr(), cmp.Or(uint16(h.GetPort()), backend.Port())), Path: h.GetHttp(),
		Interval: ms(h.GetIntervalMs()), Timeout: ms(h.GetTimeoutMs()), Unhealthy: int(h.GetUnhealthy()), Healthy: int(h.GetHealthy()),
	}
}

// known tells whether each backend that is checked was found up or down.
func (r roster) known() bool {
	for _, b := range r {
		if !b.known {
			return false
		}
	}
	return true
}

// table is what is known of a balancer's backends together.
type table struct {
	most     uint32 // of their weights
	starting bool   // one starts slowly
	serves   bool   // one that takes new flows is up
}

func (r roster) tables(now time.Time) map[string]*table {
	tables := map[string]*table{}
	for _, b := range r {
		t := tables[b.Table]
		if t == nil {
			t = &table{}
			tables[b.Table] = t
		}
		t.most = max(t.most, b.weight)
		t.starting = t.starting || !b.down && b.step(now) < slowSteps
		t.serves = t.serves || !b.down && b.weight > 0
	}
	return tables
}

// states are what differs from the program: who is down, and all weights of balancers that have a backend which starts slowly. Where none is
// up that takes new flows, nobody counts as down: that checks reach no backend says more about the way to them, and flows that may fail are
// better than flows that are dropped.
func (r roster) states(now time.Time) (list []*programpb.BackendState) {
	tables := r.tables(now)
	for _, b := range r {
		t := tables[b.Table]
		down := b.down && t.serves
		if !down && !t.starting {
			continue
		}
		weight := b.weight
		if t.starting && weight > 0 {
			weight *= max(1, maxWeight/t.most) // finer, with the same shares
			weight = max(1, weight*uint32(b.step(now))/slowSteps)
		}
		list = append(list, &programpb.BackendState{
			Table: b.Table, Address: number(b.Backend.Addr()), Port: uint32(b.Backend.Port()), Weight: weight, Down: down,
		})
	}
	slices.SortFunc(list, func(x, y *programpb.BackendState) int {
		return cmp.Or(cmp.Compare(x.Table, y.Table), cmp.Compare(x.Address, y.Address), cmp.Compare(x.Port, y.Port))
	})
	return list
}
