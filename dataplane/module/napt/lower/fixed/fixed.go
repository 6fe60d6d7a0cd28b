// Package fixed reads the fixed translations of a NAPT: port forwards, and addresses that stand for others.
package fixed

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// MostAddresses is how many addresses `static` translates at most.
const MostAddresses = 4096

// Report takes what is wrong with a field of the NAPT. Of a warning nothing is wrong enough to refuse it.
type Report func(field string, problem rules.Problem)

// Mapping is a translation, and the field that says it.
type Mapping struct {
	element.StaticMapping
	Field string
}

type reader struct {
	report Report
	pool   []netip.Addr
	list   []Mapping
	bad    bool
}

// Read gives the translations of a NAPT whose pool is given. What cannot be read is reported and left out.
func Read(spec *v1alpha1.NAPT, pool []netip.Addr, report Report) []Mapping {
	r := reader{pool: pool, report: report}
	for i := range spec.PortForwards {
		r.forward(fmt.Sprintf("portForwards[%d]", i), &spec.PortForwards[i])
	}
	left := MostAddresses
	for i := range spec.Static {
		r.static(fmt.Sprintf("static[%d]", i), &spec.Static[i], &left)
	}
	r.checkSides()
	return r.list
}

func (r *reader) fail(field, value, format string, args ...any) {
	r.bad = true
	r.report(field, rules.Problem{Value: value, Message: fmt.Sprintf(format, args...)})
}

// problem tells whether there is none but a warning.
func (r *reader) problem(field string, p *rules.Problem) bool {
	if p == nil {
		return true
	}
	r.report(field, *p)
	r.bad = r.bad || !p.Warning
	return p.Warning
}

// add takes a translation in, unless something was wrong with it, or one before it has its addresses and ports on some side.
func (r *reader) add(field string, m element.StaticMapping) {
	if r.bad {
		return
	}
	for _, other := range r.list {
		for side, what := range []string{"inside", "outside"} {
			if !overlap(m, other.StaticMapping, side) {
				continue
			}
			if side == element.StaticInside {
				r.fail(field+"."+what, m.End(side), "%s has it already, as %s: what the host sends would leave from one of the two alone; give each addresses or ports of its own",
					other.Field, other.End(side))
			} else {
				r.fail(field+"."+what, m.End(side), "%s has it already, as %s; give each addresses or ports of its own", other.Field, other.End(side))
			}
			return
		}
	}
	r.list = append(r.list, Mapping{m, field})
}

// overlap tells whether two translations have an address and port in common.
func overlap(a, b element.StaticMapping, side int) bool {
	if !a.Addresses(side).Overlaps(b.Addresses(side)) {
		return false
	}
	if a.Proto == 0 || b.Proto == 0 {
		return true
	}
	p, q := int(a.Port(side)), int(b.Port(side))
	return a.Proto == b.Proto && p < q+b.Ports && q < p+a.Ports
}

func (r *reader) forward(field string, spec *v1alpha1.PortForward) {
	r.bad = false
	m := element.StaticMapping{Proto: 6}
	if spec.Protocol == v1alpha1.ServiceUDP {
		m.Proto = 17
	}
	m.Inside = r.host(field+".inside", string(spec.Inside))
	m.Outside = r.outside(field+".outside", string(spec.Outside))
	m.OutsidePort, m.Ports = r.ports(field+".outsidePorts", spec.OutsidePorts)
	m.InsidePort = m.OutsidePort
	if spec.InsidePorts != nil {
		first, n := r.ports(field+".insidePorts", spec.InsidePorts)
		if m.InsidePort = first; n != m.Ports && !r.bad {
			r.fail(field+".insidePorts", spec.InsidePorts.String(), "holds %s, outsidePorts %s; give as many inside as outside", count(n), count(m.Ports))
		}
	}
	r.add(field, m)
}

func count(n int) string {
	if n == 1 {
		return "1 port"
	}
	return fmt.Sprintf("%d ports", n)
}

// host reads an address that hosts can have.
func (r *reader) host(field, s string) netip.Prefix {
	a, problem := rules.ParseAddress(s)
	if !r.problem(field, problem) {
		return netip.Prefix{}
	}
	p := netip.PrefixFrom(a, 32)
	r.special(field, s, p)
	return p
}

// special refuses addresses that no host can have.
func (r *reader) special(field, text string, p netip.Prefix) {
	if s, ok := rules.SpecialIn(rangeOf(p)); ok {
		r.fail(field, text, "holds %s addresses (%s); give addresses that hosts can have", s.What, s.Prefix)
	}
}

func rangeOf(p netip.Prefix) rules.Range {
	iv := headerspace.Prefix(p).Intervals()[0]
	return rules.Range{First: p.Addr(), Last: headerspace.AsAddr(iv.Hi)}
}

