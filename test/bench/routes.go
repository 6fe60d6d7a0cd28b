package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/routes"
)

// nextHops are routers outside, one of which each route of a large table leads to.
const nextHops = 16

func nextHopAddress(i int) string { return fmt.Sprintf("203.0.113.%d", 16+i) }

func nextHopNeighbors() []v1alpha1.Neighbor {
	var out []v1alpha1.Neighbor
	for i := range nextHops {
		out = append(out, v1alpha1.Neighbor{
			Address: v1alpha1.Address(nextHopAddress(i)), MAC: v1alpha1.MACAddress(fmt.Sprintf("02:00:00:00:01:%02x", i)),
		})
	}
	return out
}

// hopOf is the next hop of a route: neighbors in the table seldom share one.
func hopOf(p netip.Prefix) int {
	a := p.Addr().As4()
	h := (binary.BigEndian.Uint32(a[:])>>8 + uint32(p.Bits())) * 0x9e3779b1
	return int(h >> 28)
}

// table is the Internet's routes.
func table(data string) ([]netip.Prefix, error) {
	f, err := os.Open(filepath.Join(data, "routes", "table.gz"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	out, err := routes.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return out, nil
}

// tableRouter is a router with all routes of the Internet; what none of them has leaves by a default route. The routes of each next hop get a file.
func tableRouter(data, dir string) (v1alpha1.Function, error) {
	prefixes, err := table(data)
	if err != nil {
		return v1alpha1.Function{}, err
	}
	var texts [nextHops]strings.Builder
	for _, p := range prefixes {
		fmt.Fprintln(&texts[hopOf(p)], p)
	}
	r := &v1alpha1.Router{Routes: []v1alpha1.Route{{Prefix: "0.0.0.0/0", Port: "outside"}, {Prefix: "10.0.0.0/8", Port: "inside"}}}
	for i := range texts {
		file := filepath.Join(dir, fmt.Sprintf("routes-%d.txt", i))
		if err := os.WriteFile(file, []byte(texts[i].String()), 0o644); err != nil {
			return v1alpha1.Function{}, err
		}
		r.RoutesFrom = append(r.RoutesFrom, v1alpha1.RoutesFrom{
			File: v1alpha1.FilePath(file), Port: "outside", Via: v1alpha1.Address(nextHopAddress(i)),
		})
	}
	return v1alpha1.Function{Name: "rt", FunctionKinds: v1alpha1.FunctionKinds{Router: r}}, nil
}

// routed is n flows to hosts of prefixes drawn from the table.
func routed(data string, n int) traffic {
	return traffic{name: fmt.Sprintf("table-%d", n), flows: n, packets: func() ([][]byte, error) {
		prefixes, err := table(data)
		if err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(4, uint64(n)))
		out := make([][]byte, 0, n)
		for len(out) < n {
			p := prefixes[r.IntN(len(prefixes))]
			a := p.Addr().As4()
			dst := binary.BigEndian.Uint32(a[:]) | uint32(r.Uint64N(1<<(32-p.Bits())))
			if unroutable(dst) {
				continue
			}
			out = append(out, flow(r, frameSize, dst))
		}
		return out, nil
	}}
}

// unroutable are destinations that no host outside has: martians, clients, neighbors and addresses of NAPTs.
func unroutable(dst uint32) bool {
	first := dst >> 24
	return first == 0 || first == 10 || first == 127 || first >= 224 || dst>>8 == 203<<16|0<<8|113 || dst>>17 == (198<<8|18)>>1
}
