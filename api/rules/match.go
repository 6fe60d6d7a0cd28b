package rules

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// protocols by name (IANA, assigned Internet protocol numbers).
var protocols = map[string]uint64{
	"icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "ah": 51, "ospf": 89, "sctp": 132,
}

// flagBits of the TCP header (RFC 9293 section 3.1).
var flagBits = map[v1alpha1.TCPFlag]uint64{
	"FIN": 1, "SYN": 2, "RST": 4, "PSH": 8, "ACK": 16, "URG": 32, "ECE": 64, "CWR": 128,
}

const (
	protoICMP = 1
	protoTCP  = 6
	protoUDP  = 17
)

// Filter is the packets that a match means.
func Filter(m *v1alpha1.Match) (headerspace.Filter, []Problem) {
	r := matchReader{}
	r.families(m)
	if len(r.problems) == 0 {
		r.addresses("source", headerspace.Src, m.Source)
		r.addresses("destination", headerspace.Dst, m.Destination)
	}
	r.protocol(m.Protocol)
	r.ports("sourcePorts", headerspace.SPort, m.SourcePorts)
	r.ports("destinationPorts", headerspace.DPort, m.DestinationPorts)
	r.flags(m.TCPFlags)
	r.number("icmpType", headerspace.ICMPType, m.ICMPType, 255)
	r.number("icmpCode", headerspace.ICMPCode, m.ICMPCode, 255)
	r.number("dscp", headerspace.DSCP, m.DSCP, 63)
	r.vlan(m.VLAN)
	if m.ICMPCode != nil && m.ICMPType == nil {
		r.fail("icmpCode", fmt.Sprint(*m.ICMPCode), "a code means nothing without its type; set icmpType")
	}
	if len(r.problems) == 0 {
		r.contradictions(m)
		r.combinations(m)
	}
	return r.filter, r.problems
}

// maxCombinations is how many ranges of addresses and ports, each with each, one match may have: a classifier has a box for each. All rules
// of a chain share four times as many.
const maxCombinations = 1 << 20

// combinations refuses what would be too many. They are counted, not made: 10 KB of text can ask for 4 billion.
func (r *matchReader) combinations(m *v1alpha1.Match) {
	lists := []struct {
		field headerspace.Field
		given int
		name  string
	}{
		{headerspace.Src, len(m.Source), "sources"},
		{headerspace.Dst, len(m.Destination), "destinations"},
		{headerspace.SPort, len(m.SourcePorts), "source ports"},
		{headerspace.DPort, len(m.DestinationPorts), "destination ports"},
	}
	n, words := 1, []string(nil)
	for _, l := range lists {
		if l.given > 0 {
			k := len(r.filter.Get(l.field).Intervals())
			n = min(n, maxCombinations+1) * k // neighbours are one
			words = append(words, fmt.Sprintf("%d %s", k, l.name))
		}
	}
	if n > maxCombinations {
		r.fail("", "", fmt.Sprintf("%s are too many combinations: a rule may have %d; split it into rules of fewer, or write prefixes and ranges for neighbours",
			strings.Join(words, " × "), maxCombinations))
	}
}

type matchReader struct {
	filter   headerspace.Filter
	problems []Problem
}

func (r *matchReader) fail(field, value, message string) {
	r.problems = append(r.problems, Problem{Field: field, Value: value, Message: message})
}

// families finds IPv4 and IPv6 in one match: no packet has both.
func (r *matchReader) families(m *v1alpha1.Match) {
	first, known := false, false
	check := func(field string, sets []v1alpha1.AddressSet) {
		for i, s := range sets {
			if strings.Contains(string(s), "-") && strings.Contains(string(s), ".") && is6(string(s)) {
				continue // a mixed range: said when it is read
			}
			if known && is6(string(s)) != first {
				r.fail(fmt.Sprintf("%s[%d]", field, i), string(s),
					"mixes IPv4 and IPv6 in one rule; no packet can match both: write a rule for each")
				return
			}
			first, known = is6(string(s)), true
		}
	}
	check("source", m.Source)
	check("destination", m.Destination)
}

func (r *matchReader) addresses(field string, f headerspace.Field, sets []v1alpha1.AddressSet) {
	if len(sets) == 0 {
		return
	}
	iv := make([]headerspace.Interval, 0, len(sets))
	for i, s := range sets {
		a, p := ParseAddressSet(string(s))
		if p != nil {
			p.Field = fmt.Sprintf("%s[%d]", field, i)
			r.problems = append(r.problems, *p)
			if !p.Warning {
				continue
			}
		}
		iv = append(iv, headerspace.Interval{Lo: headerspace.Addr(a.First), Hi: headerspace.Addr(a.Last)})
	}
	r.filter = r.filter.With(f, headerspace.NewSet(iv...))
}

func (r *matchReader) protocol(p *intstr.IntOrString) {
	if p == nil {
		return
	}
	n, ok := protocols[strings.ToLower(p.String())]
	if !ok {
		var err error
		if n, err = strconv.ParseUint(p.String(), 10, 8); err != nil {
			r.fail("protocol", p.String(), "unknown protocol; give a number from 0 to 255, or icmp, igmp, ipip, tcp, udp, gre, esp, ah, ospf or sctp")
			return
		}
	}
	r.filter = r.filter.With(headerspace.Proto, headerspace.Of(n))
}