// outside is the outside address of a port forward: the only one of the pool, if none is given.
func (r *reader) outside(field, s string) netip.Prefix {
	switch {
	case s != "":
		return r.host(field, s)
	case len(r.pool) == 1:
		return netip.PrefixFrom(r.pool[0], 32)
	case len(r.pool) == 0:
		r.fail(field, "", "must be given, as there is no pool")
	default:
		r.fail(field, "", "must be given, as the pool has %d addresses: %s, for example", len(r.pool), r.pool[0])
	}
	return netip.Prefix{}
}

// ports reads a port or a range: the first, and how many there are.
func (r *reader) ports(field string, s *intstr.IntOrString) (first uint16, n int) {
	if s == nil {
		r.fail(field, "", `is missing; give a port, or a range like "8000-8099"`)
		return 0, 0
	}
	tcp := intstr.FromString("tcp")
	filter, problems := rules.Filter(&v1alpha1.Match{Protocol: &tcp, DestinationPorts: []intstr.IntOrString{*s}})
	for i := range problems {
		problems[i].Field = ""
		r.problem(field, &problems[i])
	}
	if len(problems) > 0 {
		return 0, 0
	}
	iv := filter.Get(headerspace.DPort).Intervals()[0]
	if iv.Lo.Lo == 0 {
		r.fail(field, s.String(), "holds port 0, which nobody has; begin with 1")
	}
	return uint16(iv.Lo.Lo), int(iv.Hi.Lo-iv.Lo.Lo) + 1
}

// static reads a translation of addresses.
func (r *reader) static(field string, spec *v1alpha1.StaticTranslation, left *int) {
	r.bad = false
	in, out := r.prefix(field+".inside", string(spec.Inside)), r.prefix(field+".outside", string(spec.Outside))
	if r.bad {
		return
	}
	if in.Bits() != out.Bits() {
		r.fail(field+".outside", string(spec.Outside), "has another length than %s; give a prefix of length %d", in, in.Bits())
		return
	}
	if *left -= 1 << (32 - max(in.Bits(), 8)); *left < 0 {
		r.fail(field+".outside", string(spec.Outside), "static has more than %d addresses; give fewer", MostAddresses)
		return
	}
	for _, a := range r.pool {
		if out.Contains(a) {
			r.fail(field+".outside", string(spec.Outside), "holds %s, which the NAPT gives to others; take it out of the pool", a)
			return
		}
	}
	r.add(field, element.StaticMapping{Inside: in, Outside: out})
}

// prefix reads an address or a prefix.
func (r *reader) prefix(field, s string) netip.Prefix {
	if !strings.Contains(s, "/") {
		if strings.Contains(s, "-") {
			r.fail(field, s, `is a range; give an address or a prefix, like "192.0.2.0/28"`)
			return netip.Prefix{}
		}
		return r.host(field, s)
	}
	p, problem := rules.ParsePrefix(s)
	if r.problem(field, problem) {
		r.special(field, s, p)
	}
	return p
}

// checkSides finds inside addresses that are outside addresses as well.
func (r *reader) checkSides() {
	for _, m := range r.list {
		for _, other := range r.list {
			if m.Inside.Overlaps(other.Outside) {
				r.fail(m.Field+".inside", m.End(element.StaticInside), "is an outside address of %s; give addresses of hosts inside", other.Field)
				return
			}
		}
		for _, a := range r.pool {
			if m.Inside.Contains(a) {
				r.fail(m.Field+".inside", m.End(element.StaticInside), "holds %s of the pool; give addresses of hosts inside", a)
				return
			}
		}
	}
}

// Element is the element that translates so.
func Element(list []Mapping) element.StaticNAT {
	var e element.StaticNAT
	for _, m := range list {
		e.Mappings = append(e.Mappings, m.StaticMapping)
	}
	return e
}

// Reserved are the ports of a pool that forwards have.
func Reserved(list []Mapping, pool []netip.Addr) []element.Reserved {
	var out []element.Reserved
	for _, m := range list {
		for _, a := range pool {
			if m.Proto != 0 && m.Outside.Addr() == a {
				out = append(out, element.Reserved{Proto: m.Proto, Addr: a, First: m.OutsidePort, Last: m.OutsidePort + uint16(m.Ports-1)})
			}
		}
	}
	return out
}

// Outside is the prefixes outside, as far as they can be read.
func Outside(spec *v1alpha1.NAPT) []netip.Prefix {
	r := reader{report: func(string, rules.Problem) {}}
	var out []netip.Prefix
	for i := range spec.PortForwards {
		if s := string(spec.PortForwards[i].Outside); s != "" {
			out = append(out, r.prefix("", s))
		}
	}
	for i := range spec.Static {
		out = append(out, r.prefix("", string(spec.Static[i].Outside)))
	}
	valid := out[:0]
	for _, p := range out {
		if p.IsValid() {
			valid = append(valid, p)
		}
	}
	return valid
}
