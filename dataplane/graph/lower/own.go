package lower

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Output ports of an interface's "local" classifier.
const (
	toHost = iota
	toChain
	toBroadcast
	localOuts
)

func (b *Builder) realmOf(i *Interface) Port { return b.Realm(i.Port()) }

// means tells whether an address of interface j means the same at interface i: the two see the same
// addresses, or nobody has it in i's realm, as far as prefixes, pools and routes tell.
func (b *Builder) means(i, j *Interface, a netip.Addr) bool {
	here := b.realmOf(i)
	return here == b.realmOf(j) ||
		!slices.ContainsFunc(b.known[here], func(p netip.Prefix) bool { return p.Contains(a) }) &&
			!slices.ContainsFunc(b.tabled[here], func(t tabled) bool { return b.tableHas(t, a) })
}

// tabled is a table of routes, and the router that has it.
type tabled struct {
	table *element.Table
	of    *Function
}

// tableHas tells whether a route of a table, not a default one, has an address for its realm.
func (b *Builder) tableHas(t tabled, a netip.Addr) bool {
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
// to what translates, behind which addresses are another realm's.
func (b *Builder) learnRealms() {
	for _, i := range b.Interfaces {
		if i.Prefix.IsValid() {
			b.knows(b.realmOf(i), i.Prefix.Masked())
		}
	}
	for _, s := range b.served {
		for _, a := range s.Addresses() {
			b.knows(b.Realm(s.At()), netip.PrefixFrom(a, 32))
		}
	}
	for _, n := range b.g.Nodes {
		l, ok := n.Element.(element.Lookup)
		f := b.FindFunction(n.Function)
		if !ok || f == nil {
			continue
		}
		seen := map[Port]bool{}
		for _, p := range f.Ports {
			realm := b.Realm(f.Port(p))
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

// leadsAway tells whether what lies next behind an output of a router's lookup translates, for packets of
// all sources.
func (b *Builder) leadsAway(f *Function, out int) bool {
	r := f.Router()
	if r == nil || out >= len(r.Routes().Leads) || len(r.Routes().Leads[out]) == 0 {
		return false // it leads nowhere
	}
	return !slices.ContainsFunc(r.Routes().Leads[out], func(p string) bool { return !b.translatedNext(f.Port(p)) })
}

// translatedNext tells whether a function that translates is next behind a port, behind transparent ones.
func (b *Builder) translatedNext(at Port) bool {
	to := b.past(at, func(t Traits) bool { return t.Transparent })
	next := b.FindFunction(to.Owner)
	return next != nil && next.Kind.Traits().Translates
}

func (b *Builder) knows(realm Port, p netip.Prefix) { b.known[realm] = append(b.known[realm], p) }

// finishLocal has each interface take what is sent to an address of the chain's interfaces, as a host does that has
// several (RFC 1122 section 3.3.4.2, the weak model), and drop what is sent to all hosts of a connected
// prefix. What the chain translates is left to it, but for pings: an address that is served, or that a
// set-field writes as source.
func (b *Builder) finishLocal() {
	translated := b.translatedSources()
	if slices.ContainsFunc(b.Interfaces, func(i *Interface) bool { return b.realmOf(i) != b.realmOf(b.Interfaces[0]) }) {
		b.learnRealms()
	}
	for _, i := range b.Interfaces {
		var own, shared, broadcasts []netip.Addr
		for _, j := range b.Interfaces {
			for _, a := range j.Own() {
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
		b.g.Nodes[i.local].Element = localOf(i.Name, own, shared, broadcasts)
		b.wireReplies(i)
	}
}

func localOf(name string, own, shared, broadcasts []netip.Addr) element.Classifier {
	c := element.Classifier{Default: toChain, Outs: localOuts}
	rule := func(suffix string, addrs []netip.Addr, of headerspace.Filter, out int) {
		if len(addrs) > 0 {
			f := SentTo(addrs).Intersect(of)
			c.Rules = append(c.Rules, element.Rule{Name: name + "/" + suffix, Filters: []headerspace.Filter{f}, Out: out})
		}
	}
	rule("address", own, headerspace.Filter{}, toHost)
	rule("ping", shared, EchoRequests, toHost)
	rule("broadcast", broadcasts, headerspace.Filter{}, toBroadcast)
	return c
}

// wireReplies leads what an interface's own addresses send: to a connected prefix of the realm straight out, to the rest by
// the router behind the interface, else by the interface's gateway.
func (b *Builder) wireReplies(i *Interface) {
	to := NewOuts("(rest)")
	l := element.Lookup{}
	for _, j := range b.Interfaces {
		if j.Prefix.IsValid() && b.realmOf(i) == b.realmOf(j) {
			l.Routes = append(l.Routes, element.Route{Prefix: j.Prefix.Masked(), Out: to.Number(j.Name)})
		}
	}
	rest := b.replyRest(i)
	if rest < 0 && len(l.Routes) < 2 {
		b.Wire(i.host, 0, i.out)
		return
	}
	if rest < 0 {
		rest = i.out
	}
	l.Outs = len(to.Names)
	reply := b.Add("", i.Name+"/reply", l)
	b.Wire(i.host, 0, reply)
	b.Wire(reply, 0, rest)
	for _, j := range b.Interfaces {
		if n := slices.Index(to.Names, j.Name); n > 0 {
			b.Wire(reply, n, j.out)
		}
	}
}

// replyRest is where an interface's replies go that lead to no connected prefix, -1 if nothing routes them: to where its
// router takes its own packets. A router is one that is linked to the interface and has a default route or, where the
// interface has no gateway, any before addresses are translated. A function between that drops replies has not seen the question,
// so that it would take the reply for a packet of no flow: what goes back to the interface goes past it.
func (b *Builder) replyRest(i *Interface) int {
	f, p := b.routerBehind(i, false)
	if f == nil {
		return -1
	}
	adjacent := b.next[i.Port()].to.Owner == f.Name
	if i.Spec.Gateway != "" && !(adjacent && f.Router().Routes().HasDefault) {
		return -1
	}
	if b.followedUpTo(i.Port(), f) && b.leadsBeyond(f, p, i.Prefix) {
		return b.reply("", i.Name+"/reply-rest", f, p, Edge{To: i.out})
	}
	return f.Router().Routes().Sends[p]
}

// leadsBeyond tells whether a router has routes by a port to hosts outside of the connected prefix there.
func (b *Builder) leadsBeyond(rt *Function, by string, connected netip.Prefix) bool {
	l := b.lookupOf(rt, by)
	leads := rt.Router().Routes().Leads
	back := func(out int) bool { return out < len(leads) && slices.Contains(leads[out], by) }
	if l.Table != nil {
		return slices.ContainsFunc(l.Table.Hops, func(h element.Hop) bool { return back(h.Out) })
	}
	return slices.ContainsFunc(l.Routes, func(r element.Route) bool { return back(r.Out) && r.Prefix != connected.Masked() })
}

// followedUpTo tells whether a function that drops replies to what it has not seen lies between a port and a router.
func (b *Builder) followedUpTo(at Port, rt *Function) bool {
	for {
		to := b.next[at].to
		f := b.FindFunction(to.Owner)
		if f == nil || f == rt {
			return false
		}
		if f.Kind.Traits().DropsReplies {
			return true
		}
		at = f.Port(Opposite(to.Name))
	}
}

// giveAnswersTheirTTL has errors that interfaces send into the chain leave with 64 where a router lets them pass.
func (b *Builder) giveAnswersTheirTTL() {
	for n, i := range b.Interfaces {
		if f, _ := b.routerBehind(i, true); f != nil {
			b.g.Interfaces[n].AnswerTTL = FullTTL
		}
	}
}

// routerBehind is the first router behind an interface, and its port: behind transparent functions and, if wanted, ones that translate. It
// is nil if another function comes first.
func (b *Builder) routerBehind(i *Interface, translating bool) (*Function, string) {
	to := b.past(i.Port(), func(t Traits) bool { return t.Transparent || translating && t.Translates })
	if f := b.FindFunction(to.Owner); f != nil && f.Router() != nil {
		return f, to.Name
	}
	return nil, ""
}

// readAddresses reads an interface's further addresses.
func (b *Builder) readAddresses(i *Interface) {
	for n, s := range i.Spec.Addresses {
		field := Index(i.Field+".addresses", n)
		a, problem := rules.ParseAddress(string(s))
		if !b.Problem(b.Object, field, problem) {
			continue
		}
		if why := i.Refuses(a); why != "" {
			b.Fail(b.Object, field, string(s), "%s", why)
			continue
		}
		i.Addresses = append(i.Addresses, a)
	}
}

// Refuses says why the interface cannot have a further address; empty: it can.
func (i *Interface) Refuses(a netip.Addr) string {
	if s, ok := rules.SpecialIn(rules.Range{First: a, Last: a}); ok {
		return "is a " + s.What + " address (" + s.Prefix.String() + "); give one that a host can have"
	}
	if !i.Prefix.IsValid() {
		return ""
	}
	broadcast, has := rules.Broadcast(i.Prefix)
	switch {
	case a == i.Prefix.Addr():
		return "is the interface's address already; leave it out here"
	case has && a == i.Prefix.Masked().Addr():
		return "is the network address of " + i.Prefix.Masked().String() + "; take another of its addresses"
	case has && a == broadcast:
		return "is the broadcast address of " + i.Prefix.Masked().String() + "; take another of its addresses"
	case string(i.Spec.Gateway) == a.String():
		return "is the interface's gateway; this address must belong to the chain"
	case slices.ContainsFunc(i.Spec.Neighbors, func(n v1alpha1.Neighbor) bool { return string(n.Address) == a.String() }):
		return "is a static neighbour's; this address must belong to the chain"
	}
	return ""
}

// checkAddresses finds addresses that belong to the net of another interface, where hosts ask for them.
func (b *Builder) checkAddresses() {
	for _, i := range b.Interfaces {
		for n, s := range i.Spec.Addresses {
			a, err := netip.ParseAddr(string(s))
			if err != nil || !slices.Contains(i.Addresses, a) {
				continue // has an error of its own
			}
			for _, j := range b.Interfaces {
				if i != j && j.Prefix.IsValid() && j.Prefix.Contains(a) && b.Sees(i, j.Port()) {
					b.Fail(b.Object, Index(i.Field+".addresses", n), string(s),
						"lies in %s of interface %q, whose hosts ask for it there; list it there", j.Prefix.Masked(), j.Name)
				}
			}
		}
	}
}

// translatedSources are the addresses that the chain writes as source: replies to them must get back into it.
func (b *Builder) translatedSources() []netip.Addr {
	var out []netip.Addr
	for _, s := range b.served {
		out = append(out, s.Addresses()...)
	}
	for i, n := range b.g.Nodes {
		if e, ok := n.Element.(element.SetField); ok && e.Field == headerspace.Src && !b.generated[i] {
			out = append(out, headerspace.AsAddr(e.Value))
		}
	}
	return out
}
