// Package lower lowers functions that look into packets: the packets that rules are for go by an inspector.
package lower

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	lower.Register("inspect", func(k *v1alpha1.FunctionKinds) *v1alpha1.Inspect { return k.Inspect }, func(s *v1alpha1.Inspect) lower.Kind { return inspection{spec: s} })
}

type inspection struct {
	lower.TwoSided
	spec *v1alpha1.Inspect
}

// inspected are the rules for the same packets, which are looked for together.
type inspected struct {
	from    v1alpha1.Side
	streams *element.InspectStreams // absent: each packet by itself
	filters []headerspace.Filter
	rules   []element.InspectRule
	node    int // of the inspector; -1: not made yet
}

// maxInspected is for how many different kinds of packets a function may have rules: each is matched by itself.
const maxInspected = 64

// maxInspectRules is how many rules an inspector has at most.
const maxInspectRules = 4096

func (g *inspected) drops() bool {
	return slices.ContainsFunc(g.rules, func(r element.InspectRule) bool { return r.Action.Drop != "" })
}

// Lower makes, for the rules of each kind of packets, a classifier per direction, "ids/inside", and an inspector "ids/inspect" that
// both share, the later ones with a number. What a rule drops is counted as "ids/matched", fragments as "ids/fragment".
func (n inspection) Lower(b *lower.Builder, f *lower.Function) {
	groups := readInspections(b, f, n.spec)
	fragment := b.AddOnce(f, f.Name+"/fragment")
	for side, name := range lower.TwoSides {
		if !b.Reached(f.Port(name)) {
			continue
		}
		var ends []lower.Edge // outputs that lead to what comes next
		for i, g := range groups {
			if !lower.From(g.from, name) {
				continue
			}
			c := b.Add(f.Name, numbered(f.Name+"/"+name, i), g.classifier(n.spec.Fragments))
			join(b, f, name, ends, c)
			ends = []lower.Edge{{To: c, Port: inspectPasses}, inspectFrom(b, f, g, i, c, side)}
			if g.drops() && n.spec.Fragments != v1alpha1.FragmentsPass {
				b.Wire(c, inspectFragments, fragment())
			}
		}
		if ends == nil { // no rule is for this side
			c := b.Add(f.Name, f.Name+"/"+name, element.Classifier{Default: inspectPasses, Outs: 1})
			join(b, f, name, nil, c)
			ends = []lower.Edge{{To: c, Port: inspectPasses}}
		}
		for _, e := range ends {
			b.Exit(e.To, e.Port, f, lower.Opposite(name))
		}
	}
}

// Outputs of the classifier before an inspector.
const (
	inspectPasses = iota
	inspectMatches
	inspectFragments
)

// join leads what came before to a node; nothing did: packets come in there.
func join(b *lower.Builder, f *lower.Function, side string, ends []lower.Edge, node int) {
	for _, e := range ends {
		b.Wire(e.To, e.Port, node)
	}
	if ends == nil {
		f.Entry[side] = lower.Edge{To: node}
	}
}

// inspectFrom leads a classifier to the inspector of its packets, and tells by which output these leave it.
func inspectFrom(b *lower.Builder, f *lower.Function, g *inspected, i, classifier, side int) lower.Edge {
	e := element.Inspect{Rules: g.rules, Streams: g.streams, TwoSided: g.from == "" && b.Reached(f.Port(lower.Inside)) && b.Reached(f.Port(lower.Outside))}
	if e.Streams != nil && !e.TwoSided && side == 1 {
		s := *e.Streams
		s.FromOutside = true
		e.Streams = &s
	}
	if g.node < 0 {
		g.node = b.Add(f.Name, numbered(f.Name+"/inspect", i), e)
	}
	in := 0
	if e.TwoSided {
		in = side
	}
	b.Lead(classifier, inspectMatches, lower.Edge{To: g.node, Port: in})
	return lower.Edge{To: g.node, Port: e.Leaves(in)}
}

func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i+1)
}

// withPorts are packets that have ports.
var withPorts = headerspace.Range(0, 65535)

