package differential

import (
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

func drawNAPT(d *drawer, _ [2]int) (left, right side) {
	if d.napts >= maxNAPTs {
		return d.firewall()
	}
	in, out := d.translator(6)
	if d.one("turned round", 10) {
		return out, in
	}
	return in, out
}

// maxNAPTs bounds the NAPTs among other functions.
const maxNAPTs = 3

// translator draws a NAPT with a pool of up to most addresses, large enough not to run out.
func (d *drawer) translator(most int) (inside, outside side) {
	d.napts++
	n := element.NAPT{Timeouts: timeouts, MaxSessions: 1 << 17}
	for i := range d.int("pool", 4, most) {
		n.Pool = append(n.Pool, addr4(100, 64, d.napts, 1+i))
	}
	ranges := [][2]uint16{{1024, 65535}, {1000, 64999}, {16384, 49151}}
	r := ranges[d.int("port range", 0, len(ranges)-1)]
	n.PortMin, n.PortMax = r[0], r[1]
	d.bases = append(d.bases, n.Pool[0], n.Pool[1])
	d.ports = append(d.ports, uint64(r[0]), uint64(r[0])+128, 40000)
	return d.napt(d.name("nat"), n)
}

// behavior draws what mapping and filtering depend on, for a NAPT that is alone: half have a port for each flow. Where another NAPT hides its
// ports the oracle guesses them, and does not move a guess yet that several flows share; TestFlowsOfAMappingAreOfOneShardWhereverDevicesTakeThem has such rows.
func (d *drawer) behavior(n *element.NAPT) {
	n.Mapping = element.Dependence(max(0, d.int("mapping", -2, int(element.EndpointIndependent))))
	n.Filtering = element.Dependence(d.int("filtering", 0, int(n.Mapping)))
}

func (d *drawer) lastPool() []netip.Addr {
	for _, n := range slices.Backward(d.g.Nodes) {
		if e, ok := n.Element.(element.NAPT); ok {
			return e.Pool
		}
	}
	return nil
}
