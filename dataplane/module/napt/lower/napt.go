// Package lower lowers NAPTs: pools and their checks, fixed translations, exemptions. Users may place one as an element.
package lower

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/module/napt/lower/fixed"
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
	inside, outside  lower.Port
	object           finding.Object
	portMin, portMax int32
	// limits is where limits of subscribers are written, and reason the reason to drop that they give; empty: they are not.
	limits, reason string
}

// poolEntry is a range of a pool.
type poolEntry struct {
	rules.Range
	field, text string
}

func init() {
	lower.Register("napt", func(k *v1alpha1.FunctionKinds) *v1alpha1.NAPT { return k.NAPT }, func(s *v1alpha1.NAPT) lower.Kind { return &napt{spec: s} })
	lower.When(lower.Reached, checkInterfaces)
	lower.When(lower.Wired, limitSubscribers)
}

type napt struct {
	lower.TwoSided
	spec *v1alpha1.NAPT
	// exempt are the inside addresses to which packets pass as they are.
	exempt headerspace.Set
}

// Translated stops at the outside, where the pool is seen.
func (n *napt) Translated(_ *lower.Function, in string) ([]string, []netip.Prefix) {
	if in == lower.Outside {
		return nil, n.Outside()
	}
	return []string{lower.Outside}, nil
}

// JoinRealms joins none: the two sides are of different realms.
func (*napt) JoinRealms(*lower.Function, lower.Realms) {}

// Traits say that it translates.
func (*napt) Traits() lower.Traits { return lower.Traits{Translates: true, NeedsBoth: true} }

// Answers: hosts inside reach each other by outside addresses.
func (n *napt) Answers(*lower.Builder) bool {
	return n.spec.Hairpinning == v1alpha1.HairpinAll ||
		n.spec.Hairpinning == v1alpha1.HairpinFixed && len(n.spec.PortForwards)+len(n.spec.Static) > 0
}

// Exempt are the inside addresses to which packets pass as they are.
func (n *napt) Exempt() headerspace.Set { return n.exempt }

// Open are those, and the ones that are forwarded to.
func (n *napt) Open() headerspace.Set {
	open := n.exempt
	for i := range n.spec.PortForwards {
		open = open.Union(parsedSet(string(n.spec.PortForwards[i].Inside)))
	}
	for i := range n.spec.Static {
		open = open.Union(parsedSet(string(n.spec.Static[i].Inside)))
	}
	return open
}

// parsedSet is the addresses of a text; none if it has errors, which are said elsewhere.
func parsedSet(text string) (set headerspace.Set) {
	r, problem := rules.ParseAddressSet(text)
	if problem != nil && !problem.Warning {
		return set
	}
	for _, p := range r.Prefixes() {
		set = set.Union(headerspace.Prefix(p))
	}
	return set
}

// Outside is its addresses outside.
func (n *napt) Outside() []netip.Prefix { return outsideOf(n.spec) }

// outsideOf is a NAPT's pool, and what else is outside of fixed translations, as prefixes; what cannot be read is said elsewhere.
func outsideOf(n *v1alpha1.NAPT) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range n.Pool {
		if r, p := rules.ParseAddressSet(string(s)); p == nil || p.Warning {
			out = append(out, r.Prefixes()...)
		}
	}
	for _, p := range fixed.Outside(n) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Lower makes the element "nat/napt", before it, if there are fixed translations, "nat/static" (see translation), and before each of its sides, if
// something is exempt, a classifier "nat/inside" for that.
func (n *napt) Lower(b *lower.Builder, f *lower.Function) {
	t := translate(b, f, n)
	exempt := readExemptions(b, f, n.spec.Exempt)
	for _, r := range exempt[1] { // from outside
		n.exempt = n.exempt.Union(r.Filters[0].Get(headerspace.Dst))
	}
	for side, name := range lower.TwoSides {
		if !b.Reached(f.Port(name)) {
			continue
		}
		f.Entry[name] = t.entry(side)
		if len(exempt[side]) > 0 {
			const translated, passes = 0, 1
			c := b.Add(f.Name, f.Name+"/"+name, element.Classifier{Rules: exempt[side], Default: translated, Outs: 2})
			b.Lead(c, translated, f.Entry[name])
			b.Exit(c, passes, f, lower.Opposite(name))
			f.Entry[name] = lower.Edge{To: c}
		}
	}
}

// readExemptions tells what is exempt, by the side from which it comes.
func readExemptions(b *lower.Builder, f *lower.Function, list []v1alpha1.NAPTExemption) (sides [2][]element.Rule) {
	const passes = 1
	for i := range list {
		field := lower.Index(f.Path+".exempt", i)
		forth, ok := b.Filter(f.Object, field, &v1alpha1.Match{Source: list[i].Source, Destination: list[i].Destination})
		if !ok {
			continue
		}
		back := headerspace.Filter{}.With(headerspace.Src, forth.Get(headerspace.Dst)).With(headerspace.Dst, forth.Get(headerspace.Src))
		for side, filter := range []headerspace.Filter{forth, back} {
			name := fmt.Sprintf("%s/%s/exempt-%d", f.Name, lower.TwoSides[side], i+1)
			sides[side] = append(sides[side], element.Rule{Name: name, Filters: []headerspace.Filter{filter}, Out: passes})
		}
	}
	return sides
}