func (g *inspected) classifier(fragments v1alpha1.InspectFragments) element.Classifier {
	c := element.Classifier{Default: inspectPasses, Outs: inspectMatches + 1}
	whole, parts := element.Rule{Name: "inspect", Out: inspectMatches}, element.Rule{Name: "fragment", Out: inspectFragments}
	for _, p := range g.filters {
		whole.Filters = append(whole.Filters, p.Intersect(lower.WholePackets).And(headerspace.SPort, withPorts))
		parts.Filters = append(parts.Filters, p.Intersect(lower.Fragments).Without(headerspace.SPort).Without(headerspace.DPort))
	}
	c.Rules = append(c.Rules, whole)
	if g.drops() && fragments != v1alpha1.FragmentsPass {
		c.Rules, c.Outs = append(c.Rules, parts), inspectFragments+1
	}
	return c
}

// readInspections gives the rules by the packets that they are for.
func readInspections(b *lower.Builder, f *lower.Function, spec *v1alpha1.Inspect) []*inspected {
	l := inspectReader{b: b, f: f, spec: spec, streams: inspectStreams(b, f, spec.Streams)}
	if action, ok := l.action(); ok {
		l.own(action)
	}
	if spec.RulesFrom != nil {
		l.fromFile(spec.RulesFrom)
	}
	return l.groups
}

type inspectReader struct {
	b       *lower.Builder
	f       *lower.Function
	spec    *v1alpha1.Inspect
	streams *element.InspectStreams
	groups  []*inspected
}

// streamsKnown is how many streams are known for each of which bytes are kept.
const streamsKnown = 16

// inspectStreams reads how far streams are looked at; absent: by the defaults.
func inspectStreams(b *lower.Builder, f *lower.Function, spec *v1alpha1.InspectStreams) *element.InspectStreams {
	s := v1alpha1.DefaultInspectStreams()
	if spec != nil {
		s = *spec
	}
	return &element.InspectStreams{
		Depth: int(s.Depth), Max: int(s.Max), Known: streamsKnown * int(s.Max), Full: f.Name + "/full",
		Timeout: b.Timeout(f, f.Path+".streams.timeout", s.Timeout),
	}
}

// add puts a rule of streams, or of single packets, beside those for the same packets. It tells why it does not.
func (l *inspectReader) add(from v1alpha1.Side, stream bool, filters []headerspace.Filter, r element.InspectRule) (why string) {
	for _, g := range l.groups {
		if g.from != from || stream != (g.streams != nil) || !slices.EqualFunc(g.filters, filters, headerspace.Filter.Same) {
			continue
		}
		if len(g.rules) == maxInspectRules {
			return fmt.Sprintf("is one more than a function may look for in the same packets, which is %d; divide them among several functions", maxInspectRules)
		}
		g.rules = append(g.rules, r)
		return ""
	}
	if len(l.groups) == maxInspected {
		return fmt.Sprintf("is for further addresses or ports; a function may have rules for %d sets of them: divide the rules among several functions", maxInspected)
	}
	g := &inspected{from: from, filters: filters, rules: []element.InspectRule{r}, node: -1}
	if stream {
		g.streams = l.streams
	}
	l.groups = append(l.groups, g)
	return ""
}

func (l *inspectReader) fail(field, value, format string, args ...any) {
	l.b.Fail(l.f.Object, l.f.Path+"."+field, value, format, args...)
}

func (l *inspectReader) action() (element.InspectAction, bool) {
	dscp := l.spec.Mark
	switch l.spec.Action {
	case "", v1alpha1.InspectDrop:
		return element.InspectAction{Drop: l.f.Name + "/matched"}, true
	case v1alpha1.InspectCount:
		return element.InspectAction{}, true
	case v1alpha1.InspectMark:
		if dscp == nil || *dscp < 0 || *dscp > 63 {
			l.fail("mark", "", "must be a DSCP, from 0 to 63, with action Mark")
			return element.InspectAction{}, false
		}
		return element.InspectAction{Mark: true, DSCP: uint8(*dscp)}, true
	}
	l.fail("action", string(l.spec.Action), "must be Drop, Mark or Count")
	return element.InspectAction{}, false
}

