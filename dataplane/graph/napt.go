package graph

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

const (
	maxPool = 4096
	// natProtocols have port spaces of their own: TCP, UDP and ICMP.
	natProtocols = 3
)

// pooled is a NAPT's pool as it is written, and the ports at its two sides.
type pooled struct {
	pool             []netip.Addr
	entries          []poolEntry
	inside, outside  port
	object           finding.Object
	portMin, portMax int32
}

// place is where something is written.
type place struct {
	object finding.Object
	field  string
}

// poolEntry is a range of a pool.
type poolEntry struct {
	rules.Range
	field, text string
}

func init() {
	register("napt", func(k *v1alpha1.FunctionKinds) *v1alpha1.NAPT { return k.NAPT }, func(s *v1alpha1.NAPT) kind { return napt{spec: s} })
}

type napt struct {
	twoSided
	spec *v1alpha1.NAPT
}

func (n napt) translated(_ *function, in string) ([]string, []*v1alpha1.NAPT) {
	if in == outside {
		return nil, []*v1alpha1.NAPT{n.spec}
	}
	return []string{outside}, nil
}

func (napt) joinRealms(*function, realms) {}

func (napt) traits() traits { return traits{translates: true} }

// answers: hosts inside reach each other by outside addresses.
func (n napt) answers(*builder) bool {
	return n.spec.Hairpinning == v1alpha1.HairpinAll ||
		n.spec.Hairpinning == v1alpha1.HairpinFixed && len(n.spec.PortForwards)+len(n.spec.Static) > 0
}

// lower makes the element "nat/napt", before it, if there are fixed translations, "nat/static" (see translation), and before each of its sides, if
// something is exempt, a classifier "nat/inside" for that.
func (n napt) lower(b *builder, f *function) {
	t := b.translation(f, n)
	exempt := b.exemptions(f, n.spec.Exempt)
	for _, r := range exempt[1] { // from outside
		b.exempted[f.name] = b.exempted[f.name].Union(r.Filters[0].Get(headerspace.Dst))
	}
	for side, name := range twoSides {
		if !b.reached[port{f.name, name}] {
			continue
		}
		f.entry[name] = t.entry(side)
		if len(exempt[side]) > 0 {
			const translated, passes = 0, 1
			c := b.add(f.name, f.name+"/"+name, element.Classifier{Rules: exempt[side], Default: translated, Outs: 2})
			b.g.Nodes[c].Out[translated] = f.entry[name]
			b.exit(c, passes, f, opposite(name))
			f.entry[name] = Edge{To: c}
		}
	}
}

// exemptions are what is exempt, by the side from which it comes.
func (b *builder) exemptions(f *function, list []v1alpha1.NAPTExemption) (sides [2][]element.Rule) {
	const passes = 1
	for i := range list {
		field := index(f.path+".exempt", i)
		forth, ok := b.filter(f.object, field, &v1alpha1.Match{Source: list[i].Source, Destination: list[i].Destination})
		if !ok {
			continue
		}
		back := headerspace.Filter{}.With(headerspace.Src, forth.Get(headerspace.Dst)).With(headerspace.Dst, forth.Get(headerspace.Src))
		for side, filter := range []headerspace.Filter{forth, back} {
			name := fmt.Sprintf("%s/%s/exempt-%d", f.name, twoSides[side], i+1)
			sides[side] = append(sides[side], element.Rule{Name: name, Filters: []headerspace.Filter{filter}, Out: passes})
		}
	}
	return sides
}

// napt reads a NAPT's parameters. Its two sides are ports of the owner.
func (b *builder) napt(f *function, field string, spec *v1alpha1.NAPT, owner string) element.NAPT {
	p := pooled{inside: port{owner, inside}, outside: port{owner, outside}, object: f.object, portMin: spec.Ports.Min, portMax: spec.Ports.Max}
	if spec.Masquerade {
		b.masquerade(&p, field+".masquerade")
	} else {
		b.readPool(&p, field+".pool", spec.Pool)
	}
	b.pools = append(b.pools, p)
	e := element.NAPT{
		Pool:    p.pool,
		PortMin: uint16(spec.Ports.Min),
		PortMax: uint16(spec.Ports.Max),
		Timeouts: element.Timeouts{
			TCP:           b.timeout(f, field+".timeouts.tcp", spec.Timeouts.TCP),
			TCPTransitory: b.timeout(f, field+".timeouts.tcpTransitory", spec.Timeouts.TCPTransitory),
			UDP:           b.timeout(f, field+".timeouts.udp", spec.Timeouts.UDP),
			ICMP:          b.timeout(f, field+".timeouts.icmp", spec.Timeouts.ICMP),
		},
	}
	e.Paired = spec.Pooling == v1alpha1.PoolingPaired && len(p.pool) > 1
	if spec.PortQuarantine != "" {
		e.Quarantine = b.timeout(f, field+".portQuarantine", spec.PortQuarantine)
	}
	e.Mapping = b.dependence(f, field+".mapping", spec.Mapping)
	e.Filtering = b.dependence(f, field+".filtering", spec.Filtering)
	if e.Filtering > e.Mapping {
		b.fail(f.object, field+".filtering", string(spec.Filtering), "depends on less than the mapping, which is %s: give EndpointIndependent mapping, or %s filtering", e.Mapping, e.Mapping)
	}
	if spec.Ports.Min > spec.Ports.Max {
		b.fail(f.object, field+".ports", "", "the range %d to %d is reversed; min must not be above max", spec.Ports.Min, spec.Ports.Max)
	}
	ports := max(0, int(spec.Ports.Max)-int(spec.Ports.Min)+1)
	e.MaxSessions = int(spec.MaxSessions)
	if e.Mapping == element.AddressAndPortDependent { // each session needs a port
		e.MaxSessions = min(e.MaxSessions, len(e.Pool)*ports*natProtocols)
	}
	choice := len(e.Pool) * ports
	if e.Paired {
		choice = ports
	}
	e.Limits = subscriberLimits(&spec.Limits, e.MaxSessions, choice, owner)
	if e.Limits.Reason != "" && (spec.Limits.MaxSessions > 0 || spec.Limits.MaxPorts > 0) {
		b.limitsAt[e.Limits.Reason] = place{f.object, field + ".limits"}
	}
	return e
}

