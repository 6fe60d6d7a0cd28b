package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/routes"
)

const (
	tablesInARow = 12
	tableSize    = 3000
)

// routerRows are routers in a row with a table each, of packets that all of them let through: of headers that come again, and of headers that do not.
func routerRows() []row {
	tables := drawTables()
	var fns functions
	for i, t := range tables {
		fns = append(fns, t.router(fmt.Sprintf("rt%d", i), i == len(tables)-1))
	}
	repeated := row{
		Group: "row", Name: fmt.Sprintf("row-routers-%d-64k", len(fns)), N: len(fns), chain: fixed(fns), traffic: throughAll(tables, 64_000), Bound: 1.6, apart: true,
	}
	once := repeated
	once.Name, once.traffic, once.Bound = fmt.Sprintf("row-routers-%d-new-headers", len(fns)), throughAll(tables, 400_000), 0
	once.traffic.once = true
	return []row{repeated, once}
}

// drawnTable is prefixes of which every second is discarded.
type drawnTable struct {
	prefixes []netip.Prefix
	discards map[netip.Prefix]bool
}

func drawTables() []drawnTable {
	rng := rand.New(rand.NewPCG(7, 0))
	out := make([]drawnTable, tablesInARow)
	for i := range out {
		out[i] = drawnTable{routes.Draw(rng, tableSize), map[netip.Prefix]bool{}}
		for k, p := range out[i].prefixes {
			out[i].discards[p] = k%2 == 1
		}
	}
	return out
}

// router is a router with the table. What is not discarded leaves outside, from the last one by 16 next hops.
func (t *drawnTable) router(name string, last bool) v1alpha1.Function {
	r := &v1alpha1.Router{Routes: []v1alpha1.Route{{Prefix: "0.0.0.0/0", Port: "outside"}, {Prefix: "10.0.0.0/8", Port: "inside"}}}
	for _, p := range t.prefixes {
		to := v1alpha1.Route{Prefix: v1alpha1.Prefix(p.String()), Port: "outside"}
		switch {
		case t.discards[p]:
			to.Port, to.Type = "", v1alpha1.RouteDiscard
		case last:
			to.Via = v1alpha1.Address(nextHopAddress(hopOf(p)))
		}
		r.Routes = append(r.Routes, to)
	}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Router: r}}
}

// lets tells whether packets to an address are forwarded, by longest match.
func (t *drawnTable) lets(to netip.Addr) bool {
	for n := 32; n > 0; n-- {
		p, _ := to.Prefix(n) // of IPv4, for each such n there is one
		if discard, ok := t.discards[p]; ok {
			return !discard
		}
	}
	return true
}

// throughAll is n flows to hosts of prefixes of the tables in turn, which all of them forward.
func throughAll(tables []drawnTable, n int) traffic {
	return traffic{name: fmt.Sprintf("tables-%d-%d", len(tables), n), flows: n, packets: func() ([][]byte, error) {
		r := rand.New(rand.NewPCG(6, uint64(n)))
		out := make([][]byte, 0, n)
	draw:
		for turn := 0; len(out) < n; turn++ {
			from := tables[turn%len(tables)].prefixes
			p := from[r.IntN(len(from))]
			a := p.Addr().As4()
			dst := binary.BigEndian.Uint32(a[:]) | uint32(r.Uint64N(1<<(32-p.Bits())))
			if unroutable(dst) {
				continue
			}
			binary.BigEndian.PutUint32(a[:], dst)
			for i := range tables {
				if !tables[i].lets(netip.AddrFrom4(a)) {
					continue draw
				}
			}
			out = append(out, flow(r, frameSize, dst))
		}
		return out, nil
	}}
}
