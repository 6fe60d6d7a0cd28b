package conformance

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/packets"
)

// ruleset is the functions on the router's legs as rules of nftables; empty without functions.
//
// A function judges packets that come in by the leg's device before they are routed (hook prerouting, where addresses of
// the interface itself are none of its business), and those that leave by it after that, the
// router's own among them (hooks forward and output).
func (r *kernelRouter) ruleset() string {
	var b strings.Builder
	for _, l := range r.legs {
		for i, s := range l.functions {
			switch {
			case s.Firewall != nil:
				l.firewall(&b, s, i)
			case s.NAPT != nil:
				l.napt(&b, s)
			}
		}
	}
	return b.String()
}

func (l *leg) firewall(b *strings.Builder, s standing, n int) {
	away := v1alpha1.SideInside
	if s.toward == v1alpha1.SideInside {
		away = v1alpha1.SideOutside
	}
	translated := 0 // functions nearer to the router see addresses as they are behind the NAPT
	for i, o := range l.functions {
		if o.NAPT != nil && i > n {
			translated = 1
		}
	}
	in := map[int]int{0: -150, 1: -10 + n}[translated] // conntrack translates at -100
	fmt.Fprintf(b, "table ip %s {\n", s.Name)
	l.chain(b, s, "in", fmt.Sprintf("type filter hook prerouting priority %d", in), "iifname", away)
	l.chain(b, s, "through", "type filter hook forward priority 0", "oifname", s.toward)
	l.chain(b, s, "own", "type filter hook output priority 0", "oifname", s.toward)
	b.WriteString("}\n")
}

// chain judges packets that came in by a side of the firewall.
func (l *leg) chain(b *strings.Builder, s standing, name, hook, device string, from v1alpha1.Side) {
	fmt.Fprintf(b, " chain %s {\n  %s; policy accept;\n  %s != %q accept\n", name, hook, device, l.device)
	reject := "reject"
	switch name {
	case "in":
		reject = fmt.Sprintf("meta mark set %d reject", rejected)
		fmt.Fprintf(b, "  meta pkttype != host accept\n  ip daddr { %s } accept\n", strings.Join(l.own, ", "))
	case "own": // those rejections leave as they are; what hosts of the prefix are answered by the interface itself, of a stateful firewall others too
		fmt.Fprintf(b, "  meta mark %d accept\n", rejected)
		to := fmt.Sprintf("ip saddr { %s }", strings.Join(l.own, ", "))
		if !s.Firewall.Stateful {
			to += " ip daddr " + l.iface.prefix().Masked().String()
		}
		fmt.Fprintf(b, "  %[1]s icmp type echo-reply accept\n  %[1]s icmp type 3 icmp code { 2, 3 } accept\n  %[1]s tcp flags & 4 == 4 accept\n", to)
	}
	for i := range s.Firewall.Rules {
		if r := &s.Firewall.Rules[i]; r.From == "" || r.From == from {
			for _, v := range verdicts(r.Action, reject) {
				fmt.Fprintf(b, "  %s %s %s\n", states(s.Firewall, r), match(r), v)
			}
		}
	}
	if s.Firewall.Stateful {
		b.WriteString("  ct state { established, related } accept\n  ct state invalid drop\n")
	}
	for _, v := range verdicts(s.Firewall.Default, reject) {
		fmt.Fprintf(b, "  %s\n", v)
	}
	b.WriteString(" }\n")
}

// rejected is the mark of packets that a firewall rejects before they are routed, and by `fwmark_reflect` of what it sends about them.
const rejected = 1

// verdicts are what an action is on Linux: the first whose own match passes holds.
func verdicts(a v1alpha1.Action, reject string) []string {
	switch a {
	case v1alpha1.ActionAccept:
		return []string{"accept"}
	case v1alpha1.ActionReject:
		return []string{"ip protocol tcp " + reject + " with tcp reset", reject + " with icmp type admin-prohibited"}
	case v1alpha1.ActionDrop:
	}
	return []string{"drop"}
}

// states are those of the flows that a rule is for.
func states(f *v1alpha1.Firewall, r *v1alpha1.FirewallRule) string {
	if !f.Stateful {
		return ""
	}
	of := []string{"new"}
	if len(r.State) > 0 {
		of = nil
	}
	for _, s := range r.State {
		of = append(of, strings.ToLower(string(s)))
	}
	return "ct state " + set(of)
}