// What one subscriber may have of what all may, unless limits say it: so one host cannot take everything. A small pool is left to
// whoever needs it.
const (
	subscriberShare = 4
	subscriberLeast = 1024
)

// subscriberLimits reads a NAPT's limits, which serves so many sessions, and an inside address with so many ports of a protocol; none if no
// subscriber can meet one.
func subscriberLimits(spec *v1alpha1.NAPTLimits, sessions, ports int, owner string) element.SubscriberLimits {
	limit := func(given int32, of int) int {
		if given == 0 {
			given = int32(max(of/subscriberShare, subscriberLeast))
		}
		return min(int(given), of)
	}
	l := element.SubscriberLimits{PrefixLen: int(spec.PrefixLength), MaxSessions: limit(spec.MaxSessions, sessions), MaxPorts: limit(spec.MaxPorts, ports)}
	if l.MaxSessions == sessions && l.MaxPorts == ports {
		return element.SubscriberLimits{}
	}
	if l.PrefixLen == 0 {
		l.PrefixLen = 32 // as the schema has it
	}
	l.Reason = owner + "/subscriber-limit"
	return l
}

// limitSubscribers takes the limits from NAPTs that another one leads to: addresses that come to them are not those of subscribers.
func (b *builder) limitSubscribers() {
	for _, i := range wiring.Behind(b.g.Nodes) {
		e := b.g.Nodes[i].Element.(element.NAPT)
		if at, given := b.limitsAt[e.Limits.Reason]; given {
			b.fail(at.object, at.field, "", "another NAPT leads to this one, so that addresses here are those of its pool; give the limits to that one, where each host has its own")
		}
		e.Limits = element.SubscriberLimits{}
		b.g.Nodes[i].Element = e
	}
}

// dependence reads what a mapping or filter depends on; empty: on all.
func (b *builder) dependence(f *function, field string, d v1alpha1.EndpointDependence) element.Dependence {
	for _, e := range []element.Dependence{element.AddressAndPortDependent, element.AddressDependent, element.EndpointIndependent} {
		if string(d) == e.String() {
			return e
		}
	}
	if d != "" {
		b.fail(f.object, field, string(d), "not known; write EndpointIndependent, AddressDependent or AddressAndPortDependent")
	}
	return element.AddressAndPortDependent
}

func (b *builder) readPool(p *pooled, field string, entries []v1alpha1.AddressSet) {
	if len(entries) == 0 {
		b.fail(p.object, field, "", "the pool is empty; give it at least one outside address")
	}
	taken := map[netip.Addr]int{}
	for i, s := range entries {
		at := index(field, i)
		r, problem := rules.ParseAddressSet(string(s))
		if !b.problem(p.object, at, problem) {
			continue
		}
		if r.First.Is4() && numberOf(r.Last)-numberOf(r.First) >= maxPool { // nothing more is said of one that was meant otherwise
			b.fail(p.object, at, string(s), "the pool has more than %d addresses; take fewer: each serves 64,512 flows per protocol", maxPool)
			return
		}
		e := poolEntry{r, at, string(s)}
		p.entries = append(p.entries, e)
		b.checkPoolEntry(p, e)
		for a := r.First; a.IsValid() && !r.Last.Less(a); a = a.Next() {
			if first, ok := taken[a]; ok {
				b.fail(p.object, at, string(s), "%s is also in %s; name each address once", a, index(field, first))
				break
			}
			if len(p.pool) == maxPool {
				b.fail(p.object, at, string(s), "the pool has more than %d addresses; take fewer: each serves 64,512 flows per protocol", maxPool)
				return
			}
			taken[a] = i
			p.pool = append(p.pool, a)
		}
	}
}

// numberOf is an IPv4 address as a number.
func numberOf(a netip.Addr) uint32 {
	four := a.As4()
	return binary.BigEndian.Uint32(four[:])
}

func (b *builder) timeout(f *function, field string, d v1alpha1.Duration) time.Duration {
	t, err := d.Parse()
	if err != nil || t < time.Second || t > 7*24*time.Hour {
		b.fail(f.object, field, string(d), `not a timeout; write it like "2h4m", from 1s to 168h`)
	}
	return t
}
