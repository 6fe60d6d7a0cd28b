package dispatch

import (
	"slices"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

const (
	protoICMP = 1
	protoTCP  = 6
	protoUDP  = 17
)

// maxRulesPerBox bounds what one box may cost: two unlucky port ranges alone make 900 masks.
const maxRulesPerBox = 64

// maxValues bounds how many values are listed one by one.
const maxValues = 16

// expresser writes boxes as what a device can match.
type expresser struct {
	caps *Capabilities
	// whole: rules ask for packets that are no fragments.
	whole bool
	// masks: ranges of these fields are written as masks, because rules that are combined with them are.
	masks [hs.NumFields]bool
	terns map[ternaryKey][]Cond
}

type ternaryKey struct {
	field hs.Field
	set   [setWords]uint64
}

func newExpresser(caps *Capabilities, whole bool) *expresser {
	return &expresser{caps: caps, whole: whole, terns: map[ternaryKey][]Cond{}}
}

// express is the box as matches that together hold exactly its packets (of those that the rules are about); ok
// is false if the device cannot say it.
func (e *expresser) express(b *box) (out []Match, ok bool) {
	out = []Match{{}}
	if e.whole {
		out[0].Conds[hs.Frag] = Cond{Value: hs.FragWhole, Mask: widthMask(hs.Frag)}
	}
	for _, i := range [...]int{dst, src, vlan, ttl} {
		if out, ok = e.spanned(out, b, i); !ok {
			return nil, false
		}
	}
	if out, ok = e.listed(out, hs.DSCP, b.sets[dscp]); !ok {
		return nil, false
	}
	return e.transports(out, b)
}

// spanned is every match with every condition that makes up a range.
func (e *expresser) spanned(in []Match, b *box, i int) ([]Match, bool) {
	conds, ok := e.span(spanFields[i], b.spans[i])
	if !ok {
		return nil, false
	}
	return times(in, spanFields[i], conds)
}

func (e *expresser) listed(in []Match, f hs.Field, s set) ([]Match, bool) {
	conds, ok := e.list(f, s)
	if !ok {
		return nil, false
	}
	return times(in, f, conds)
}

// times is every match with every condition.
func times(in []Match, f hs.Field, conds []Cond) ([]Match, bool) {
	if len(in)*len(conds) > maxRulesPerBox {
		return nil, false
	}
	if len(conds) == 1 {
		for i := range in {
			in[i].Conds[f] = conds[0]
		}
		return in, true
	}
	out := make([]Match, 0, len(in)*len(conds))
	for _, m := range in {
		for _, c := range conds {
			m.Conds[f] = c
			out = append(out, m)
		}
	}
	return out, true
}

// span is a range of a field as the device can ask for it.
func (e *expresser) span(f hs.Field, s span) ([]Cond, bool) {
	how := e.caps.Fields[f]
	switch {
	case s == full(f):
		return []Cond{{}}, true
	case how == Never:
		return nil, false
	case f == hs.VLAN && (s.lo == 0 || s.hi == Untagged):
		return e.untagged(s)
	case s.lo == s.hi:
		return []Cond{{Value: s.lo, Mask: widthMask(f)}}, true
	case how == Ranged && !e.masks[f]:
		return []Cond{{Value: s.lo, Last: s.hi}}, true
	case how == Exact:
		return each(s, widthMask(f))
	}
	return prefixes(s, width(f)), true
}

// untagged is a range of VLANs that holds untagged frames or VLAN 0, as the device can ask for it: the chain takes a
// frame with a priority tag (VLAN 0) for an untagged one, the device does not.
func (e *expresser) untagged(s span) (out []Cond, ok bool) {
	tags := span{max(s.lo, 1), min(s.hi, Untagged-1)}
	switch {
	case s.hi == Untagged && tags.lo == 1:
		return []Cond{{}}, true
	case s.hi == Untagged && !e.caps.Untagged, s.hi == 0:
		return nil, false
	}
	ok = true
	if tags.lo <= tags.hi {
		out, ok = e.span(hs.VLAN, tags)
	}
	if s.hi == Untagged {
		mask := widthMask(hs.VLAN)
		out = append(out, Cond{Value: Untagged, Mask: mask}, Cond{Value: 0, Mask: mask})
	}
	return out, ok
}

// each is the values of a range one by one.
func each(s span, mask uint32) (out []Cond, ok bool) {
	if s.hi-s.lo >= maxValues {
		return nil, false
	}
	for v := s.lo; v <= s.hi; v++ {
		out = append(out, Cond{Value: v, Mask: mask})
	}
	return out, true
}

// list is a set of a field as the device can ask for it, absence left out.
func (e *expresser) list(f hs.Field, s set) ([]Cond, bool) {
	if s == nil {
		return []Cond{{}}, true
	}
	switch e.caps.Fields[f] {
	case Never:
		return nil, false
	case Masked, Ranged:
		key := ternaryKey{f, [setWords]uint64(s)}
		out, ok := e.terns[key]
		if !ok {
			out = ternary(s, width(f))
			e.terns[key] = out
		}
		return slices.Clone(out), true
	default:
		var out []Cond
		for v := uint32(0); v <= widthMask(f); v++ {
			if s.has(v) {
				out = append(out, Cond{Value: v, Mask: widthMask(f)})
			}
		}
		return out, len(out) <= maxValues
	}
}

// transport is what packets of a protocol have behind the IP header.
type transport struct {
	proto uint32
	spans []int
	sets  []int
}

var transports = [...]transport{
	{proto: protoTCP, spans: []int{sport, dport}, sets: []int{tcpFlags}},
	{proto: protoUDP, spans: []int{sport, dport}},
	{proto: protoICMP, sets: []int{icmpType, icmpCode}},
}

// transports adds what the box asks of protocols and their headers.
func (e *expresser) transports(in []Match, b *box) (out []Match, ok bool) {
	if !b.readsTransport() {
		return e.listed(in, hs.Proto, b.sets[proto].trim(hs.Proto))
	}
	if e.caps.Fields[hs.Proto] == Never {
		return nil, false
	}
	others := newSet()
	others.add(0, 255)
	others = others.and(b.sets[proto])
	for _, t := range transports {
		others = others.without(valueSet(t.proto), hs.Proto)
		if !b.sets[proto].has(t.proto) || !b.absent(t) {
			continue
		}
		more, ok := e.transport(slices.Clone(in), b, t)
		if !ok || len(out)+len(more) > maxRulesPerBox {
			return nil, false
		}
		out = append(out, more...)
	}
	if b.absent(transport{}) && !others.empty() {
		more, ok := e.listed(slices.Clone(in), hs.Proto, others)
		if !ok || len(out)+len(more) > maxRulesPerBox {
			return nil, false
		}
		out = append(out, more...)
	}
	return out, true
}

func valueSet(v uint32) set {
	s := newSet()
	s.add(v, v)
	return s
}

// transport adds the conditions on one protocol's header.
func (e *expresser) transport(in []Match, b *box, t transport) ([]Match, bool) {
	in, ok := times(in, hs.Proto, []Cond{{Value: t.proto, Mask: widthMask(hs.Proto)}})
	for _, i := range t.spans {
		if !ok {
			return nil, false
		}
		f, s := spanFields[i], b.spans[i]
		if s.lo > widthMask(f) {
			return nil, true // only packets without ports
		}
		if s.hi = min(s.hi, widthMask(f)); s == (span{0, widthMask(f)}) {
			continue
		}
		in, ok = e.spanned(in, &box{spans: with(b.spans, i, s)}, i)
	}
	for _, i := range t.sets {
		if !ok {
			return nil, false
		}
		present := b.sets[i].present(setFields[i])
		in, ok = e.listed(in, setFields[i], present)
	}
	return in, ok
}

func with(spans [len(spanFields)]span, i int, s span) [len(spanFields)]span {
	spans[i] = s
	return spans
}

// present is the set among the values that a header can have; nil if it has all of them.
func (s set) present(f hs.Field) set {
	for v := uint32(0); v <= widthMask(f); v++ {
		if !s.has(v) {
			return s
		}
	}
	return nil
}

var (
	transportSpans = [...]int{sport, dport}
	transportSets  = [...]int{tcpFlags, icmpType, icmpCode}
)

// readsTransport tells whether the box asks anything of what is behind the IP header, were it only that it is there.
func (b *box) readsTransport() bool {
	for _, i := range transportSpans {
		if b.spans[i] != full(spanFields[i]) {
			return true
		}
	}
	for _, i := range transportSets {
		if b.sets[i] != nil {
			return true
		}
	}
	return false
}

// absent tells whether the box holds packets that lack all that those of the protocol lack.
func (b *box) absent(t transport) bool {
	for _, i := range transportSpans {
		if !slices.Contains(t.spans, i) && b.spans[i].hi != full(spanFields[i]).hi {
			return false
		}
	}
	for _, i := range transportSets {
		if f := setFields[i]; !slices.Contains(t.sets, i) && !b.sets[i].has(full(f).hi) {
			return false
		}
	}
	return true
}

// protocols are those of which the box holds whole packets.
func (b *box) protocols() set {
	out := newSet()
	out.add(0, 255)
	for _, t := range transports {
		if !b.absent(t) {
			out = out.without(valueSet(t.proto), hs.Proto)
		}
	}
	if !b.absent(transport{}) {
		usual := newSet()
		for _, t := range transports {
			usual.add(t.proto, t.proto)
		}
		out = out.and(usual)
	}
	return out.and(b.sets[proto])
}

// withoutTransport is the box with all that it asks of what is behind the IP header forgotten.
func (b box) withoutTransport() box {
	for _, i := range transportSpans {
		b.spans[i] = full(spanFields[i])
	}
	for _, i := range transportSets {
		b.sets[i] = nil
	}
	return b
}

// around is the smallest box around b that the device can ask for, and its matches.
func (e *expresser) around(b *box) (box, []Match) {
	c := *b
	for i, f := range spanFields {
		if _, ok := e.span(f, c.spans[i]); !ok && i != sport && i != dport {
			c.spans[i] = full(f)
		}
	}
	if _, ok := e.list(hs.DSCP, c.sets[dscp]); !ok {
		c.sets[dscp] = nil
	}
	if m, ok := e.express(&c); ok {
		return c, m
	}
	// The costly or impossible, step by step; what had ports stays TCP and UDP.
	c.sets[proto] = b.protocols().trim(hs.Proto)
	for _, widen := range []func(){
		func() { c.sets[tcpFlags], c.sets[icmpType], c.sets[icmpCode] = nil, nil, nil },
		func() { c.spans[sport] = full(hs.SPort) },
		func() { c.spans[dport] = full(hs.DPort) },
		func() { c.sets[proto] = nil },
		func() { c.spans[vlan], c.spans[ttl], c.sets[dscp] = full(hs.VLAN), full(hs.TTL), nil },
		func() { c.spans[src] = full(hs.Src) },
	} {
		widen()
		if m, ok := e.express(&c); ok {
			return c, m
		}
	}
	c = anything()
	m, _ := e.express(&c)
	return c, m
}

// inside is the box among packets of those of the usual protocols of which the device can say it: what asks for "not this
// port" holds every other protocol too, and what asks for ICMP types need not be lost for TCP.
func (e *expresser) inside(b *box) (box, []Match) {
	c := *b
	c.sets[proto] = newSet()
	for _, t := range transports {
		one := *b
		one.sets[proto] = one.sets[proto].and(valueSet(t.proto))
		if m, ok := e.express(&one); ok && len(m) > 0 {
			c.sets[proto].add(t.proto, t.proto)
		}
	}
	m, _ := e.express(&c)
	return c, m
}
