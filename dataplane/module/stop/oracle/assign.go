package oracle

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(c *pass.Chain, _ string, e element.Assign) pass.Element {
		a := &assign{Assign: e}
		for _, r := range e.Replicas {
			a.tables = append(a.tables, tableOf(c, r.Flows))
		}
		return a
	})
	pass.Register(func(c *pass.Chain, _ string, e element.Assigned) pass.Element {
		return &assigned{tableOf(c, e.Flows), e.FromOutside}
	})
}

// assign and assigned are the elements on tables of replicas: before all of these, and before one.
type assign struct {
	element.Assign
	tables []*table
}

type assigned struct {
	*table
	outside bool // packets come from there
}

// Resume implements pass.Keeping.
func (a *assigned) Resume(before pass.Element) pass.Element {
	a.resume(before)
	return a
}

// Pass leads the packet to the replica that has its flow, or to one that is chosen for it.
func (a *assign) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	up := func(i int) bool { return !isDown(r.Chain, n.Out[i].To) }
	first, second := header.Src(p.IP), header.Dst(p.IP)
	if f, outside, ok := a.flowOf(p.IP); ok {
		if i := a.holder(r, f, outside, up); i >= 0 {
			r.Note("the flow is one of %s", a.tables[i].Table)
			return i, false
		}
		first, second = f.Src, f.Dst
	}
	i := a.Pick(first, second, up)
	r.Note("chosen by hosts: %s", a.tables[i].Table)
	return i, false
}

// flowOf is the flow of a packet, with the side where it comes from: of an error that of the packet which it quotes, to its sender.
func (a *assign) flowOf(ip []byte) (f flow.Flow, outside, ok bool) {
	if f, ok = flow.Told(ip); ok {
		return f, a.FromOutside, true
	}
	if header.Frag(ip) != header.FragWhole || ip[9] != header.ICMP || !header.HasTransport(ip) {
		return f, false, false
	}
	q := flow.Quoted(ip)
	if q == nil || header.Src(q) != header.Dst(ip) {
		return f, false, false
	}
	f, _ = flow.Of(q)
	return f, !a.FromOutside, true
}

// holder is the replica that has a flow; -1: none, or none that is to keep it, as it is down and another one is up.
func (a *assign) holder(r *pass.Run, f flow.Flow, outside bool, up func(int) bool) int {
	for i, t := range a.tables {
		e := t.find(f, outside, r.Now)
		if e == nil {
			continue
		}
		if up(i) || !a.some(up) {
			return i
		}
		t.end(r, e)
		return -1
	}
	return -1
}

func (a *assign) some(up func(int) bool) bool {
	for i := range a.tables {
		if up(i) {
			return true
		}
	}
	return false
}

// isDown tells whether the first stop from a node on is watched, and down.
func isDown(c *pass.Chain, node int) bool {
	for {
		n := &c.Graph.Nodes[node]
		if s, ok := n.Element.(element.Stop); ok {
			return s.WhenDown != element.StopUnwatched && c.Down[n.Name]
		}
		node = n.Out[0].To
	}
}

// Pass has the packet's flow be the replica's.
func (a *assigned) Pass(r *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	f, ok := flow.Told(p.IP)
	if !ok {
		r.Note("it tells no flow")
		return 0, false
	}
	e := a.find(f, a.outside, r.Now)
	switch {
	case e != nil:
		r.Note("the flow is its own")
	case a.full(r.Now):
		r.Note("there is no room for its flow")
		return 0, false
	default:
		r.Note("the flow is its own from here on")
		e = a.beginAt(r, f, a.outside, p)
	}
	e.use(r, a.outside, p.IP)
	return 0, false
}

// beginAt has a flow begin with a packet that comes from a side.
func (t *table) beginAt(r *pass.Run, f flow.Flow, outside bool, p *pass.Packet) *entry {
	e := &entry{Flow: f, outside: outside, table: t, packets: t.Packets, remaining: t.Packets, last: r.Now}
	e.from = r.Depend(p.By, e)
	t.begin(r, e)
	return e
}