// match is what a rule of a firewall matches, as nftables has it.
func match(r *v1alpha1.FirewallRule) string {
	var w []string
	if len(r.Source) > 0 {
		w = append(w, "ip saddr "+set(r.Source))
	}
	if len(r.Destination) > 0 {
		w = append(w, "ip daddr "+set(r.Destination))
	}
	if r.Protocol != nil {
		w = append(w, "ip protocol "+r.Protocol.String())
	}
	if r.DSCP != nil {
		w = append(w, "ip dscp "+strconv.Itoa(int(*r.DSCP)))
	}
	if len(r.SourcePorts)+len(r.DestinationPorts) > 0 || r.TCPFlags != nil || r.ICMPType != nil {
		w = append(w, "ip frag-off & 0x1fff == 0") // else nftables takes the payload of later fragments for a header
	}
	if len(r.SourcePorts)+len(r.DestinationPorts) > 0 {
		w = append(w, "meta l4proto { 6, 17 }")
	}
	if len(r.SourcePorts) > 0 {
		w = append(w, "th sport "+set(texts(r.SourcePorts)))
	}
	if len(r.DestinationPorts) > 0 {
		w = append(w, "th dport "+set(texts(r.DestinationPorts)))
	}
	if f := r.TCPFlags; f != nil {
		w = append(w, fmt.Sprintf("tcp flags & %d == %d", bits(f.Set)|bits(f.Clear), bits(f.Set)))
	}
	if r.ICMPType != nil {
		w = append(w, "icmp type "+strconv.Itoa(int(*r.ICMPType)))
	}
	if r.ICMPCode != nil {
		w = append(w, "icmp code "+strconv.Itoa(int(*r.ICMPCode)))
	}
	return strings.Join(w, " ")
}

func set[T ~string](values []T) string {
	var w []string
	for _, v := range values {
		w = append(w, string(v))
	}
	return "{ " + strings.Join(w, ", ") + " }"
}

func texts(list []intstr.IntOrString) (out []string) {
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

var tcpFlags = []v1alpha1.TCPFlag{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}

func bits(flags []v1alpha1.TCPFlag) (mask int) {
	for i, name := range tcpFlags {
		for _, f := range flags {
			if f == name {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// hairpinMark is that of connections from inside to a port forward.
const hairpinMark = 2

// napt translates what leaves by the device, lets nothing leave that it could not translate, and nothing in that is neither a reply nor forwarded.
func (l *leg) napt(b *strings.Builder, s standing) {
	pool := poolOf(s.NAPT, l.iface)
	ports := fmt.Sprintf("%s:%d-%d", pool, s.NAPT.Ports.Min, s.NAPT.Ports.Max)
	var in, out strings.Builder
	for _, f := range forwardsOf(s.NAPT, public{}) {
		proto := map[uint8]string{packets.ProtoTCP: "tcp", packets.ProtoUDP: "udp"}[f.proto]
		to := fmt.Sprintf("%s:%d", packets.Addr(f.inside.addr), f.inside.port)
		what := fmt.Sprintf("ip daddr %s %s dport %d", pool, proto, f.outside.port)
		fmt.Fprintf(&in, "  iifname != %q %s ct mark set %d dnat to %s\n  %s dnat to %s\n", l.device, what, hairpinMark, to, what, to)
		fmt.Fprintf(&out, "  oifname %q ip saddr %s %s sport %d snat to %s:%d\n", l.device, packets.Addr(f.inside.addr), proto, f.inside.port, pool, f.outside.port)
	}
	fmt.Fprintf(b, `table ip %[1]s {
 chain forward {
  type nat hook prerouting priority -100; policy accept;
%[6]s }
 chain translate {
  type nat hook postrouting priority 100; policy accept;
  ct mark %[8]d meta l4proto { 6, 17 } snat to %[4]s
%[7]s  oifname %[2]q meta l4proto { 6, 17 } snat to %[4]s
  oifname %[2]q snat to %[3]s
 }
 chain leave {
  type filter hook postrouting priority 300; policy accept;
  oifname %[2]q ip saddr != { %[3]s, %[5]s } drop
 }
 chain enter {
  type filter hook prerouting priority -50; policy accept;
  iifname %[2]q ct status dnat accept
  iifname %[2]q ip daddr != { %[5]s } ct state != { established, related } drop
 }
}
`, s.Name, l.device, pool, ports, strings.Join(l.own, ", "), in.String(), out.String(), hairpinMark)
}
