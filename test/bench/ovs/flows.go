package ovs

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sinter-nfv/sinter/test/bench/acl"
)

// Onward is what a router does with a packet that it sends by the port that it came by.
func Onward(from, to string) string {
	return fmt.Sprintf("mod_dl_src:%s,mod_dl_dst:%s,dec_ttl,in_port", from, to)
}

// Route sends packets to a prefix onward: the longest prefix wins.
func Route(p netip.Prefix, actions string) string {
	return fmt.Sprintf("priority=%d,ip,nw_dst=%s,actions=%s\n", 100+p.Bits(), p, actions)
}

// Translated is actions behind a translation of the source to a pool's addresses.
func Translated(low, high, actions string) string {
	return fmt.Sprintf("ct(commit,zone=1,nat(src=%s-%s)),%s", low, high, actions)
}

// topPriority is the highest of OpenFlow.
const topPriority = 65535

// ACL is a flow or more for each rule, the first rule on top: a flow has one protocol, and its ports are a value with a mask. Packets that are accepted get the actions.
func ACL(rules []acl.Rule, actions string) string {
	var b strings.Builder
	for i := range rules {
		r := &rules[i]
		then := "drop"
		if r.Accept {
			then = actions
		}
		for _, proto := range protocols(r) {
			for _, sport := range masks(r.SPort) {
				for _, dport := range masks(r.DPort) {
					fmt.Fprintf(&b, "priority=%d,%s,nw_src=%s,nw_dst=%s", topPriority-i, proto, r.Src, r.Dst)
					if sport != "" {
						fmt.Fprintf(&b, ",tp_src=%s", sport)
					}
					if dport != "" {
						fmt.Fprintf(&b, ",tp_dst=%s", dport)
					}
					if r.Mask != 0 {
						fmt.Fprintf(&b, ",tcp_flags=0x%x/0x%x", r.Flags, r.Mask)
					}
					fmt.Fprintf(&b, ",actions=%s\n", then)
				}
			}
		}
	}
	return b.String() + "priority=0,actions=drop\n"
}

func protocols(r *acl.Rule) []string {
	switch {
	case r.Proto == "tcp" || r.Proto == "udp":
		return []string{r.Proto}
	case r.Proto != "":
		return []string{"ip,nw_proto=" + r.Proto}
	case r.SPort.Any() && r.DPort.Any():
		return []string{"ip"}
	default: // those of the frames
		return []string{"tcp", "udp"}
	}
}

// masks are the fewest values with masks that ports consist of; one empty text for all ports.
func masks(p acl.Ports) []string {
	if p.Any() {
		return []string{""}
	}
	var list []string
	for low := p.Low; low <= p.High; {
		size := 1
		for low%(2*size) == 0 && low+2*size-1 <= p.High {
			size *= 2
		}
		list = append(list, fmt.Sprintf("0x%x/0x%x", low, 0xffff&^(size-1)))
		low += size
	}
	return list
}