// own reads the rules that the function has itself.
func (l *inspectReader) own(action element.InspectAction) {
	s := l.spec
	if len(s.Patterns)+len(s.Regex)+len(s.DNS)+len(s.SNI)+len(s.HTTPHost) == 0 {
		if s.RulesFrom == nil {
			l.fail("patterns", "", "there is nothing to look for; give patterns, regex, dns, sni, httpHost or rulesFrom")
		}
		return
	}
	match := s.Match
	if match.Protocol == nil {
		match.Protocol = new(intstr.FromString("udp"))
	}
	filter, ok := l.b.Filter(l.f.Object, l.f.Path, &match)
	stream := filter.Get(headerspace.Proto).Equal(headerspace.Of(6))
	if ok && !stream && !filter.Get(headerspace.Proto).Equal(headerspace.Of(17)) {
		l.fail("protocol", match.Protocol.String(), "is not looked into; write udp or tcp")
		ok = false
	}
	names := inspectNames(s)
	for _, n := range names {
		if len(n.list) > 0 && ok && stream == (n.buffer == element.BufferDNSQuery) {
			l.fail(n.field, string(n.list[0]), "is of the other protocol: dns is asked for by udp, sni and httpHost by tcp; write the protocol, or another function for them")
			ok = false
		}
	}
	each := func(field string, i int, value string, part element.InspectPart, message string) {
		if message == "" && ok {
			message = l.add(s.From, stream, []headerspace.Filter{filter}, element.InspectRule{Name: lower.Index(field, i), Parts: []element.InspectPart{part}, Action: action})
			ok = message == ""
		}
		if message != "" {
			l.fail(lower.Index(field, i), value, "%s", message)
		}
	}
	for i, p := range s.Patterns {
		text, message := rules.Content(string(p))
		each("patterns", i, string(p), element.InspectPart{Text: text}, message)
	}
	for i, r := range s.Regex {
		each("regex", i, string(r), element.InspectPart{Regex: string(r)}, rules.CheckRegex(string(r)))
	}
	for _, n := range names {
		for i, name := range n.list {
			part, message := inspectName(string(name))
			part.Buffer = n.buffer
			each(n.field, i, string(name), part, message)
		}
	}
}

// namesOf are names that a function looks for in one buffer.
type namesOf struct {
	field  string
	list   []v1alpha1.InspectName
	buffer element.Buffer
}

func inspectNames(s *v1alpha1.Inspect) []namesOf {
	return []namesOf{{"dns", s.DNS, element.BufferDNSQuery}, {"sni", s.SNI, element.BufferTLSSNI}, {"httpHost", s.HTTPHost, element.BufferHTTPHost}}
}

// inspectName is a name; with *. before it, one that ends so.
func inspectName(name string) (element.InspectPart, string) {
	below, wild := strings.CutPrefix(name, "*.")
	for label := range strings.SplitSeq(strings.TrimSuffix(below, "."), ".") {
		if len(label) < 1 || len(label) > 63 || strings.Trim(label, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return element.InspectPart{}, `not a name of the DNS; write it like "www.example.com", or "*.example.com" for all names below example.com`
		}
	}
	text := []byte(strings.TrimSuffix(below, "."))
	part := element.InspectPart{NoCase: true, AtEnd: true}
	if wild {
		part.Text = append([]byte{'.'}, text...)
		return part, ""
	}
	part.Text, part.Depth = text, len(text)
	return part, ""
}

// inspectBuffers are those of rules in files.
var inspectBuffers = map[string]element.Buffer{
	"": element.BufferPayload, "dns.query": element.BufferDNSQuery, "tls.sni": element.BufferTLSSNI, "http.host": element.BufferHTTPHost,
}

func (l *inspectReader) fromFile(from *v1alpha1.InspectRulesFrom) {
	list, read := l.b.In.Files.Inspections[from.Name()]
	if !read {
		l.fail("rulesFrom", from.Name(), "the file was not read")
		return
	}
	for _, r := range list {
		rule := element.InspectRule{Name: r.Name}
		if r.Drop {
			rule.Action.Drop = l.f.Name + "/matched"
		}
		for _, p := range r.Parts {
			rule.Parts = append(rule.Parts, element.InspectPart{
				Buffer: inspectBuffers[p.Buffer], Text: p.Text, NoCase: p.NoCase, Offset: p.Offset, Depth: p.Depth, AtEnd: p.AtEnd, Regex: p.Regex,
			})
		}
		if why := l.add(l.spec.From, r.Stream, r.Filters, rule); why != "" {
			l.fail("rulesFrom", from.Name()+":"+strconv.Itoa(r.Line), "%s", why)
			return
		}
	}
}
