package graph

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

// Inputs is what a chain refers to.
type Inputs struct {
	// Functions are the NetworkFunctions; those of the chain's namespace count.
	Functions []*v1alpha1.NetworkFunction
	// Files is the content of the files that functions name.
	Files rules.Files
	// Tables has very many routes of files in tables of their own (element.Table), as they were built last, and keeps these; nil: all routes are in
	// lists.
	Tables *tables.Memory
}

// Build lowers a chain to its graph of elements. The graph is nil if some finding
// is an error. The chain must have its defaults set (package manifest and the API
// server do).
func Build(chain *v1alpha1.ServiceChain, in Inputs) (*Graph, finding.List) {
	b := &builder{
		in:     in,
		object: finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: chain.Namespace, Name: chain.Name},
		g:      &Graph{Chain: chain.Name},
		next:   map[port]wire{}, hopless: map[port]bool{}, ofAnswers: map[int]bool{}, known: map[port][]netip.Prefix{}, tabled: map[port][]tabled{},
		limitsAt: map[string]place{}, exempted: map[string]headerspace.Set{},
	}
	b.resolve(chain)
	b.link(&chain.Spec)
	b.unlinked = b.findings.HasErrors()
	b.checkDevices()
	b.reach()
	if !b.unlinked {
		b.checkReached()
		b.checkInterfaces()
		b.checkAddresses()
	}
	b.lowerInterfaces()
	b.untagged = !setsTags(b.functions) && !slices.ContainsFunc(b.interfaces, func(i *chainInterface) bool { return len(i.spec.VLANs) > 0 })
	for _, f := range b.functions {
		f.entry = map[string]Edge{}
		f.kind.lower(b, f)
	}
	if !b.unlinked {
		b.checkTranslated()
		b.wireExits()
		b.limitSubscribers()
		b.checkPools()
		b.checkVirtuals()
		b.finishLocal()
		b.routeRejections()
		b.giveAnswersTheirTTL()
		b.refuseSources()
		b.addProxies()
		b.checkTranslations()
	}
	if !b.findings.HasErrors() {
		b.checkLoops()
	}
	if b.findings.HasErrors() {
		return nil, b.findings
	}
	in.Tables.Forget()
	return b.g, b.findings
}

type builder struct {
	in       Inputs
	object   finding.Object
	findings finding.List

	interfaces []*chainInterface
	functions  []*function
	next       map[port]wire // where packets go that leave by a port
	realm      realms
	reached    map[port]bool           // ports by which packets come in
	known      map[port][]netip.Prefix // by realm: see learnRealms
	tabled     map[port][]tabled       // likewise

	g     *Graph
	exits []exit
	pools []pooled
	// limitsAt is where NAPTs' limits of subscribers are written, by the reason to drop that they give.
	limitsAt map[string]place
	// virtuals are the virtual addresses of load balancers.
	virtuals []virtual

	// untagged says that no packet of the chain has a VLAN tag.
	untagged bool
	// ofAnswers are nodes to which only packets come that the chain itself generated.
	ofAnswers map[int]bool

	rejections []rejection
	vias       []via
	// exempted are the inside addresses to which a NAPT lets packets pass as they are, by its function's name.
	exempted map[string]headerspace.Set
	// hopless are router ports for which a warning was given about routes without a next hop.
	hopless map[port]bool
	// unlinked says that links have errors: what lies behind a port is not known.
	unlinked bool
}

// exit is an output of a node by which packets leave their function.
type exit struct {
	node, out int
	port      port
}

// add appends a node and tells its index.
func (b *builder) add(function, name string, e element.Element) int {
	_, outs := e.Ports()
	n := Node{Name: name, Function: function, Element: e, Out: make([]Edge, outs)}
	for i := range n.Out {
		n.Out[i].To = -1
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return len(b.g.Nodes) - 1
}

// wire leads a node's output to a node's only input.
func (b *builder) wire(from, out, to int) { b.g.Nodes[from].Out[out] = Edge{To: to} }

// exit leads a node's output out of the function.
func (b *builder) exit(from, out int, f *function, name string) {
	b.exits = append(b.exits, exit{from, out, port{f.name, name}})
}

// wireExits leads the exits of functions and interfaces to where their links go.
func (b *builder) wireExits() {
	entry := map[port]Edge{}
	for _, i := range b.interfaces {
		entry[port{i.name, ""}] = Edge{To: i.out}
	}
	byName := map[string]*function{}
	for _, f := range b.functions {
		byName[f.name] = f
		for name, e := range f.entry {
			entry[port{f.name, name}] = e
		}
	}
	unlinked := map[string]int{}
	said := map[port]bool{}
	for _, x := range b.exits {
		if w, ok := b.next[x.port]; ok {
			if e, ok := entry[w.to]; ok { // else it has errors
				b.g.Nodes[x.node].Out[x.out] = e
			}
			continue
		}
		f := byName[x.port.owner]
		name := x.port.owner + "/unlinked"
		if _, ok := unlinked[name]; !ok {
			owner := ""
			if f != nil {
				owner = f.name
			}
			unlinked[name] = b.add(owner, name, element.Discard{Reason: name})
		}
		b.wire(x.node, x.out, unlinked[name])
		if f != nil && !said[x.port] {
			said[x.port] = true
			b.warn(b.object, f.declared, x.port.String(), "the port is not linked; packets that leave by it are dropped as %q: link it, or let nothing go there", name)
		}
	}
}

func (b *builder) fail(o finding.Object, field, value, format string, args ...any) {
	b.findings = append(b.findings, finding.Finding{Object: o, Field: field, Value: value, Message: fmt.Sprintf(format, args...)})
}

// missing fails for a reference to something that is not there.
func (b *builder) missing(o finding.Object, field, value, format string, args ...any) {
	b.fail(o, field, value, format, args...)
	b.findings[len(b.findings)-1].Code = finding.NotFound
}

func (b *builder) warn(o finding.Object, field, value, format string, args ...any) {
	b.findings = append(b.findings, finding.Finding{
		Severity: finding.Warning, Object: o, Field: field, Value: value, Message: fmt.Sprintf(format, args...),
	})
}

// problem tells a problem of package rules; ok is false if it is an error.
func (b *builder) problem(o finding.Object, field string, p *rules.Problem) (ok bool) {
	if p == nil {
		return true
	}
	if p.Field != "" {
		field += "." + p.Field
	}
	if p.Warning {
		b.warn(o, field, p.Value, "%s", p.Message)
		return true
	}
	b.fail(o, field, p.Value, "%s", p.Message)
	return false
}

// filter is the packets that a match means; ok is false if it has errors.
func (b *builder) filter(o finding.Object, field string, m *v1alpha1.Match) (filter headerspace.Filter, ok bool) {
	filter, problems := rules.Filter(m)
	ok = true
	for i := range problems {
		ok = b.problem(o, field, &problems[i]) && ok
	}
	return filter, ok
}
