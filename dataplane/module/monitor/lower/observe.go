package lower

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// observe is what a monitor notes of flows; nil: nothing.
func (m monitor) observe(b *lower.Builder, f *lower.Function) *element.Observe {
	spec := m.spec
	if spec.Top == nil && spec.Export == nil {
		return nil
	}
	for _, other := range b.Functions {
		if other == f {
			break
		}
		if m, ok := other.Kind.(monitor); ok && (m.spec.Top != nil || m.spec.Export != nil) {
			b.Fail(f.Object, f.Path, f.Name, "monitor %q has `top` or `export` already; one monitor of a chain at most notes flows: leave them out here", other.Name)
			return nil
		}
	}
	o := &element.Observe{Name: f.Name, Entries: element.LeastEntries, Interval: time.Minute}
	if spec.Top != nil {
		readTop(b, f, spec.Top, o)
	}
	if spec.Export != nil {
		o.Export = readExport(b, f, spec.Export)
	}
	return o
}

func readTop(b *lower.Builder, f *lower.Function, spec *v1alpha1.MonitorTop, o *element.Observe) {
	field := f.Path + ".top"
	if len(spec.By) == 0 {
		b.Fail(f.Object, field+".by", "", "lists nothing; name Flow, Source, Destination, SourcePrefix or DestinationPrefix")
	}
	prefix, entries := cmp.Or(int(spec.PrefixLength), 24), cmp.Or(int(spec.Entries), 1024)
	if prefix < 1 || prefix > 31 {
		b.Fail(f.Object, field+".prefixLength", fmt.Sprint(prefix), "must be from 1 to 31")
	}
	if entries < element.LeastEntries || entries > element.MostEntries {
		b.Fail(f.Object, field+".entries", fmt.Sprint(entries), "must be from %d to %d", element.LeastEntries, element.MostEntries)
	}
	o.Entries, o.Interval = entries, within(b, f, field+".interval", cmp.Or(spec.Interval, "60s"))
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
			b.Fail(f.Object, lower.Index(field+".by", i), string(name), "not known; write Flow, Source, Destination, SourcePrefix or DestinationPrefix")
		case twice:
			b.Fail(f.Object, lower.Index(field+".by", i), string(name), "is also %s; name each once", lower.Index("by", j))
		}
		first[name] = i
		o.Tops = append(o.Tops, list)
	}
}

// mostSampling is one packet in so many: IPFIX and the program have 16 bits for it.
const mostSampling = 65535

func readExport(b *lower.Builder, f *lower.Function, spec *v1alpha1.FlowExport) *element.FlowExport {
	field := f.Path + ".export"
	address, problem := rules.ParseAddress(string(spec.Collector.Address))
	if b.Problem(f.Object, field+".collector.address", problem) && !address.IsLoopback() { // it may be on the host of `sinterctl run`
		if s, ok := rules.SpecialIn(rules.Range{First: address, Last: address}); ok {
			b.Fail(f.Object, field+".collector.address", string(spec.Collector.Address), "is a %s address (%s); give one that a host can have", s.What, s.Prefix)
		}
	}
	port, sampling := cmp.Or(int(spec.Collector.Port), 4739), cmp.Or(int(spec.Sampling), 1)
	if port < 1 || port > 65535 {
		b.Fail(f.Object, field+".collector.port", fmt.Sprint(port), "must be from 1 to 65535")
	}
	if sampling < 1 || sampling > mostSampling {
		b.Fail(f.Object, field+".sampling", fmt.Sprint(sampling), "must be from 1 to %d: one in so many packets is exported", mostSampling)
	}
	return &element.FlowExport{
		Collector: netip.AddrPortFrom(address, uint16(port)), Sampling: sampling,
		Active: within(b, f, field+".activeTimeout", cmp.Or(spec.ActiveTimeout, "60s")),
		Idle:   within(b, f, field+".idleTimeout", cmp.Or(spec.IdleTimeout, "15s")),
	}
}

// within is a duration of the monitor's.
func within(b *lower.Builder, f *lower.Function, field string, d v1alpha1.Duration) time.Duration {
	t, err := d.Parse()
	if err != nil || t < time.Second || t > time.Hour {
		b.Fail(f.Object, field, string(d), `not right here; write it like "90s", from 1s to 1h`)
	}
	return t
}
