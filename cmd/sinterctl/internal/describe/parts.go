package describe

import (
	"fmt"
	"net"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Part is something of a program beside its classes.
type Part struct{ Name, Text string }

// Parts are a program's interfaces, translations, answers and limits.
func Parts(p *programpb.Program) []Part {
	var parts []Part
	add := func(name, text string) { parts = append(parts, Part{name, text}) }
	segment := func(i uint32) string { return p.GetSegments()[i].GetName() }
	for _, n := range p.GetInterfaces() {
		add("interface "+n.GetName(), fmt.Sprintf("%s, enters %s", iface(n), segment(n.GetSegment())))
	}
	for _, t := range p.GetTables() {
		add("state table "+t.GetName(), program.TableText(p, t))
	}
	for i, f := range p.GetFibs() {
		name := fmt.Sprintf("table of routes %d", i+1)
		add(name, fmt.Sprintf("%.10x, %d next hops, %d routes of the chain and of ConfigMaps", f.GetHash(), f.GetNextHops(), len(f.GetSource().GetAddress())))
		for _, t := range f.GetSource().GetTexts() {
			add(name, fmt.Sprintf("routes of %s with SHA-256 %x", t.GetUrl(), t.GetSha256()))
		}
	}
	for _, r := range p.GetRuns() {
		limits := subscribers(p, r)
		if limits != "" {
			limits = "; " + limits
		}
		add("translation "+r.GetName(), fmt.Sprintf("table %s, replies go on in %s, idle times in ms: tcp %d, tcp opening or closing %d, udp %d, icmp %d; sessions %d%s",
			p.GetTables()[r.GetTable()].GetName(), segment(r.GetSegment()), r.GetTcpMs(), r.GetTcpTransitoryMs(), r.GetUdpMs(), r.GetIcmpMs(), r.GetMaxSessions(), limits))
	}
	for _, g := range p.GetGenerators() {
		from := "the interface of entry"
		if g.GetSource() != 0 {
			from = addr(g.GetSource()).String()
		}
		add("answers of "+g.GetName(), fmt.Sprintf("%s %d/%d from %s, goes on in %s", answer(g.GetKind()), g.GetType(), g.GetCode(), from, segment(g.GetSegment())))
	}
	add("limits", fmt.Sprintf("%d ICMP errors per second (0: any number)", p.GetIcmpRate()))
	return parts
}

// subscribers is in words what one subscriber of a run may have; empty: as much as there is.
func subscribers(p *programpb.Program, r *programpb.Run) string {
	if r.GetSubscribers() == 0 {
		return ""
	}
	s := p.GetSubscribers()[r.GetSubscribers()-1]
	return fmt.Sprintf("at most %d sessions and %d ports per /%d", s.GetMaxSessions(), s.GetMaxPorts(), s.GetPrefixLen())
}

// answer is the name that users see of a kind of answer.
func answer(k programpb.Generator_Kind) string {
	return strings.ToLower(strings.ReplaceAll(k.String(), "_", " "))
}

// vlans are ascending VLANs as ranges.
func vlans(list []uint32) string {
	var ranges []string
	for i := 0; i < len(list); {
		first := i
		for i++; i < len(list) && list[i] == list[i-1]+1; i++ {
		}
		s := fmt.Sprint(list[first])
		if i-first > 1 {
			s += fmt.Sprintf("-%d", list[i-1])
		}
		ranges = append(ranges, s)
	}
	return strings.Join(ranges, " ")
}

func iface(n *programpb.Interface) string {
	parts := []string{fmt.Sprintf("%s/%d, mtu %d", addr(n.GetAddress()), n.GetPrefixLen(), n.GetMtu())}
	if n.GetGateway() != 0 {
		parts = append(parts, "gateway "+addr(n.GetGateway()).String())
	}
	if ttl := n.GetAnswerTtl(); ttl != 0 {
		parts = append(parts, fmt.Sprintf("answers with TTL %d", ttl))
	}
	if n.GetTinyFragments() {
		parts = append(parts, "tiny fragments come in")
	}
	if len(n.GetMac()) > 0 {
		parts = append(parts, "mac "+net.HardwareAddr(n.GetMac()).String())
	}
	if len(n.GetVlans()) > 0 {
		parts = append(parts, "VLANs "+vlans(n.GetVlans()))
	}
	for _, k := range n.GetNeighbors() {
		where := ""
		if v := k.GetVlan(); v != 0 {
			where = fmt.Sprintf(" in VLAN %d", v)
		}
		parts = append(parts, fmt.Sprintf("neighbor %s at %s%s", addr(k.GetAddress()), net.HardwareAddr(k.GetMac()), where))
	}
	for _, a := range n.GetProxy() {
		parts = append(parts, "answers ARP for "+addr(a).String())
	}
	return strings.Join(parts, ", ")
}

// Counters are the counters of a class, as an addition to what Class says of it.
func Counters(p *programpb.Program, c *programpb.Class) string {
	var names []string
	for _, l := range c.GetLegs() {
		for _, i := range l.GetCounters() {
			names = append(names, p.GetCounters()[i])
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", counted by " + strings.Join(names, ", ")
}