func (r *matchReader) ports(field string, f headerspace.Field, ports []intstr.IntOrString) {
	if len(ports) == 0 {
		return
	}
	iv := make([]headerspace.Interval, 0, len(ports))
	for i, p := range ports {
		lo, hi, message := parsePorts(p.String())
		if message != "" {
			r.fail(fmt.Sprintf("%s[%d]", field, i), p.String(), message)
			continue
		}
		iv = append(iv, headerspace.Interval{Lo: headerspace.V(lo), Hi: headerspace.V(hi)})
	}
	r.filter = r.filter.With(f, headerspace.NewSet(iv...))
}

func parsePorts(s string) (lo, hi uint64, message string) {
	a, b, isRange := strings.Cut(s, "-")
	if !isRange {
		b = a
	}
	lo, err1 := strconv.ParseUint(a, 10, 16)
	hi, err2 := strconv.ParseUint(b, 10, 16)
	switch {
	case err1 != nil || err2 != nil:
		return 0, 0, `not a port or range of ports; write it like "80" or "1000-2000", from 0 to 65535`
	case lo > hi:
		return 0, 0, fmt.Sprintf("the port range is reversed; write %d-%d", hi, lo)
	}
	return lo, hi, ""
}

func (r *matchReader) flags(t *v1alpha1.TCPFlags) {
	if t == nil {
		return
	}
	var value, mask uint64
	for i, f := range t.Set {
		bit, ok := flagBits[f]
		if !ok {
			r.fail(fmt.Sprintf("tcpFlags.set[%d]", i), string(f), unknownFlag)
		}
		value, mask = value|bit, mask|bit
	}
	for i, f := range t.Clear {
		bit, ok := flagBits[f]
		if !ok {
			r.fail(fmt.Sprintf("tcpFlags.clear[%d]", i), string(f), unknownFlag)
		}
		if value&bit != 0 {
			r.fail(fmt.Sprintf("tcpFlags.clear[%d]", i), string(f), "the flag is also in set; no packet can match both")
		}
		mask |= bit
	}
	r.filter = r.filter.With(headerspace.TCPFlags, headerspace.Masked(headerspace.TCPFlags, value, mask))
}

const unknownFlag = "unknown TCP flag; use FIN, SYN, RST, PSH, ACK, URG, ECE or CWR"

func (r *matchReader) number(field string, f headerspace.Field, n *int32, limit int32) {
	if n == nil {
		return
	}
	if *n < 0 || *n > limit {
		r.fail(field, fmt.Sprint(*n), fmt.Sprintf("must be from 0 to %d", limit))
		return
	}
	r.filter = r.filter.With(f, headerspace.Of(uint64(*n)))
}

func (r *matchReader) vlan(v *intstr.IntOrString) {
	if v == nil {
		return
	}
	set, message := ParseVLAN(v.String())
	if message != "" {
		r.fail("vlan", v.String(), message)
		return
	}
	r.filter = r.filter.With(headerspace.VLAN, headerspace.Single(set))
}

// ParseVLAN reads a VLAN identifier, or "None" for the tag's absence. The message
// is empty if it could be read. 0 is no VLAN (a frame with it is untagged), and 4095 is reserved (IEEE 802.1Q).
func ParseVLAN(s string) (v headerspace.Value, message string) {
	if s == "None" {
		v, _ = headerspace.VLAN.Absent()
		return v, ""
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n < 1 || n > 4094 {
		return v, `not a VLAN; give a number from 1 to 4094, or "None" for untagged packets`
	}
	return headerspace.V(n), ""
}

// ParseVLANs reads a VLAN identifier or a range of them. The message is empty if it could be read.
func ParseVLANs(s string) (first, last uint16, message string) {
	low, high, ranged := strings.Cut(s, "-")
	a, err := strconv.ParseUint(low, 10, 16)
	b := a
	if err == nil && ranged {
		b, err = strconv.ParseUint(high, 10, 16)
	}
	switch {
	case err != nil || a < 1 || a > 4094 || b < 1 || b > 4094:
		return 0, 0, `not a VLAN or range of VLANs; give numbers from 1 to 4094, like 80 or "100-199"`
	case a > b:
		return 0, 0, fmt.Sprintf("the range is reversed; write %d-%d", b, a)
	}
	return uint16(a), uint16(b), ""
}

// contradictions finds conditions that no packet can meet together: ports of
// ICMP, TCP flags of UDP.
func (r *matchReader) contradictions(m *v1alpha1.Match) {
	needs := func(field string, given bool, protos ...uint64) {
		if !given || len(r.problems) > 0 {
			return
		}
		if !r.filter.Get(headerspace.Proto).Overlaps(headerspace.Of(protos...)) {
			names := map[uint64]string{protoICMP: "icmp", protoTCP: "tcp", protoUDP: "udp"}
			var want []string
			for _, p := range protos {
				want = append(want, names[p])
			}
			value := ""
			if m.Protocol != nil {
				value = m.Protocol.String()
			}
			r.fail("protocol", value, fmt.Sprintf("no packet of this protocol has %s; set protocol to %s, or leave %s out",
				field, strings.Join(want, " or "), field))
		}
	}
	needs("sourcePorts", m.SourcePorts != nil, protoTCP, protoUDP)
	needs("destinationPorts", m.DestinationPorts != nil, protoTCP, protoUDP)
	needs("tcpFlags", m.TCPFlags != nil, protoTCP)
	needs("icmpType", m.ICMPType != nil, protoICMP)
	if len(r.problems) == 0 && m.ICMPType != nil && (m.SourcePorts != nil || m.DestinationPorts != nil || m.TCPFlags != nil) {
		r.fail("icmpType", fmt.Sprint(*m.ICMPType), "no ICMP packet has ports or TCP flags; leave one of them out")
	}
}
