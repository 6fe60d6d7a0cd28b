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
	n := element.NAPT{Timeouts: d.timeouts(), MaxSessions: 1 << 17}
	for i := range d.int("pool", 4, most) {
		n.Pool = append(n.Pool, addr4(100, 64, d.napts, 1+i))
	}
	ranges := [][2]uint16{{1024, 65535}, {1000, 64999}, {16384, 49151}}
	r := ranges[d.int("port range", 0, len(ranges)-1)]
	n.PortMin, n.PortMax = r[0], r[1]
	d.behave(&n)
	d.bases = append(d.bases, n.Pool[0], n.Pool[1])
	d.ports = append(d.ports, uint64(r[0]), uint64(r[0])+128, 40000)
	return d.napt(d.name("nat"), n)
}

// timeouts are often those of the NAPTs, else twice or half as long.
func (d *drawer) timeouts() element.Timeouts {
	t := timeouts
	switch d.int("patience", 0, 3) {
	case 0:
		return element.Timeouts{TCP: 2 * t.TCP, TCPTransitory: 2 * t.TCPTransitory, UDP: 2 * t.UDP, ICMP: 2 * t.ICMP}
	case 1:
		return element.Timeouts{TCP: t.TCP / 2, TCPTransitory: t.TCPTransitory / 2, UDP: t.UDP / 2, ICMP: t.ICMP / 2}
	}
	return t
}

// behavior is what mapping and filtering depend on.
type behavior struct{ mapping, filtering element.Dependence }

// behave draws a NAPT's behavior: half have a port for each flow. Most behave as one before: those may be one translation.
func (d *drawer) behave(n *element.NAPT) {
	if len(d.behaviors) == 0 || d.one("behaves in its own way", 4) {
		b := behavior{mapping: element.Dependence(max(0, d.int("mapping", -2, int(element.EndpointIndependent))))}
		b.filtering = element.Dependence(d.int("filtering", 0, int(b.mapping)))
		d.behaviors = append(d.behaviors, b)
	}
	b := d.behaviors[len(d.behaviors)-1]
	n.Mapping, n.Filtering = b.mapping, b.filtering
}

func (d *drawer) lastPool() []netip.Addr {
	for _, n := range slices.Backward(d.g.Nodes) {
		if e, ok := n.Element.(element.NAPT); ok {
			return e.Pool
		}
	}
	return nil
}
