package graph

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	register("monitor", func(k *v1alpha1.FunctionKinds) *v1alpha1.Monitor { return k.Monitor }, func(s *v1alpha1.Monitor) kind { return monitor{spec: s} })
}

type monitor struct {
	twoSided
	spec *v1alpha1.Monitor
}

// ports are its sides, and those to which classes are mirrored.
func (m monitor) ports() []string {
	all := slices.Clone(twoSides)
	for i := range m.spec.Classes {
		if to := m.spec.Classes[i].Mirror; to != nil && !slices.Contains(all, string(to.To)) {
			all = append(all, string(to.To))
		}
	}
	return all
}

// through: copies leave by the other ports, and none lets packets in.
func (m monitor) through(_ *function, in string) []string {
	if !slices.Contains(twoSides, in) {
		return nil
	}
	return append([]string{opposite(in)}, m.ports()[len(twoSides):]...)
}

// joinRealms: copies are for who looks at them, whatever addresses there are behind the port.
func (monitor) joinRealms(f *function, r realms) { r.join(port{f.name, inside}, port{f.name, outside}) }

// lower makes, per direction, a classifier "mon/inside" with a counter
// "mon/inside/<class>" on every output; behind the counters the ways rejoin. In front of the classifier the flows are
// observed, if that is wanted.
func (m monitor) lower(b *builder, f *function) {
	var list []element.Rule
	for i := range m.spec.Classes {
		c := &m.spec.Classes[i]
		if filter, ok := b.filter(f.object, index(f.path+".classes", i), &c.Match); ok {
			list = append(list, element.Rule{Name: string(c.Name), Filters: []headerspace.Filter{filter}, Out: len(list)})
		}
	}
	m.checkMirrors(b, f)
	observe := b.observe(f, m.spec)
	for _, side := range twoSides {
		if !b.reached[port{f.name, side}] {
			continue
		}
		prefix := f.name + "/" + side
		named := make([]element.Rule, len(list))
		for i, r := range list {
			named[i] = r
			named[i].Name = prefix + "/" + r.Name
		}
		n := b.add(f.name, prefix, element.Classifier{Rules: named, Default: len(list), Outs: len(list) + 1})
		f.entry[side] = Edge{To: n}
		if observe != nil {
			o := b.add(f.name, prefix+"/flows", *observe)
			b.wire(o, 0, n)
			f.entry[side] = Edge{To: o}
		}
		for i := range len(list) + 1 {
			name := prefix + "/other"
			if i < len(list) {
				name = named[i].Name
			}
			counter := b.add(f.name, name, element.Counter{})
			b.wire(n, i, counter)
			last := counter
			if i < len(list) {
				last = m.mirror(b, f, list[i].Name, name, counter)
			}
			b.exit(last, 0, f, opposite(side))
		}
	}
}

// mirror has copies of a class leave by the port that it names, with no next hop noted: that is the interface's matter. It returns the node behind which
// the packets go on.
func (m monitor) mirror(b *builder, f *function, class, name string, counter int) int {
	i := slices.IndexFunc(m.spec.Classes, func(c v1alpha1.MonitorClass) bool { return string(c.Name) == class })
	to := m.spec.Classes[i].Mirror
	if to == nil {
		return counter
	}
	tee := b.add(f.name, name+"/copies", element.Tee{Outs: 2})
	b.wire(counter, 0, tee)
	forget := b.add(f.name, name+"/copy", element.Lookup{Routes: []element.Route{{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0)}}, Outs: 1})
	b.wire(tee, 1, forget)
	b.exit(forget, 0, f, string(to.To))
	return tee
}

// checkMirrors looks at the ports to which classes are mirrored.
func (m monitor) checkMirrors(b *builder, f *function) {
	for i := range m.spec.Classes {
		to := m.spec.Classes[i].Mirror
		if to == nil {
			continue
		}
		field, p := index(f.path+".classes", i)+".mirror.to", port{f.name, string(to.To)}
		switch {
		case slices.Contains(twoSides, p.name):
			b.fail(f.object, field, p.name, "is a side of the monitor; take another name, and link it to where the copies go")
		case b.reached[p]:
			b.fail(f.object, field, p.name, "packets come in by the port, which only sends copies: link it with `direction: Forward`")
		}
	}
}

