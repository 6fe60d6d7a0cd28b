package lower

import (
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// exchange is traffic that is answered: the packets that go out, and those that answer them but for
// addresses and ports, which are swapped. What carries no data of a flow is left out: fragments.
type exchange struct {
	name        string
	forth, back headerspace.Filter
	rule        string // an example of one that lets the replies in
}

const flagACK = 0x10

var exchanges = []exchange{
	{
		"tcp", whole(6), whole(6).With(headerspace.TCPFlags, headerspace.Masked(headerspace.TCPFlags, flagACK, flagACK)),
		"{from: Outside, protocol: tcp, tcpFlags: {set: [ACK]}, action: Accept}",
	},
	{"udp", whole(17), whole(17), "{from: Outside, protocol: udp, action: Accept}"},
	{
		"icmp echo", lower.EchoRequests.Intersect(whole(1)), whole(1).With(headerspace.ICMPType, headerspace.Of(0)),
		"{from: Outside, protocol: icmp, icmpType: 0, action: Accept}",
	},
}

// whole is the unfragmented IPv4 packets of a protocol.
func whole(proto uint64) headerspace.Filter {
	ipv4 := headerspace.Prefix(netip.MustParsePrefix("0.0.0.0/0"))
	return headerspace.Filter{}.With(headerspace.Src, ipv4).With(headerspace.Dst, ipv4).
		With(headerspace.Proto, headerspace.Of(proto)).With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
}

// checkReplies warns of a firewall that accepts traffic outward, and lets nothing in that could answer it. If
// some traffic is answered, the rest may be meant to be silent, unless a rule names its protocol.
func checkReplies(b *lower.Builder, f *lower.Function, outward, inward element.Classifier) {
	var lost, named []exchange
	answered := false
	for _, x := range exchanges {
		s := replySearch{outward: outward, inward: inward, exchange: x, left: replyBudget}
		found := s.outwards()
		answered = answered || found && s.accepted
		if found || !s.accepted {
			continue
		}
		lost = append(lost, x)
		if s.named {
			named = append(named, x)
		}
	}
	if answered {
		lost = named
	}
	if len(lost) == 0 {
		return
	}
	var names []string
	for _, x := range lost {
		names = append(names, x.name)
	}
	b.Warn(f.Object, f.Path, "", "accepts %s outward, and drops every reply inward; no state is kept: to let replies return, add a rule, like %s",
		strings.Join(names, ", "), lost[0].rule)
}

// replyBudget bounds the rules that one search looks at, which takes about as many 50 ns. Firewalls that need
// more are not judged.
const replyBudget = 1 << 19

// replySearch looks for a packet that a firewall accepts outward, and whose reply it accepts inward.
type replySearch struct {
	outward, inward element.Classifier
	exchange
	left     int
	accepted bool // some packet is accepted outward
	named    bool // by a rule that names its protocol
}

// outwards tells whether there is such a packet.
func (s *replySearch) outwards() (found bool) {
	return s.search(&s.outward, s.forth, 0, func(accepted, rule headerspace.Filter) bool {
		s.accepted = true
		s.named = s.named || !rule.Any(headerspace.Proto)
		reply := s.back
		for _, swap := range [...][2]headerspace.Field{
			{headerspace.Src, headerspace.Dst},
			{headerspace.Dst, headerspace.Src},
			{headerspace.SPort, headerspace.DPort},
			{headerspace.DPort, headerspace.SPort},
		} {
			reply = reply.With(swap[1], accepted.Get(swap[0]))
		}
		return s.search(&s.inward, reply, 0, func(_, _ headerspace.Filter) bool { return true })
	})
}

// search has the parts of p that a classifier accepts judged, with the rule that accepts, until one is found. When the
// budget is spent, it says that it found one: nothing is known to be wrong.
func (s *replySearch) search(c *element.Classifier, p headerspace.Filter, first int, judge func(part, rule headerspace.Filter) bool) (found bool) {
	for i := first; i < len(c.Rules); i++ {
		rest, next := s.pass(c, p, i)
		if next > i {
			if rest, possible := rest.Feasible(); possible {
				p, i = rest, next-1
				continue
			}
			return false
		}
		for _, f := range c.Rules[i].Filters {
			if s.left -= cost(p); s.left < 0 {
				return true
			}
			if !p.Overlaps(f) {
				continue
			}
			if part, possible := p.Intersect(f).Feasible(); possible && c.Rules[i].Out == firewallAccepts && judge(part, f) {
				return true
			}
			rest := wiring.Feasible(p.Subtract(f))
			if len(rest) == 0 {
				return false
			}
			for _, q := range rest[1:] {
				if s.search(c, q, i, judge) {
					return true
				}
			}
			p = rest[0]
		}
	}
	return c.Default == firewallAccepts && judge(p, headerspace.Filter{})
}

// pass is what rules from first on leave of p that drop, as long as they ask more than p in one field alone, the same for all, and the first rule behind
// them. They are taken away together: one by one, each would copy what those before it left, and lists of addresses to block have many thousands.
func (s *replySearch) pass(c *element.Classifier, p headerspace.Filter, first int) (rest headerspace.Filter, next int) {
	var in headerspace.Field
	var gone []headerspace.Interval
	for next = first; next < len(c.Rules) && c.Rules[next].Out != firewallAccepts && len(c.Rules[next].Filters) == 1; next++ {
		s.left--
		f := &c.Rules[next].Filters[0]
		if !p.Overlaps(*f) {
			continue
		}
		field, ok := narrows(&p, f)
		if !ok || len(gone) > 0 && field != in {
			break
		}
		in, gone = field, append(gone, f.Get(field).Intervals()...)
	}
	if len(gone) == 0 {
		return p, next
	}
	return p.With(in, p.Get(in).Subtract(headerspace.NewSet(gone...))), next
}

// narrows is the one field in which f asks more than p; ok is false if it does in none, or several.
func narrows(p, f *headerspace.Filter) (field headerspace.Field, ok bool) {
	for g := range headerspace.NumFields {
		if f.Any(g) || p.Ref(g) == f.Ref(g) || p.Get(g).SubsetOf(f.Get(g)) {
			continue
		}
		if ok {
			return 0, false
		}
		field, ok = g, true
	}
	return field, ok
}

// cost is about what it takes to look at a rule and take it away from p, in looks at a rule.
func cost(p headerspace.Filter) int {
	n := 1
	for g := range headerspace.NumFields {
		if r := p.Ref(g); r != nil {
			n += len(r.Intervals()) / 2
		}
	}
	return n
}
