package draw

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// InARow is a chain of n functions of one kind.
func InARow(name string, n int, row func(*Builder, int) (left, right Side)) *graph.Graph {
	b := new(Builder)
	b.Graph.Chain = name
	s, end := b.PlainLinks()
	for i := range n {
		left, right := row(b, i)
		b.Link(s, left)
		s = right
	}
	b.Link(s, end)
	return &b.Graph
}

// PlainLinks are two interfaces: 192.168.0.1/28 and 192.168.1.1/28.
func (b *Builder) PlainLinks() (inside, outside Side) {
	link := func(i int) Side {
		return b.iface(netip.PrefixFrom(Addr4(192, 168, i, 1), 28), 1500, Addr4(192, 168, i, 2))
	}
	return link(0), link(1)
}

// OneRouter is the router number i of a row.
func OneRouter(b *Builder, i int) (left, right Side) {
	faces := b.Router(fmt.Sprintf("rt%d", i), Addr4(172, 16, i, 1), 2, Discards, []Route{
		{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Face: 0},
		{Prefix: netip.MustParsePrefix("192.168.0.0/24"), Face: 0},
		{Prefix: netip.MustParsePrefix("10.3.0.0/16"), Face: 1},
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1},
	})
	return faces[0], faces[1]
}

// OneNAPT is the NAPT number i of a row, with a pool of its own.
func OneNAPT(b *Builder, i int) (left, right Side) {
	n := element.NAPT{PortMin: 1024, PortMax: 65535, Timeouts: Timeouts, MaxSessions: 1 << 17}
	for a := range 6 {
		n.Pool = append(n.Pool, Addr4(100, 64, i, 1+a))
	}
	return b.NAPT(fmt.Sprintf("nat%d", i), n)
}

// Pools are NAPTs in a row with so many addresses each. If routed, a router lies behind the first.
func Pools(name string, routed bool, addresses ...int) *graph.Graph {
	b := new(Builder)
	b.Graph.Chain = name
	s, end := b.PlainLinks()
	for i, n := range addresses {
		e := element.NAPT{PortMin: 1024, PortMax: 65535, Timeouts: Timeouts, MaxSessions: 1 << 17}
		for a := range n {
			e.Pool = append(e.Pool, Addr4(100, 64, i, 1+a))
		}
		left, right := b.NAPT(fmt.Sprintf("nat%d", i), e)
		b.Link(s, left)
		s = right
		if i == 0 && routed {
			faces := b.Router("rt", Addr4(172, 16, 0, 1), 2, Discards, []Route{
				{Prefix: netip.MustParsePrefix("100.64.0.0/16"), Face: 0},
				{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1},
			})
			b.Link(s, faces[0])
			s = faces[1]
		}
	}
	b.Link(s, end)
	return &b.Graph
}

// InOrder is a chain of a NAPT (n), stateful firewalls (f; turned round: F), limiters of connections (c, C), a load balancer whose clients are left (b), or right (B), and a
// router (r) with 10.0.0.0/8 on the left. Packets pass all, but for those that the router sends back.
func InOrder(name, functions string) *graph.Graph {
	return InARow(name, len(functions), func(b *Builder, i int) (left, right Side) {
		id := name + strconv.Itoa(i)
		switch functions[i] {
		case 'r':
			faces := b.Router(id, Addr4(172, 16, i, 1), 2, Hairpins, []Route{
				{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Face: 0},
				{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Face: 1},
			})
			return faces[0], faces[1]
		case 'n':
			return b.NAPT("nat"+strconv.Itoa(i), element.NAPT{
				Pool: []netip.Addr{Addr4(100, 64, 1+i, 1), Addr4(100, 64, 1+i, 2)}, PortMin: 1024, PortMax: 65535, Timeouts: Timeouts, MaxSessions: 1 << 16,
			})
		case 'f', 'F':
			left, right = b.Follows(id, element.Tracking{Timeouts: Timeouts, Max: ManyFlows, Table: id + "/flows", Full: id + "/full"}, functions[i] == 'F')
			return left, right
		case 'c', 'C':
			left, right = b.connLimit(id, element.ConnLimit{Timeouts: Timeouts, Max: ManyFlows, PerHost: element.SubscriberLimits{PrefixLen: 32, MaxSessions: ManyOfAHost}})
			if functions[i] == 'C' {
				return right, left
			}
			return left, right
		}
		n := b.Add("lb"+strconv.Itoa(i), "balancer", element.Balancer{
			Virtual: []netip.Addr{Addr4(172, 31, 1, 1)}, MaxSessions: 1 << 16, Timeouts: Timeouts, NoBackend: id + "/no-backend", Full: id + "/full", NoSession: id + "/no-session",
			Backends: []element.Backend{{Addr: Addr4(10, 1, 1, 2), Weight: 3}, {Addr: Addr4(10, 1, 1, 3), Port: 8080, Weight: 1}},
		})
		clients, backends := graph.Edge{To: n, Port: element.BalancerClients}, graph.Edge{To: n, Port: element.BalancerBackends}
		left, right = Side{In: clients, Outs: []graph.Edge{clients}}, Side{In: backends, Outs: []graph.Edge{backends}}
		if functions[i] == 'B' {
			return right, left
		}
		return left, right
	})
}

// Follows is a stateful firewall that lets all but invalid packets through; turned: its inside is on the right.
func (b *Builder) Follows(name string, t element.Tracking, turned bool) (left, right Side) {
	sides := [2]Side{}
	for from := range sides {
		outside := (from == 1) != turned
		track := b.Add(name, "track-"+strconv.Itoa(from), element.Track{Tracking: t, FromOutside: outside})
		admit := b.Add(name, "admit-"+strconv.Itoa(from), element.Admit{Tracking: t, FromOutside: outside})
		b.Wire(track, element.TrackNew, admit)
		b.Wire(track, element.TrackInvalid, b.Add(name, "invalid-"+strconv.Itoa(from), element.Discard{Reason: name + "-invalid"}))
		sides[from].In = graph.Edge{To: track}
		sides[1-from].Outs = append(sides[1-from].Outs, graph.Edge{To: admit},
			graph.Edge{To: track, Port: element.TrackEstablished}, graph.Edge{To: track, Port: element.TrackRelated})
	}
	return sides[0], sides[1]
}
