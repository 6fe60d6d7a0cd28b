package graph

import (
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

const (
	maxPool = 4096
	// natProtocols have port spaces of their own: TCP, UDP and ICMP.
	natProtocols = 3
)

// pooled is a NAPT's pool, and the port that the pool's realm lies at.
type pooled struct {
	pool    []netip.Addr
	outside port
}

// lowerNAPT makes one element, "nat/napt".
func (b *builder) lowerNAPT(f *function, spec *v1alpha1.NAPT) {
	e := b.napt(f, f.path, spec, port{f.name, outside})
	n := b.add(f.name, f.name+"/napt", e)
	for side, name := range twoSides {
		if b.reached[port{f.name, name}] {
			f.entry[name] = Edge{To: n, Port: side}
			b.exit(n, 1-side, f, opposite(name)) // out by the other side
		}
	}
}

// napt reads a NAPT's parameters. Its pool is seen from the given port.
func (b *builder) napt(f *function, field string, spec *v1alpha1.NAPT, at port) element.NAPT {
	e := element.NAPT{
		Pool:    b.pool(f, field+".pool", spec.Pool),
		PortMin: uint16(spec.Ports.Min),
		PortMax: uint16(spec.Ports.Max),
		Timeouts: element.Timeouts{
			TCP:           b.timeout(f, field+".timeouts.tcp", spec.Timeouts.TCP),
			TCPTransitory: b.timeout(f, field+".timeouts.tcpTransitory", spec.Timeouts.TCPTransitory),
			UDP:           b.timeout(f, field+".timeouts.udp", spec.Timeouts.UDP),
			ICMP:          b.timeout(f, field+".timeouts.icmp", spec.Timeouts.ICMP),
		},
	}
	if spec.Ports.Min > spec.Ports.Max {
		b.fail(f.object, field+".ports", "", "the range %d to %d is reversed; min must not be above max", spec.Ports.Min, spec.Ports.Max)
	}
	ports := max(0, int(spec.Ports.Max)-int(spec.Ports.Min)+1)
	e.MaxSessions = min(int(spec.MaxSessions), len(e.Pool)*ports*natProtocols)
	b.pools = append(b.pools, pooled{e.Pool, at})
	return e
}

func (b *builder) pool(f *function, field string, entries []v1alpha1.AddressSet) []netip.Addr {
	if len(entries) == 0 {
		b.fail(f.object, field, "", "the pool is empty; give it at least one outside address")
	}
	var pool []netip.Addr
	taken := map[netip.Addr]int{}
	for i, s := range entries {
		at := index(field, i)
		r, problem := rules.ParseAddressSet(string(s))
		if !b.problem(f.object, at, problem) {
			continue
		}
		for _, n := range b.interfaces {
			if a := n.prefix; a.IsValid() && !a.Addr().Less(r.First) && !r.Last.Less(a.Addr()) {
				b.fail(f.object, at, string(s), "holds the address %s of interface %q; pool addresses must be none of the chain's own", a.Addr(), n.name)
			}
		}
		for a := r.First; a.IsValid() && !r.Last.Less(a); a = a.Next() {
			if first, ok := taken[a]; ok {
				b.fail(f.object, at, string(s), "%s is also in %s; name each address once", a, index(field, first))
				break
			}
			if len(pool) == maxPool {
				b.fail(f.object, at, string(s), "the pool has more than %d addresses; take fewer: each serves 64,512 flows per protocol", maxPool)
				return pool
			}
			taken[a] = i
			pool = append(pool, a)
		}
	}
	return pool
}

func (b *builder) timeout(f *function, field string, d v1alpha1.Duration) time.Duration {
	t, err := d.Parse()
	if err != nil || t < time.Second || t > 7*24*time.Hour {
		b.fail(f.object, field, string(d), `not a timeout; write it like "2h4m", from 1s to 168h`)
	}
	return t
}
