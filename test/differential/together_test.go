package differential

import (
	"net/netip"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// TestStatefulFunctionsTogetherDoWhatTheUnmergedChainDoes runs random chains of up to ten stateful functions of all kinds, while time goes on
// between packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential -run 'Together.*/^17$' -v
func TestStatefulFunctionsTogetherDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared := 0
	for seed := range seeds(t, "SINTER_TOGETHER", scale(12, 3)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "together", draw: (*drawer).together}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.drive(t.Context(), seed, 30_000, true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
		})
	}
	t.Logf("%d packets", compared)
}

// together is a line of two to ten functions that keep state of the same flows.
func (d *drawer) together() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	for range d.int("stateful functions", 2, 10) {
		left, right := d.keeper(ends)
		d.link(a, left)
		a = right
	}
	d.link(a, b)
}

// keeper draws a function that keeps state.
func (d *drawer) keeper(ends [2]int) (left, right side) {
	switch d.int("kind", 0, 6) {
	case 0, 1:
		if d.napts < maxNAPTs {
			return d.translator(6)
		}
	case 2:
		return drawServing(d, ends)
	case 3:
		return drawLimiter(d, ends)
	case 4:
		return drawConnLimit(d, ends)
	}
	return d.stateful(d.name("sfw"), element.Tracking{Timeouts: d.timeouts(), Max: manyFlows, PickUp: d.one("picks up", 3), Strict: d.one("strict", 4)})
}

// inOrder is a chain of a NAPT (n), stateful firewalls (f; turned round: F), limiters of connections (c, C) and a load balancer whose clients are left (b), or right (B), of
// which all packets pass all.
func inOrder(name, functions string) *graph.Graph {
	return inARow(name, len(functions), func(b *builder, i int) (left, right side) {
		id := name + strconv.Itoa(i)
		switch functions[i] {
		case 'n':
			return b.napt("nat"+strconv.Itoa(i), element.NAPT{
				Pool: []netip.Addr{addr4(100, 64, 1+i, 1), addr4(100, 64, 1+i, 2)}, PortMin: 1024, PortMax: 65535, Timeouts: timeouts, MaxSessions: 1 << 16,
			})
		case 'f', 'F':
			left, right = b.follows(id, element.Tracking{Timeouts: timeouts, Max: manyFlows, Table: id + "/flows", Full: id + "/full"}, functions[i] == 'F')
			return left, right
		case 'c', 'C':
			left, right = b.connLimit(id, element.ConnLimit{Timeouts: timeouts, Max: manyFlows, PerHost: element.SubscriberLimits{PrefixLen: 32, MaxSessions: manyOfAHost}})
			if functions[i] == 'C' {
				return right, left
			}
			return left, right
		}
		n := b.add("lb"+strconv.Itoa(i), "balancer", element.Balancer{
			Virtual: []netip.Addr{addr4(172, 31, 1, 1)}, MaxSessions: 1 << 16, Timeouts: timeouts, NoBackend: "no-backend", Full: "full", NoSession: "no-session",
			Backends: []element.Backend{{Addr: addr4(10, 1, 1, 2), Weight: 3}, {Addr: addr4(10, 1, 1, 3), Port: 8080, Weight: 1}},
		})
		clients, backends := graph.Edge{To: n, Port: element.BalancerClients}, graph.Edge{To: n, Port: element.BalancerBackends}
		left, right = side{in: clients, outs: []graph.Edge{clients}}, side{in: backends, outs: []graph.Edge{backends}}
		if functions[i] == 'B' {
			return right, left
		}
		return left, right
	})
}

// follows is a stateful firewall that lets all but invalid packets through; turned: its inside is on the right.
func (b *builder) follows(name string, t element.Tracking, turned bool) (left, right side) {
	sides := [2]side{}
	for from := range sides {
		outside := (from == 1) != turned
		track := b.add(name, "track-"+strconv.Itoa(from), element.Track{Tracking: t, FromOutside: outside})
		admit := b.add(name, "admit-"+strconv.Itoa(from), element.Admit{Tracking: t, FromOutside: outside})
		b.wire(track, element.TrackNew, admit)
		b.wire(track, element.TrackInvalid, b.add(name, "invalid-"+strconv.Itoa(from), element.Discard{Reason: name + "-invalid"}))
		sides[from].in = graph.Edge{To: track}
		sides[1-from].outs = append(sides[1-from].outs, graph.Edge{To: admit},
			graph.Edge{To: track, Port: element.TrackEstablished}, graph.Edge{To: track, Port: element.TrackRelated})
	}
	return sides[0], sides[1]
}

// TestFlowsOfManyFunctionsHaveOneShard has three workers: all that stateful functions know of a flow is of one, in both directions, in whichever order
// they are. No packet needs the state of two.
func TestFlowsOfManyFunctionsHaveOneShard(t *testing.T) {
	needHarness(t)
	for _, functions := range []string{"fn", "nf", "nb", "bn", "fnb", "nfb", "bfn", "Fn", "nF", "fnf", "fbf", "fb", "BF", "fbnf", "ffffffffff", "ffffnffffb", "cn", "nc", "nC", "cfb", "ncf", "Cb"} {
		t.Run(functions, func(t *testing.T) {
			r, err := newRig(inOrder("together"+functions, functions))
			if err != nil {
				t.Fatal(err)
			}
			r.workers, r.cut = 3, partitionByHost
			if err := r.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			stats, err := r.engine.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.engine.kill()
			if n := len(stats.GetShards()); n != buckets {
				t.Errorf("state is cut into %d, want %d", n, buckets)
			}
			if err := r.drive(t.Context(), 1, scale(20_000, 10_000), true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			if n := r.stats.drops[notOurs]; n > 0 {
				t.Errorf("%d packets needed the state of two workers", n)
			}
		})
	}
}
