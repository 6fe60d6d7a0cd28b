package graph

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Output ports of an interface's "local" classifier.
const (
	toHost = iota
	toChain
	toBroadcast
	localOuts
)

// own are the interface's addresses.
func (i *chainInterface) own() []netip.Addr {
	return append([]netip.Addr{addrOf(i.prefix)}, i.addresses...)
}

func (b *builder) realmOf(i *chainInterface) port { return b.realm.find(port{i.name, ""}) }

// means tells whether an address of interface j means the same at interface i: the two see the same
// addresses, or nobody has it in i's realm, as far as prefixes, pools and routes tell.
func (b *builder) means(i, j *chainInterface, a netip.Addr) bool {
	here := b.realmOf(i)
	return here == b.realmOf(j) ||
		!slices.ContainsFunc(b.known[here], func(p netip.Prefix) bool { return p.Contains(a) }) &&
			!slices.ContainsFunc(b.tabled[here], func(t tabled) bool { return b.tableHas(t, a) })
}

// tabled is a table of routes, and the router that has it.
type tabled struct {
	table *element.Table
	of    *function
}

// tableHas tells whether a route of a table, not a default one, has an address for its realm.
func (b *builder) tableHas(t tabled, a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	four := a.As4()
	addr := binary.BigEndian.Uint32(four[:])
	for n := uint8(1); n <= 32; n++ {
		r, ok := t.table.Find(addr&^uint32(uint64(1)<<(32-n)-1), n)
		if ok && !b.leadsAway(t.of, t.table.Hops[t.table.Number(r)-1].Out) {
			return true
		}
	}
	return false
}

// learnRealms notes the prefixes that each realm has for its own: connected ones, pools, and routes but those that lead
// to a NAPT, behind which addresses are another realm's.
func (b *builder) learnRealms() {
	for _, i := range b.interfaces {
		if i.prefix.IsValid() {
			b.knows(b.realmOf(i), i.prefix.Masked())
		}
	}
	for _, n := range b.pools {
		for _, a := range n.pool {
			b.knows(b.realm.find(n.outside), netip.PrefixFrom(a, 32))
		}
	}
	for _, v := range b.virtuals {
		b.knows(b.realm.find(v.at), netip.PrefixFrom(v.addr, 32))
	}
	for _, n := range b.g.Nodes {
		l, ok := n.Element.(element.Lookup)
		f := b.findFunction(n.Function)
		if !ok || f == nil {
			continue
		}
		seen := map[port]bool{}
		for _, p := range f.ports {
			realm := b.realm.find(port{f.name, p})
			if seen[realm] {
				continue
			}
			seen[realm] = true
			if l.Table != nil {
				b.tabled[realm] = append(b.tabled[realm], tabled{l.Table, f})
				continue
			}
			for _, r := range l.Routes {
				if r.Prefix.Bits() > 0 && !b.leadsAway(f, r.Out) {
					b.knows(realm, r.Prefix)
				}
			}
		}
	}
}

// leadsAway tells whether what lies next behind an output of a router's lookup is a NAPT, for
// packets of all sources.
func (b *builder) leadsAway(f *function, out int) bool {
	if out >= len(f.leads) || len(f.leads[out]) == 0 {
		return false // it leads nowhere
	}
	return !slices.ContainsFunc(f.leads[out], func(p string) bool { return !b.translatedNext(port{f.name, p}) })
}

// translatedNext tells whether a NAPT is next behind a port, behind firewalls and monitors.
func (b *builder) translatedNext(at port) bool {
	to := b.past(at, func(t traits) bool { return t.transparent })
	next := b.findFunction(to.owner)
	return next != nil && next.kind.traits().translates
}

func (b *builder) knows(realm port, p netip.Prefix) { b.known[realm] = append(b.known[realm], p) }

