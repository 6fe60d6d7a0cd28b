package explain

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
)

// whys say what the reasons mean under which packets never arrive.
var whys = map[string]string{
	"truncated":           "the frame ends within a header",
	"malformed":           "its header contradicts itself",
	"bad-checksum":        "the checksum of its IPv4 header is wrong, or its transport checksum, and it is for the chain itself",
	"martian":             "no packet may come from its source, or go to its destination (RFC 1812 section 5.3.7)",
	"vlan-stacked":        "it has more than one VLAN tag",
	"vlan-unknown":        "its VLAN is none of the interface's",
	"not-ip":              "it is no IPv4 packet",
	"ipv6":                "IPv6 is not supported yet",
	"other-host":          "its destination MAC address is not the interface's",
	"own-source":          "it claims to come from an address of the chain",
	"pool-source":         "it claims to come from an address of a NAT's pool",
	"broadcast-source":    "it claims to come from a broadcast address",
	"directed-broadcast":  "it is for all hosts of a prefix (RFC 2644)",
	"source-route":        "it wants to choose its own way (RFC 791, source route)",
	"reverse-path":        "its source lies behind another interface",
	"local":               "it is for the chain itself, which answers no such packet",
	"no-next-hop":         "its destination is not on-link, and neither a route nor the interface names a next hop",
	"neighbor-unresolved": "nobody answers ARP for its next hop",
	"too-big":             "it is larger than the interface's MTU, and fragmenting is not done",
	"too-big-answered":    "it is larger than the interface's MTU, which its sender is told",
	"icmp-suppressed":     "no error is sent about errors and later fragments",
	"nat-unsupported":     "the NAT does not translate such packets",
	"nat-fragment":        "the NAT does not translate fragments",
	"nat-no-binding":      "it belongs to no binding of the NAT",
	"nat-exhausted":       "the NAT has no port or session left",
}

// fates are what became of a packet that entered by an interface and of its copies, and why some, or replies to them, never arrive.
func (e *Explainer) fates(iface int, res interp.Result) []string {
	var out []string
	for _, d := range res.Drops {
		fate := "dropped as " + d.Reason
		if why := whys[d.Reason]; why != "" {
			fate += ": " + why
		}
		out = append(out, fate)
	}
	for _, o := range res.Out {
		if to := e.copiedTo(o); to != "" {
			out = append(out, "a copy leaves by "+e.graph.Interfaces[o.Interface].Name+" for "+to)
			continue
		}
		fate := "leaves by " + e.graph.Interfaces[o.Interface].Name
		if o.Tagged {
			name, _ := e.function(o.Interface)
			fate += " for " + name
		}
		if o.NextHop.IsValid() {
			fate += fmt.Sprintf(" to next hop %v", o.NextHop)
			if why := e.nobody(o.Interface, o.NextHop); why != "" {
				fate += ", and never arrives: " + why
			}
		}
		if why := e.unasked(o.Interface, addresses(o.Frame)[0]); why != "" && o.Interface != iface {
			fate += "; a reply would never arrive: " + why
		}
		out = append(out, fate)
	}
	return out
}

// nobody says why no neighbour can answer ARP for a next hop; empty: one may.
func (e *Explainer) nobody(iface int, hop netip.Addr) string {
	i := &e.graph.Interfaces[iface]
	broadcast, has := rules.Broadcast(i.Prefix)
	switch {
	case answersFor(i, hop):
		return "that is the interface's own address, for which no neighbour answers"
	case has && hop == broadcast:
		return "that is the broadcast address of " + i.Prefix.Masked().String()
	case has && hop == i.Prefix.Masked().Addr():
		return "that is the network address of " + i.Prefix.Masked().String()
	case !i.Prefix.Contains(hop):
		return "that is not in " + i.Prefix.Masked().String() + ", the interface's prefix"
	}
	return ""
}

// answersFor tells whether the interface answers ARP requests for an address.
func answersFor(i *graph.Interface, a netip.Addr) bool {
	return a == i.Prefix.Addr() || slices.Contains(i.Addresses, a) || slices.Contains(i.Proxy, a)
}

// unasked says why a neighbour does not send packets for an address to the interface; empty: it may.
func (e *Explainer) unasked(iface int, to netip.Addr) string {
	i := &e.graph.Interfaces[iface]
	if !i.Prefix.Contains(to) || answersFor(i, to) {
		return ""
	}
	return fmt.Sprintf("%s does not answer ARP requests for %v, which is in its prefix", i.Name, to)
}

// addresses are the source and the destination of an IPv4 packet's frame.
func addresses(frame []byte) [2]netip.Addr {
	var out [2]netip.Addr
	ip, ok := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if ok {
		for n, a := range [2]net.IP{ip.SrcIP, ip.DstIP} {
			out[n], _ = netip.AddrFromSlice(a.To4())
		}
	}
	return out
}

// maxRound is the most steps of one round of a loop.
const maxRound = 512

// rounds are the rounds of loops in a list: of those that are alike, the first stays, and the others become what more
// makes of their number and the indexes of their first and their last entry.
func rounds[T any](list []T, alike func(a, b *T) bool, more func(n, length, first, last int) T) []T {
	var out []T
	for i := 0; i < len(list); {
		length, n := round(list[i:], alike)
		out = append(out, list[i:i+length]...)
		if n > 1 {
			out = append(out, more(n-1, length, i+length, i+n*length-1))
		}
		i += n * length
	}
	return out
}

// round is the shortest round with which a list begins three times or more, and how often; else its first entry, once.
func round[T any](list []T, alike func(a, b *T) bool) (length, n int) {
	for length = 1; length <= min(maxRound, len(list)/3); length++ {
		same := 0
		for length+same < len(list) && alike(&list[same], &list[length+same]) {
			same++
		}
		if n = 1 + same/length; n >= 3 {
			return length, n
		}
	}
	return 1, 1
}

// again sums rounds of a packet's way up.
func (e *Explainer) again(n, length, first, last int) Step {
	return Step{
		Element: fmt.Sprintf("… %d more rounds (elements of a round: %d)", n, length),
		Changed: strings.Join(changes(&e.steps[first-1].Packet, &e.steps[last].Packet), ", "),
	}
}
