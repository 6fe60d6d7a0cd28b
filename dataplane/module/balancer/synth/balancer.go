// Package synth has the meaning of load balancers on sets of packets: operations that choose a backend and translate its packets back.
package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() { walk.Register(func(e element.Balancer) walk.Meaning { return balancer{e} }) }

type balancer struct{ element.Balancer }

// Packets that a balancer looks up: those with ports, and ICMP errors. All else passes, also what should have ports and has none.
var balanced = [...]headerspace.Filter{
	walk.Unfragmented.With(headerspace.Proto, headerspace.Of(6, 17)),
	walk.Unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 11, 12)),
}

// Walk: which backend a packet gets, and whether a backend's packet is of a session, is known at run time.
func (b balancer) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if b.Direct && at.Port == element.BalancerBackends {
		return w.Follow(t, at.Node, 1-at.Port, -1)
	}
	var rest walk.Ways
	others := walk.Everything
	if at.Port == element.BalancerClients {
		if err := t.ByDst(); err != nil { // is it virtual?
			return err
		}
		others = others.With(headerspace.Dst, b.VirtualSet())
	}
	for _, f := range balanced {
		good, decided := t.Match(f.Intersect(others))
		if !decided {
			return w.Undecided(t, at.Node, at.Port)
		}
		for i := range good.N {
			rest.Add(*good.At(i))
		}
	}
	for i := range rest.N {
		u := w.Branch(t, *rest.At(i))
		if !u.Reaches() {
			continue
		}
		if err := b.translate(w, u, at); err != nil {
			return err
		}
	}
	return w.Follow(t, at.Node, 1-at.Port, -1)
}

// translate has the session looked up.
func (b balancer) translate(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	kind, address, port, to := opBalance, headerspace.Dst, headerspace.DPort, b.BackendSet()
	if at.Port == element.BalancerBackends {
		kind, address, port, to = opBalanceBack, headerspace.Src, headerspace.SPort, b.VirtualSet()
	}
	writes := map[headerspace.Field]headerspace.Set{}
	if !b.Direct {
		writes[address] = to.Union(t.Present(address))
	}
	if b.WritesPorts() {
		writes[port] = headerspace.Range(0, 65535).Union(t.Present(port))
	}
	if b.Direct { // what has no flow keeps the next hop that it has
		if err := w.SettleHop(t); err != nil {
			return err
		}
	}
	if err := w.Act(t, at.Node, walk.Op{Kind: kind, Arg: int64(at.Node)}, b.Traits().Reads, writes); err != nil {
		return err
	}
	w.Table(at.Node)
	return w.Follow(t, at.Node, 1-at.Port, -1)
}

// Leads: from clients the destination becomes a backend's, see Redirects.
func (b balancer) Leads(h walk.HopTo, in int, on func(walk.HopTo, int)) {
	if in == element.BalancerClients && !b.Direct {
		h = h.Without(b.VirtualSet())
	}
	on(h, 1-in)
}

func (b balancer) Redirects(on func(port int, to headerspace.Set)) {
	if !b.Direct {
		on(element.BalancerBackends, b.BackendSet())
	}
}

func (b balancer) Sources() headerspace.Set {
	if b.Direct {
		return headerspace.Set{}
	}
	return b.VirtualSet()
}

var (
	opBalance = walk.NewOperation(walk.Operation{
		Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
			says.Ops = append(says.Ops, "balance ("+e.Node(int(o.Arg)).Name+")")
			return &programpb.Op{Op: &programpb.Op_Balance{Balance: e.Table(int(o.Arg))}}
		},
		Verdict: true,
	})
	opBalanceBack = walk.NewOperation(walk.Operation{
		Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
			says.Ops = append(says.Ops, "balance back ("+e.Node(int(o.Arg)).Name+")")
			return &programpb.Op{Op: &programpb.Op_BalanceBack{BalanceBack: e.Table(int(o.Arg))}}
		},
	})
)

// Keep implements Keeping.
func (b balancer) Keep(e *walk.Emitter, t *programpb.StateTable) {
	t.MaxSessions = uint32(b.MaxSessions)
	t.Balancer = &programpb.Balancer{
		ByClient: b.ByClient, Direct: b.Direct, Stateless: b.Stateless,
		TcpMs: walk.Milliseconds(b.Timeouts.TCP), TcpTransitoryMs: walk.Milliseconds(b.Timeouts.TCPTransitory), UdpMs: walk.Milliseconds(b.Timeouts.UDP),
		NoBackend: e.Drop(b.NoBackend).GetChain(), Full: e.Drop(b.Full).GetChain(), NoSession: e.Drop(b.NoSession).GetChain(),
	}
	t.Balancer.SlowStartMs = walk.Milliseconds(b.SlowStart)
	if h := b.Check; h != nil {
		t.Balancer.Check = &programpb.HealthCheck{
			Http: h.HTTP, Port: uint32(h.Port),
			IntervalMs: walk.Milliseconds(h.Interval), TimeoutMs: walk.Milliseconds(h.Timeout), Unhealthy: uint32(h.Unhealthy), Healthy: uint32(h.Healthy),
		}
	}
	for _, k := range b.Backends {
		t.Balancer.Backends = append(t.Balancer.Backends, &programpb.Backend{Address: walk.IPv4(k.Addr), Port: uint32(k.Port), Weight: uint32(k.Weight)})
	}
}