// observe is what a monitor notes of flows; nil: nothing.
func (b *builder) observe(f *function, spec *v1alpha1.Monitor) *element.Observe {
	if spec.Top == nil && spec.Export == nil {
		return nil
	}
	for _, other := range b.functions {
		if other == f {
			break
		}
		if m, ok := other.kind.(monitor); ok && (m.spec.Top != nil || m.spec.Export != nil) {
			b.fail(f.object, f.path, f.name, "monitor %q has `top` or `export` already; one monitor of a chain at most notes flows: leave them out here", other.name)
			return nil
		}
	}
	o := &element.Observe{Name: f.name, Entries: element.LeastEntries, Interval: time.Minute}
	if spec.Top != nil {
		b.top(f, spec.Top, o)
	}
	if spec.Export != nil {
		o.Export = b.export(f, spec.Export)
	}
	return o
}

func (b *builder) top(f *function, spec *v1alpha1.MonitorTop, o *element.Observe) {
	field := f.path + ".top"
	if len(spec.By) == 0 {
		b.fail(f.object, field+".by", "", "lists nothing; name Flow, Source, Destination, SourcePrefix or DestinationPrefix")
	}
	prefix, entries := cmp.Or(int(spec.PrefixLength), 24), cmp.Or(int(spec.Entries), 1024)
	if prefix < 1 || prefix > 31 {
		b.fail(f.object, field+".prefixLength", fmt.Sprint(prefix), "must be from 1 to 31")
	}
	if entries < element.LeastEntries || entries > element.MostEntries {
		b.fail(f.object, field+".entries", fmt.Sprint(entries), "must be from %d to %d", element.LeastEntries, element.MostEntries)
	}
	o.Entries, o.Interval = entries, b.within(f, field+".interval", cmp.Or(spec.Interval, "60s"))
	by := map[v1alpha1.TopBy]element.ObserveBy{
		v1alpha1.TopFlow:              {},
		v1alpha1.TopSource:            {PrefixLen: 32},
		v1alpha1.TopDestination:       {Destination: true, PrefixLen: 32},
		v1alpha1.TopSourcePrefix:      {PrefixLen: prefix},
		v1alpha1.TopDestinationPrefix: {Destination: true, PrefixLen: prefix},
	}
	first := map[v1alpha1.TopBy]int{}
	for i, name := range spec.By {
		list, ok := by[name]
		j, twice := first[name]
		switch {
		case !ok:
			b.fail(f.object, index(field+".by", i), string(name), "not known; write Flow, Source, Destination, SourcePrefix or DestinationPrefix")
		case twice:
			b.fail(f.object, index(field+".by", i), string(name), "is also %s; name each once", index("by", j))
		}
		first[name] = i
		o.Tops = append(o.Tops, list)
	}
}

// mostSampling is one packet in so many: IPFIX and the program have 16 bits for it.
const mostSampling = 65535

func (b *builder) export(f *function, spec *v1alpha1.FlowExport) *element.FlowExport {
	field := f.path + ".export"
	address, problem := rules.ParseAddress(string(spec.Collector.Address))
	b.problem(f.object, field+".collector.address", problem)
	port, sampling := cmp.Or(int(spec.Collector.Port), 4739), cmp.Or(int(spec.Sampling), 1)
	if port < 1 || port > 65535 {
		b.fail(f.object, field+".collector.port", fmt.Sprint(port), "must be from 1 to 65535")
	}
	if sampling < 1 || sampling > mostSampling {
		b.fail(f.object, field+".sampling", fmt.Sprint(sampling), "must be from 1 to %d: one in so many packets is exported", mostSampling)
	}
	return &element.FlowExport{
		Collector: netip.AddrPortFrom(address, uint16(port)), Sampling: sampling,
		Active: b.within(f, field+".activeTimeout", cmp.Or(spec.ActiveTimeout, "60s")),
		Idle:   b.within(f, field+".idleTimeout", cmp.Or(spec.IdleTimeout, "15s")),
	}
}

// within is a duration of the monitor's.
func (b *builder) within(f *function, field string, d v1alpha1.Duration) time.Duration {
	t, err := d.Parse()
	if err != nil || t < time.Second || t > time.Hour {
		b.fail(f.object, field, string(d), `not right here; write it like "90s", from 1s to 1h`)
	}
	return t
}
