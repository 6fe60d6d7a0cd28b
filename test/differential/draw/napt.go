package draw

import (
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/module/napt/lower"
)

func drawNAPT(d *Drawer, _ [2]int) (left, right Side) {
	if d.napts >= maxNAPTs {
		return d.firewall()
	}
	in, out := d.translator(6)
	if d.one("turned round", 10) {
		return out, in
	}
	return in, out
}

// limitFirst takes the limits of NAPTs that another one leads to, as the compiler does: what comes to them is not of subscribers.
func (d *Drawer) limitFirst() {
	for _, i := range lower.BehindOthers(d.Graph.Nodes) {
		n := d.Graph.Nodes[i].Element.(element.NAPT)
		n.Limits = element.SubscriberLimits{}
		d.Graph.Nodes[i].Element = n
	}
}

// subscribers draws limits that a traffic of a few hundred packets meets.
func (d *Drawer) subscribers() element.SubscriberLimits {
	return element.SubscriberLimits{
		PrefixLen: []int{32, 32, 24, 8, 1}[d.int("subscribers", 0, 4)], MaxSessions: d.int("sessions", 1, 60), MaxPorts: d.int("ports of each", 1, 30),
		Reason: d.name("nat") + SubscriberLimit,
	}
}

// maxNAPTs bounds the NAPTs among other functions.
const maxNAPTs = 3

// translator draws a NAPT with a pool of up to most addresses, large enough not to run out.
func (d *Drawer) translator(most int) (inside, outside Side) {
	return d.NAPT(d.name("nat"), d.pool(most))
}

func (d *Drawer) pool(most int) element.NAPT {
	d.napts++
	n := element.NAPT{Timeouts: d.timeouts(), MaxSessions: 1 << 17}
	for i := range d.int("pool", 4, most) {
		n.Pool = append(n.Pool, Addr4(100, 64, d.napts, 1+i))
	}
	ranges := [][2]uint16{{1024, 65535}, {1000, 64999}, {16384, 49151}}
	r := ranges[d.int("port range", 0, len(ranges)-1)]
	n.PortMin, n.PortMax = r[0], r[1]
	d.behave(&n)
	n.Paired = d.one("paired", 4)
	if d.one("ports rest", 4) {
		n.Quarantine = time.Duration(d.int("seconds", 1, 20)) * time.Second
	}
	if d.one("limits subscribers", 4) {
		n.Limits = d.subscribers()
	}
	d.bases = append(d.bases, n.Pool[0], n.Pool[1])
	d.ports = append(d.ports, uint64(r[0]), uint64(r[0])+128, 40000)
	return n
}

// timeouts are often those of the NAPTs, else twice or half as long.
func (d *Drawer) timeouts() element.Timeouts {
	t := Timeouts
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
func (d *Drawer) behave(n *element.NAPT) {
	if len(d.behaviors) == 0 || d.one("behaves in its own way", 4) {
		b := behavior{mapping: element.Dependence(max(0, d.int("mapping", -2, int(element.EndpointIndependent))))}
		b.filtering = element.Dependence(d.int("filtering", 0, int(b.mapping)))
		d.behaviors = append(d.behaviors, b)
	}
	b := d.behaviors[len(d.behaviors)-1]
	n.Mapping, n.Filtering = b.mapping, b.filtering
}

func (d *Drawer) lastPool() []netip.Addr {
	for _, n := range slices.Backward(d.Graph.Nodes) {
		if e, ok := n.Element.(element.NAPT); ok {
			return e.Pool
		}
	}
	return nil
}

// SubscriberLimit ends the reasons for which NAPTs begin no flow of a subscriber.
const SubscriberLimit = "/subscriber-limit"
