package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func init() { register(func(e element.Balancer) meaning { return balancer{e} }) }

type balancer struct{ element.Balancer }

// What a balancer looks up: packets with ports, and ICMP errors. All else passes, also what should have ports and has none.
var balanced = [...]headerspace.Filter{
	unfragmented.With(headerspace.Proto, ported),
	unfragmented.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(3, 11, 12)),
}

// walk: which backend a packet gets, and whether a backend's packet is of a session, is known at run time.
func (b balancer) walk(w *walker, t *tcu, at arrival) error {
	if b.Direct && at.port == element.BalancerBackends {
		return w.follow(t, at.node, 1-at.port, -1)
	}
	var rest ways
	others := everything
	if at.port == element.BalancerClients {
		if t.fan && t.val[headerspace.Dst].kind == ident {
			return errFan // is it virtual?
		}
		others = others.With(headerspace.Dst, b.VirtualSet())
	}
	for _, f := range balanced {
		good, decided := t.match(f.Intersect(others))
		if !decided {
			return w.undecided(t, at.node, at.port)
		}
		for i := range good.n {
			rest.add(*good.at(i))
		}
	}
	for i := range rest.n {
		u := w.branch(t, *rest.at(i))
		if !u.reaches() {
			continue
		}
		if err := b.translate(w, u, at); err != nil {
			return err
		}
	}
	return w.follow(t, at.node, 1-at.port, -1)
}

// translate has the session looked up.
func (b balancer) translate(w *walker, t *tcu, at arrival) error {
	kind, address, port, to := opBalance, headerspace.Dst, headerspace.DPort, b.BackendSet()
	if at.port == element.BalancerBackends {
		kind, address, port, to = opBalanceBack, headerspace.Src, headerspace.SPort, b.VirtualSet()
	}
	writes := map[headerspace.Field]headerspace.Set{}
	if !b.Direct {
		writes[address] = to.Union(t.present(address))
	}
	if b.WritesPorts() {
		writes[port] = headerspace.Range(0, 65535).Union(t.present(port))
	}
	if b.Direct { // what has no flow keeps the next hop that it has
		var err error
		if t.ops, err = w.noteHop(t.ops, t.hop); err != nil {
			return err
		}
	}
	if err := w.act(t, at.node, op{kind: kind, arg: int64(w.table(at.node))}, b.Traits().Reads, writes); err != nil {
		return err
	}
	if b.Direct {
		t.hop = hop{was: true}
	}
	return w.follow(t, at.node, 1-at.port, -1)
}

// leads: from clients the destination becomes a backend's, see redirects.
func (b balancer) leads(h hopTo, in int, on func(hopTo, int)) {
	if in == element.BalancerClients && !b.Direct {
		virtual := spansOf(b.VirtualSet())
		if h.written != nil {
			if len(virtual.intersect(spans{{*h.written, *h.written}})) > 0 {
				return
			}
		} else {
			h.live = h.live.subtract(virtual)
		}
	}
	on(h, 1-in)
}

func (b balancer) redirects() (port int, to spans) {
	if b.Direct {
		return element.BalancerBackends, nil
	}
	return element.BalancerBackends, spansOf(b.BackendSet())
}

func (b balancer) sources() spans {
	if b.Direct {
		return nil
	}
	return spansOf(b.VirtualSet())
}

var (
	opBalance = newOperation(operation{
		write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
			says.Ops = append(says.Ops, "balance ("+e.w.g.Nodes[e.w.tables[o.arg]].Name+")")
			return &programpb.Op{Op: &programpb.Op_Balance{Balance: uint32(o.arg)}}
		},
		verdict: true,
	})
	opBalanceBack = newOperation(operation{
		write: func(e *emitter, _ *leg, o op, says *Leg) *programpb.Op {
			says.Ops = append(says.Ops, "balance back ("+e.w.g.Nodes[e.w.tables[o.arg]].Name+")")
			return &programpb.Op{Op: &programpb.Op_BalanceBack{BalanceBack: uint32(o.arg)}}
		},
	})
)

// keep implements keeping.
func (b balancer) keep(e *emitter, t *programpb.StateTable) {
	t.MaxSessions = uint32(b.MaxSessions)
	t.Balancer = &programpb.Balancer{
		ByClient: b.ByClient, Direct: b.Direct, Stateless: b.Stateless, TcpMs: ms(b.Timeouts.TCP), TcpTransitoryMs: ms(b.Timeouts.TCPTransitory), UdpMs: ms(b.Timeouts.UDP),
		NoBackend: e.drop(b.NoBackend).GetChain(), Full: e.drop(b.Full).GetChain(), NoSession: e.drop(b.NoSession).GetChain(),
	}
	t.Balancer.SlowStartMs = ms(b.SlowStart)
	if h := b.Check; h != nil {
		t.Balancer.Check = &programpb.HealthCheck{
			Http: h.HTTP, Port: uint32(h.Port), IntervalMs: ms(h.Interval), TimeoutMs: ms(h.Timeout), Unhealthy: uint32(h.Unhealthy), Healthy: uint32(h.Healthy),
		}
	}
	for _, k := range b.Backends {
		t.Balancer.Backends = append(t.Balancer.Backends, &programpb.Backend{Address: v4(k.Addr), Port: uint32(k.Port), Weight: uint32(k.Weight)})
	}
}