// readNAPT reads a NAPT's parameters. Its two sides are ports of the owner.
func readNAPT(b *lower.Builder, f *lower.Function, field string, spec *v1alpha1.NAPT, owner string) element.NAPT {
	p := &pooled{object: f.Object, portMin: spec.Ports.Min, portMax: spec.Ports.Max}
	p.inside, p.outside = lower.Port{Owner: owner, Name: lower.Inside}, lower.Port{Owner: owner, Name: lower.Outside}
	if spec.Masquerade {
		masquerade(b, p, field+".masquerade")
	} else {
		readPool(b, p, field+".pool", spec.Pool)
	}
	b.Serve(p)
	e := element.NAPT{
		Pool:    p.pool,
		PortMin: uint16(spec.Ports.Min),
		PortMax: uint16(spec.Ports.Max),
		Timeouts: element.Timeouts{
			TCP:           b.Timeout(f, field+".timeouts.tcp", spec.Timeouts.TCP),
			TCPTransitory: b.Timeout(f, field+".timeouts.tcpTransitory", spec.Timeouts.TCPTransitory),
			UDP:           b.Timeout(f, field+".timeouts.udp", spec.Timeouts.UDP),
			ICMP:          b.Timeout(f, field+".timeouts.icmp", spec.Timeouts.ICMP),
		},
	}
	e.Paired = spec.Pooling == v1alpha1.PoolingPaired && len(p.pool) > 1
	if spec.PortQuarantine != "" {
		e.Quarantine = b.Timeout(f, field+".portQuarantine", spec.PortQuarantine)
	}
	e.Mapping = dependence(b, f, field+".mapping", spec.Mapping)
	e.Filtering = dependence(b, f, field+".filtering", spec.Filtering)
	if e.Filtering > e.Mapping {
		b.Fail(f.Object, field+".filtering", string(spec.Filtering), "depends on less than the mapping, which is %s: give EndpointIndependent mapping, or %s filtering", e.Mapping, e.Mapping)
	}
	if spec.Ports.Min > spec.Ports.Max {
		b.Fail(f.Object, field+".ports", "", "the range %d to %d is reversed; min must not be above max", spec.Ports.Min, spec.Ports.Max)
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
		p.limits, p.reason = field+".limits", e.Limits.Reason
	}
	return e
}

// The default share of one subscriber in what all may have: so one host cannot take everything. A small pool is left to
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
func limitSubscribers(b *lower.Builder) {
	for _, i := range BehindOthers(b.Nodes()) {
		e := b.Nodes()[i].Element.(element.NAPT)
		if p := limitsGiven(b, e.Limits.Reason); p != nil {
			b.Fail(p.object, p.limits, "", "another NAPT leads to this one, so that addresses here are those of its pool; give the limits to that one, where each host has its own")
		}
		e.Limits = element.SubscriberLimits{}
		b.Nodes()[i].Element = e
	}
}

// limitsGiven is where limits are written that have a reason to drop, nil: nowhere.
func limitsGiven(b *lower.Builder, reason string) *pooled {
	for _, s := range b.Served() {
		if p, ok := s.(*pooled); ok && p.limits != "" && p.reason == reason {
			return p
		}
	}
	return nil
}

// dependence reads what a mapping or filter depends on; empty: on all.
func dependence(b *lower.Builder, f *lower.Function, field string, d v1alpha1.EndpointDependence) element.Dependence {
	for _, e := range []element.Dependence{element.AddressAndPortDependent, element.AddressDependent, element.EndpointIndependent} {
		if string(d) == e.String() {
			return e
		}
	}
	if d != "" {
		b.Fail(f.Object, field, string(d), "not known; write EndpointIndependent, AddressDependent or AddressAndPortDependent")
	}
	return element.AddressAndPortDependent
}

func readPool(b *lower.Builder, p *pooled, field string, entries []v1alpha1.AddressSet) {
	if len(entries) == 0 {
		b.Fail(p.object, field, "", "the pool is empty; give it at least one outside address")
	}
	taken := map[netip.Addr]int{}
	for i, s := range entries {
		at := lower.Index(field, i)
		r, problem := rules.ParseAddressSet(string(s))
		if !b.Problem(p.object, at, problem) {
			continue
		}
		if r.First.Is4() && numberOf(r.Last)-numberOf(r.First) >= maxPool { // nothing more is said of one that was meant otherwise
			b.Fail(p.object, at, string(s), "the pool has more than %d addresses; take fewer: each serves 64,512 flows per protocol", maxPool)
			return
		}
		e := poolEntry{r, at, string(s)}
		p.entries = append(p.entries, e)
		checkPoolEntry(b, p, e)
		for a := r.First; a.IsValid() && !r.Last.Less(a); a = a.Next() {
			if first, ok := taken[a]; ok {
				b.Fail(p.object, at, string(s), "%s is also in %s; name each address once", a, lower.Index(field, first))
				break
			}
			if len(p.pool) == maxPool {
				b.Fail(p.object, at, string(s), "the pool has more than %d addresses; take fewer: each serves 64,512 flows per protocol", maxPool)
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