// finishLocal has each interface take what is sent to an address of the chain's interfaces, as a host does that has
// several (RFC 1122 section 3.3.4.2, the weak model), and drop what is sent to all hosts of a connected
// prefix. What the chain translates is left to it, but for pings: an address that a NAT's pool holds, that a set-field writes
// as source, or that is a load balancer's.
func (b *builder) finishLocal() {
	translated := b.translatedSources()
	if slices.ContainsFunc(b.interfaces, func(i *chainInterface) bool { return b.realmOf(i) != b.realmOf(b.interfaces[0]) }) {
		b.learnRealms()
	}
	for _, i := range b.interfaces {
		var own, shared, broadcasts []netip.Addr
		for _, j := range b.interfaces {
			for _, a := range j.own() {
				switch {
				case !b.means(i, j, a):
				case slices.Contains(translated, a):
					shared = append(shared, a)
				default:
					own = append(own, a)
				}
			}
			if a, ok := broadcastOf(j); ok && b.means(i, j, a) {
				broadcasts = append(broadcasts, a)
			}
		}
		b.g.Nodes[i.local].Element = localOf(i.name, own, shared, broadcasts)
		b.wireReplies(i)
	}
}

func localOf(name string, own, shared, broadcasts []netip.Addr) element.Classifier {
	c := element.Classifier{Default: toChain, Outs: localOuts}
	rule := func(suffix string, addrs []netip.Addr, of headerspace.Filter, out int) {
		if len(addrs) > 0 {
			f := sentTo(addrs).Intersect(of)
			c.Rules = append(c.Rules, element.Rule{Name: name + "/" + suffix, Filters: []headerspace.Filter{f}, Out: out})
		}
	}
	rule("address", own, headerspace.Filter{}, toHost)
	rule("ping", shared, echoRequests, toHost)
	rule("broadcast", broadcasts, headerspace.Filter{}, toBroadcast)
	return c
}

// wireReplies leads what an interface's own addresses send: to a connected prefix of the realm straight out, to the rest by
// the router behind the interface, else by the interface's gateway.
func (b *builder) wireReplies(i *chainInterface) {
	to := placement.NewOuts("(rest)")
	l := element.Lookup{}
	for _, j := range b.interfaces {
		if j.prefix.IsValid() && b.realmOf(i) == b.realmOf(j) {
			l.Routes = append(l.Routes, element.Route{Prefix: j.prefix.Masked(), Out: to.Number(j.name)})
		}
	}
	rest := b.replyRest(i)
	if rest < 0 && len(l.Routes) < 2 {
		b.wire(i.host, 0, i.out)
		return
	}
	if rest < 0 {
		rest = i.out
	}
	l.Outs = len(to.Names)
	reply := b.add("", i.name+"/reply", l)
	b.wire(i.host, 0, reply)
	b.wire(reply, 0, rest)
	for _, j := range b.interfaces {
		if n := slices.Index(to.Names, j.name); n > 0 {
			b.wire(reply, n, j.out)
		}
	}
}

// replyRest is where an interface's replies go that lead to no connected prefix, -1 if nothing routes them: to where its
// router takes its own packets. A router is one that is linked to the interface and has a default route or, where the
// interface has no gateway, any before the next NAPT. A stateful firewall that lies between has not seen the question,
// so that it would take the reply for a packet of no flow: what goes back to the interface goes past it.
func (b *builder) replyRest(i *chainInterface) int {
	f, p := b.routerBehind(i, false)
	if f == nil {
		return -1
	}
	adjacent := b.next[port{i.name, ""}].to.owner == f.name
	if i.spec.Gateway != "" && !(adjacent && f.hasDefault) {
		return -1
	}
	if b.followedUpTo(port{i.name, ""}, f) && b.leadsBeyond(f, p, i.prefix) {
		return b.reply("", i.name+"/reply-rest", f, p, Edge{To: i.out})
	}
	return f.sends[p]
}

// leadsBeyond tells whether a router has routes by a port to hosts outside of the connected prefix there.
func (b *builder) leadsBeyond(rt *function, by string, connected netip.Prefix) bool {
	l := b.lookupOf(rt, by)
	back := func(out int) bool { return out < len(rt.leads) && slices.Contains(rt.leads[out], by) }
	if l.Table != nil {
		return slices.ContainsFunc(l.Table.Hops, func(h element.Hop) bool { return back(h.Out) })
	}
	return slices.ContainsFunc(l.Routes, func(r element.Route) bool { return back(r.Out) && r.Prefix != connected.Masked() })
}

// followedUpTo tells whether a stateful firewall lies between a port and a router.
func (b *builder) followedUpTo(at port, rt *function) bool {
	for {
		to := b.next[at].to
		f := b.findFunction(to.owner)
		if f == nil || f == rt {
			return false
		}
		if fw, ok := f.kind.(firewall); ok && fw.spec.Stateful {
			return true
		}
		at = port{f.name, opposite(to.name)}
	}
}

