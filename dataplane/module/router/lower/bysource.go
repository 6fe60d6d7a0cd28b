package lower

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// split divides the packets of a route by their sources.
type split struct {
	name string       // of the lookup's output and of the elements: the route's field, which is no name of a port
	rest *routeOrigin // of packets from other sources
	from []sourceRoute

	prefixes int // of all entries
}

// sourceRoute says where packets of some sources go.
type sourceRoute struct {
	sources headerspace.Set
	*routeOrigin
}

// ports are those by which packets of the route may leave.
func (s *split) ports() []string {
	var out []string
	for _, o := range s.origins() {
		if o.port != "" && !slices.Contains(out, o.port) {
			out = append(out, o.port)
		}
	}
	return out
}

// origins are the split's routes, the rest's last.
func (s *split) origins() []*routeOrigin {
	var out []*routeOrigin
	for _, to := range s.from {
		out = append(out, to.routeOrigin)
	}
	return append(out, s.rest)
}

// split reads a route's entries by source, and notes where they lead.
func (rt *router) split(b *lower.Builder, f *lower.Function, at int, prefix netip.Prefix, r *v1alpha1.Route, near map[string]lower.Behind, route *routeOrigin) *split {
	rest := *route
	s := &split{name: lower.Index("routes", at), rest: &rest}
	var earlier headerspace.Set
	for i := range r.BySource {
		e := &r.BySource[i]
		field := lower.Index(lower.Index(f.Path+".routes", at)+".bySource", i)
		s.prefixes += len(e.From)
		sources, ok := readSources(b, f, field+".from", e.From, &earlier)
		if !leadsProperly(b, f, field, e) {
			continue
		}
		via, viaOK := nextHop(b, f, field, e.Type, e.Port, e.Via, near)
		if !ok || !viaOK {
			continue
		}
		if e.Port != "" {
			rt.routes.Beyond[string(e.Port)] = true
			if !via.IsValid() {
				rt.checkNextHop(b, f, field, prefix, e.Port, near[string(e.Port)])
			}
		}
		s.from = append(s.from, sourceRoute{sources, &routeOrigin{via: via, port: string(e.Port), kind: e.Type}})
	}
	rt.splits[s.name] = s
	return s
}

// Limits on what a router may divide by source. Each of its faces (ports with one source of ICMP errors) has
// classifiers of its own, so that all counts once for each. A router with the most of both, between
// two interfaces, takes 0.3 s and 240 MB to synthesize; behind 32 interfaces with a firewall each, 8 s
// and 2.3 GB, as the routes of each interface are written out.
const (
	mostSplits  = 1024 // routes with entries
	mostSources = 4096 // prefixes in entries
)

// splitsFit checks these bounds.
func (rt *router) splitsFit(b *lower.Builder, f *lower.Function, faces int) bool {
	sources := 0
	for _, s := range rt.splits {
		sources += s.prefixes
	}
	because := ""
	if faces > 1 {
		because = fmt.Sprintf(", as the router has different addresses at %d ports", faces)
	}
	fits := func(n, most int, what string) bool {
		if n*faces <= most {
			return true
		}
		b.Fail(f.Object, f.Path+".routes", "", "has %d %s; have at most %d%s", n, what, most/faces, because)
		return false
	}
	return fits(len(rt.splits), mostSplits, "routes with bySource") && fits(sources, mostSources, "prefixes in entries of bySource")
}

// leadsProperly checks an entry as the schema checks a route. The schema cannot have these rules:
// in lists of lists, their estimated cost is two and four times what an API server accepts.
func leadsProperly(b *lower.Builder, f *lower.Function, field string, e *v1alpha1.RouteBySource) bool {
	forward := e.Type == "" || e.Type == v1alpha1.RouteForward
	switch {
	case forward && e.Port == "":
		b.Fail(f.Object, field+".port", "", "set port: a route of type Forward leads to one")
		return false
	case !forward && (e.Port != "" || e.Via != ""):
		b.Fail(f.Object, field, string(e.Type), "leave port and via out: a route of type Discard, Unreachable or Prohibit leads nowhere")
		return false
	}
	return true
}

// readSources reads the prefixes of an entry. It warns of an entry that earlier ones leave nothing to.
func readSources(b *lower.Builder, f *lower.Function, field string, from []v1alpha1.Prefix, earlier *headerspace.Set) (all headerspace.Set, ok bool) {
	ok = true
	for k, text := range from {
		p, problem := rules.ParsePrefix(string(text))
		if b.Problem(f.Object, lower.Index(field, k), problem) {
			all = all.Union(headerspace.Prefix(p))
		} else {
			ok = false
		}
	}
	if ok && all.SubsetOf(*earlier) {
		b.Warn(f.Object, field, string(from[0]), "no packet gets here: earlier entries of the route have all of these sources; move this entry up, or leave it out")
	}
	*earlier = earlier.Union(all)
	return all, ok
}

// bySource makes the classifier of a split, for elements whose names begin with name, and leads
// what each of its routes has to where the caller says. The lookup has noted the next hop of the
// rest. Where an entry has another one, a lookup of one route notes that.
func bySource(b *lower.Builder, owner, name string, s *split, to func(*routeOrigin) lower.Edge) int {
	c := element.Classifier{Default: len(s.from), Outs: len(s.from) + 1}
	for i, r := range s.from {
		filter := headerspace.Filter{}.With(headerspace.Src, r.sources)
		c.Rules = append(c.Rules, element.Rule{Name: s.entry(name, i), Filters: []headerspace.Filter{filter}, Out: i})
	}
	n := b.Add(owner, name+"/"+s.name, c)
	for i, r := range s.from {
		next := to(r.routeOrigin)
		if r.port != "" && r.via != s.rest.via {
			everywhere := element.Route{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: r.via}
			hop := b.Add(owner, s.entry(name, i), element.Lookup{Routes: []element.Route{everywhere}, NoRoute: 0, Outs: 1})
			b.Lead(hop, 0, next)
			next = lower.Edge{To: hop}
		}
		b.Lead(n, i, next)
	}
	b.Lead(n, c.Default, to(s.rest))
	return n
}

// entry names the elements of an entry as its field is named.
func (s *split) entry(name string, i int) string {
	return fmt.Sprintf("%s/%s.bySource[%d]", name, s.name, i)
}
