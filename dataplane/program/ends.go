package program

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// End is how packets of a leg end. The first end that holds the packet says how.
type End struct {
	// When is the packets that end so, as the segment sees them: those that one of the filters passes; nil: all
	// that are left. Words name them.
	When  []headerspace.Filter
	Words string
	// Answer is what is sent instead of a packet that a generator takes.
	Answer string
	// Drop is the reason under which they are dropped; empty: they do what the leg's outcome says.
	Drop string
	// Unless are the reasons under which one may be dropped instead, for what no header says: sessions and ports in
	// use, rates, lengths, silent neighbours.
	Unless []string
}

// Holds tells whether the packet ends so, if it did not end otherwise.
func (e *End) Holds(pkt *headerspace.Packet) bool {
	for _, f := range e.When {
		if f.Contains(pkt) {
			return true
		}
	}
	return len(e.When) == 0
}

// atTheExit is what may happen to a packet where it leaves (docs/elements.md, "Exit").
var atTheExit = []string{"too-big", "too-big-answered", "icmp-suppressed", "neighbor-unresolved"}

// Ends are the ends of the packets that take a leg of a segment's class: the last one is that of all that are left.
func Ends(p *Program, segment int, l *programpb.Leg) []End {
	var ends []End
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Drop:
		ends = []End{{Drop: Reason(p, o.Drop)}} // unless what is done to it first drops it
	case *programpb.Leg_Generator:
		ends = answers(p.GetGenerators()[o.Generator])
	case *programpb.Leg_Output:
		ends = exits(p, segment, l, p.GetInterfaces()[o.Output])
	default:
		known, _ := rule.OutcomeOf(l)
		ends = []End{{}}
		if known.Unless != nil {
			ends[0].Unless = known.Unless(p, l)
		}
	}
	var may []string
	for _, op := range l.GetOps() {
		known, _ := rule.OperationOf(op)
		if known.Unless == nil {
			continue
		}
		for _, reason := range known.Unless(p, op) {
			if !slices.Contains(may, reason) {
				may = append(may, reason)
			}
		}
	}
	for i := range ends {
		ends[i].Unless = slices.Concat(may, ends[i].Unless)
	}
	return ends
}

// exits are the ends at an interface.
func exits(p *Program, segment int, l *programpb.Leg, i *programpb.Interface) []End {
	x := rule.Exit{Hop: fresh(p, segment)}
	for _, op := range l.GetOps() {
		if known, _ := rule.OperationOf(op); known.Leaves != nil {
			known.Leaves(p, &x, op)
		}
	}
	var ends []End
	var before []string // why a packet may be dropped before its tag is looked at
	out := End{Unless: atTheExit}
	if net := netip.PrefixFrom(rule.Address(i.GetAddress()), int(i.GetPrefixLen())).Masked(); i.GetGateway() == 0 && !x.Via {
		far := ipv4.Subtract(headerspace.Prefix(net))
		switch {
		case x.Dst != nil && net.Contains(*x.Dst), far.IsEmpty():
		case !x.Hop, x.Dst == nil && x.Redirected: // an earlier segment may have noted one; state tells the destination
			before = []string{"no-next-hop"}
			out.Unless = append(before, atTheExit...)
		case x.Dst != nil:
			return []End{{Drop: "no-next-hop"}}
		default:
			ends = append(ends, End{When: oneOf(headerspace.Filter{}.With(headerspace.Dst, far)), Words: "not to " + net.String(), Drop: "no-next-hop"})
		}
	}
	untagged, _ := headerspace.VLAN.Absent()
	allowed := headerspace.Single(untagged)
	for _, v := range i.GetVlans() {
		allowed = allowed.Union(headerspace.Of(uint64(v)))
	}
	switch {
	case x.VLAN != nil && !allowed.Contains(*x.VLAN):
		return append(ends, End{Drop: "vlan-unknown", Unless: before})
	case x.VLAN == nil && tagged(p):
		others := headerspace.Full(headerspace.VLAN).Subtract(allowed)
		ends = append(ends, End{
			When: oneOf(headerspace.Filter{}.With(headerspace.VLAN, others)), Words: "vlan " + others.Format(headerspace.VLAN), Drop: "vlan-unknown", Unless: before,
		})
	case x.VLAN == nil: // a function before may have put a tag on
		out.Unless = append([]string{"vlan-unknown"}, out.Unless...)
	}
	return append(ends, out)
}

// tagged tells whether tagged frames come in somewhere.
func tagged(p *Program) bool {
	for _, i := range p.GetInterfaces() {
		if len(i.GetVlans()) > 0 {
			return true
		}
	}
	return false
}

var ipv4 = headerspace.Prefix(netip.MustParsePrefix("0.0.0.0/0"))

// fresh tells whether packets come to the segment with no next hop noted.
func fresh(p *Program, segment int) bool {
	for _, i := range p.GetInterfaces() {
		if int(i.GetSegment()) == segment {
			return true
		}
	}
	for _, g := range p.GetGenerators() {
		if int(g.GetSegment()) == segment {
			return true
		}
	}
	return false
}

// Reason is a drop reason's name, as users see it.
func Reason(p *Program, d *programpb.Drop) string {
	if c, ok := d.GetReason().(*programpb.Drop_Chain); ok {
		return p.GetReasons()[c.Chain]
	}
	return BuiltinReason(d.GetBuiltin())
}

// BuiltinReason is the name that users see of a reason that the engine gives.
func BuiltinReason(r programpb.DropReason) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(r.String(), "DROP_"), "_", "-"))
}
