package kernel

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/test/bench/acl"
)

// match is a rule in nftables' language, without the fields that are known to match.
func match(r *acl.Rule, but side) string {
	var b strings.Builder
	if but != bySource && r.Src.Bits() > 0 {
		fmt.Fprintf(&b, "ip saddr %s ", r.Src)
	}
	if but != byDestination && r.Dst.Bits() > 0 {
		fmt.Fprintf(&b, "ip daddr %s ", r.Dst)
	}
	name := r.Proto
	if name != "tcp" && name != "udp" {
		name = "th"
	}
	if r.Proto != "" && (name == "th" || r.SPort.Any() && r.DPort.Any() && r.Mask == 0) {
		fmt.Fprintf(&b, "meta l4proto %s ", r.Proto)
	}
	if !r.SPort.Any() {
		fmt.Fprintf(&b, "%s sport %v ", name, r.SPort)
	}
	if !r.DPort.Any() {
		fmt.Fprintf(&b, "%s dport %v ", name, r.DPort)
	}
	if r.Mask != 0 {
		fmt.Fprintf(&b, "tcp flags & 0x%02x == 0x%02x ", r.Mask, r.Flags)
	}
	return b.String() + map[bool]string{true: "accept", false: "drop"}[r.Accept]
}

// Plain is a chain with a rule per line.
func Plain(rules []acl.Rule) string {
	var b strings.Builder
	b.WriteString("table ip filter {\n chain forward {\n  type filter hook forward priority filter; policy drop;\n")
	for i := range rules {
		fmt.Fprintf(&b, "  %s\n", match(&rules[i], neither))
	}
	b.WriteString(" }\n}\n")
	return b.String()
}

// side is the address by which a verdict map tells rules apart.
type side int

const (
	neither side = iota
	bySource
	byDestination
)

func (s side) of(r *acl.Rule) netip.Prefix {
	if s == bySource {
		return r.Src
	}
	return r.Dst
}

// interval is addresses that the same rules may match.
type interval struct {
	low, high uint32
	rules     []int32
}

// Mapped is the same firewall as an engineer writes it who knows verdict maps: one map leads each interval of addresses to a chain of the rules that may
// match there, in their order. (A map of all fields at once needs rules that do not overlap: nf_tables refuses others.) The map is by source or by
// destination, whichever leaves a rule's packets the shorter chain.
func Mapped(rules []acl.Rule) string {
	by, list := bySource, split(rules, bySource)
	if other := split(rules, byDestination); walk(other) < walk(list) {
		by, list = byDestination, other
	}
	chains := map[string]int{}
	var text, elements strings.Builder
	for _, in := range list {
		key := fmt.Sprint(in.rules)
		n, known := chains[key]
		if !known {
			n = len(chains)
			chains[key] = n
			fmt.Fprintf(&text, " chain c%d {\n", n)
			for _, i := range in.rules {
				fmt.Fprintf(&text, "  %s\n", match(&rules[i], by))
			}
			text.WriteString("  drop\n }\n")
		}
		fmt.Fprintf(&elements, "%s-%s : goto c%d,\n", address(in.low), address(in.high), n)
	}
	field := map[side]string{bySource: "saddr", byDestination: "daddr"}[by]
	return fmt.Sprintf("table ip filter {\n%s map by_%s {\n  type ipv4_addr : verdict; flags interval;\n  elements = { %s }\n }\n"+
		" chain forward {\n  type filter hook forward priority filter; policy drop;\n  ip %s vmap @by_%s\n }\n}\n", &text, field, &elements, field, field)
}

func address(a uint32) string {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, a))).String()
}

// split is the intervals that some rule may match, in order; neighbours have different rules.
func split(rules []acl.Rule, by side) []interval {
	edges := []uint64{0, 1 << 32}
	for i := range rules {
		low, size := span(by.of(&rules[i]))
		edges = append(edges, low, low+size)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	at := make([][]int32, len(edges)-1)
	for i := range rules {
		low, size := span(by.of(&rules[i]))
		first, _ := slices.BinarySearch(edges, low)
		for k := first; edges[k] < low+size; k++ {
			at[k] = append(at[k], int32(i))
		}
	}
	var list []interval
	for k, some := range at {
		low, high := uint32(edges[k]), uint32(edges[k+1]-1)
		if n := len(list); n > 0 && list[n-1].high+1 == low && slices.Equal(list[n-1].rules, some) {
			list[n-1].high = high
		} else if len(some) > 0 {
			list = append(list, interval{low, high, some})
		}
	}
	return list
}

func span(p netip.Prefix) (low, size uint64) {
	a := p.Masked().Addr().As4()
	return uint64(binary.BigEndian.Uint32(a[:])), 1 << (32 - p.Bits())
}

// walk is how many rules the chains have on average over the rules' own packets.
func walk(list []interval) float64 {
	var sum, squares float64
	for _, in := range list {
		n := float64(len(in.rules))
		sum, squares = sum+n, squares+n*n
	}
	return squares / max(sum, 1)
}

// NAPT translates sources to a pool's addresses as packets leave.
func NAPT(pool netip.Prefix) string {
	low, size := span(pool)
	return fmt.Sprintf("table ip nat {\n chain postrouting {\n  type nat hook postrouting priority srcnat;\n  oifname %q snat to %s-%s\n }\n}\n",
		outside, address(uint32(low)), address(uint32(low+size-1)))
}

// Refuse drops frames as soon as the kernel has them: what it costs to hand it one.
func Refuse() string {
	return fmt.Sprintf("table netdev refuse {\n chain ingress {\n  type filter hook ingress device %q priority 0; policy drop;\n }\n}\n", inside)
}

// Flowtable lets packets of known flows pass by the routing and the rules.
func Flowtable() string {
	return fmt.Sprintf("table ip flows {\n flowtable f {\n  hook ingress priority 0; devices = { %q, %q };\n }\n chain forward {\n"+
		"  type filter hook forward priority filter;\n  flow add @f\n }\n}\n", inside, outside)
}

// Route leads to one of the next hops.
type Route struct {
	Prefix netip.Prefix
	Via    string
}

// batch is routes as `ip -batch` reads them, shorter prefixes first.
func batch(routes []Route) string {
	routes = slices.SortedFunc(slices.Values(routes), func(a, b Route) int { return cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()) })
	var b strings.Builder
	for _, r := range routes {
		fmt.Fprintf(&b, "route replace %s via %s dev %s\n", r.Prefix, r.Via, outside)
	}
	return b.String()
}