// giveAnswersTheirTTL has errors that interfaces send into the chain leave with 64 where a router lets them pass.
func (b *builder) giveAnswersTheirTTL() {
	for n, i := range b.interfaces {
		if f, _ := b.routerBehind(i, true); f != nil {
			b.g.Interfaces[n].AnswerTTL = fullTTL
		}
	}
}

// routerBehind is the first router behind an interface, and its port: behind firewalls and monitors and, if wanted, NAPTs. It
// is nil if another function comes first.
func (b *builder) routerBehind(i *chainInterface, napts bool) (*function, string) {
	to := b.past(port{i.name, ""}, func(t traits) bool { return t.transparent || napts && t.translates })
	if f := b.findFunction(to.owner); f != nil && is[router](f) {
		return f, to.name
	}
	return nil, ""
}

// readAddresses reads an interface's further addresses.
func (b *builder) readAddresses(i *chainInterface) {
	for n, s := range i.spec.Addresses {
		field := index(i.field+".addresses", n)
		a, problem := rules.ParseAddress(string(s))
		if !b.problem(b.object, field, problem) {
			continue
		}
		if why := i.refuses(a); why != "" {
			b.fail(b.object, field, string(s), "%s", why)
			continue
		}
		i.addresses = append(i.addresses, a)
	}
}

// refuses says why the interface cannot have a further address; empty: it can.
func (i *chainInterface) refuses(a netip.Addr) string {
	if s, ok := rules.SpecialIn(rules.Range{First: a, Last: a}); ok {
		return "is a " + s.What + " address (" + s.Prefix.String() + "); give one that a host can have"
	}
	if !i.prefix.IsValid() {
		return ""
	}
	broadcast, has := rules.Broadcast(i.prefix)
	switch {
	case a == i.prefix.Addr():
		return "is the interface's address already; leave it out here"
	case has && a == i.prefix.Masked().Addr():
		return "is the network address of " + i.prefix.Masked().String() + "; take another of its addresses"
	case has && a == broadcast:
		return "is the broadcast address of " + i.prefix.Masked().String() + "; take another of its addresses"
	case string(i.spec.Gateway) == a.String():
		return "is the interface's gateway; this address must belong to the chain"
	case slices.ContainsFunc(i.spec.Neighbors, func(n v1alpha1.Neighbor) bool { return string(n.Address) == a.String() }):
		return "is a static neighbour's; this address must belong to the chain"
	}
	return ""
}

// checkAddresses finds addresses that belong to the net of another interface, where hosts ask for them.
func (b *builder) checkAddresses() {
	for _, i := range b.interfaces {
		for n, s := range i.spec.Addresses {
			a, err := netip.ParseAddr(string(s))
			if err != nil || !slices.Contains(i.addresses, a) {
				continue // has an error of its own
			}
			for _, j := range b.interfaces {
				if i != j && j.prefix.IsValid() && j.prefix.Contains(a) && b.sees(i, port{j.name, ""}) {
					b.fail(b.object, index(i.field+".addresses", n), string(s),
						"lies in %s of interface %q, whose hosts ask for it there; list it there", j.prefix.Masked(), j.name)
				}
			}
		}
	}
}

var echoRequests = headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(1)).With(headerspace.ICMPType, headerspace.Of(8))

// sentTo is the packets to some addresses.
func sentTo(addrs []netip.Addr) headerspace.Filter {
	return headerspace.Filter{}.With(headerspace.Dst, addressSet(addrs))
}

func addressSet(addrs []netip.Addr) headerspace.Set {
	iv := make([]headerspace.Interval, len(addrs))
	for n, a := range addrs {
		iv[n] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
	}
	return headerspace.NewSet(iv...)
}

// translatedSources are the addresses that the chain writes as source: replies to them must get back into it.
func (b *builder) translatedSources() []netip.Addr {
	var out []netip.Addr
	for _, n := range b.pools {
		out = append(out, n.pool...)
	}
	for _, v := range b.virtuals {
		out = append(out, v.addr)
	}
	for i, n := range b.g.Nodes {
		if e, ok := n.Element.(element.SetField); ok && e.Field == headerspace.Src && !b.ofAnswers[i] {
			out = append(out, headerspace.AsAddr(e.Value))
		}
	}
	return out
}
