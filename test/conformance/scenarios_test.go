package conformance

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// scenario is a chain, and what of its surroundings packets are drawn from.
type scenario struct {
	name       string
	what       string // the chain, in words
	kernel     string // what it is on Linux
	interfaces []link
	functions  string              // of the chain, with its path or links: YAML below spec
	remote     map[string][]string // prefixes behind an interface
	nowhere    []string            // prefixes whose packets are not forwarded
	converses  bool                // most packets are parts of conversations
	settings   []setting
	// through: packets that mark the end of a batch cross the whole chain, where several kernels
	// must be done. Else each interface is pinged by its first neighbour.
	through bool
}

// link is an interface of the chain. All hosts of its prefix are static neighbours, on both sides, so that what
// happens does not depend on when ARP is answered.
type link struct {
	name, address string
	mtu           int
	gateway       string
	more          []string // addresses
	silent        string   // the part of the prefix where hosts must be asked for by ARP
}

func (l link) prefix() netip.Prefix { return netip.MustParsePrefix(l.address) }

// hosts are all addresses of the prefix but the network's, the broadcast address and the interface's own.
func (l link) hosts() []netip.Addr {
	p := l.prefix()
	var out []netip.Addr
	for a := p.Masked().Addr().Next(); p.Contains(a.Next()); a = a.Next() {
		if a != p.Addr() && (l.silent == "" || !netip.MustParsePrefix(l.silent).Contains(a)) {
			out = append(out, a)
		}
	}
	return out
}

// broadcast is the last address of the prefix.
func (l link) broadcast() uint32 {
	p := l.prefix()
	return number(p.Masked().Addr()) | (1<<(32-p.Bits()) - 1)
}

// filters tells whether the chain has a firewall.
func (s *scenario) filters() bool { return strings.Contains(s.functions, "firewall:") }

// share is how many of the packets the scenario gets, beside others.
func (s *scenario) share() int {
	if s.converses {
		return 3
	}
	return 1
}

// stateful tells whether the chain has a stateful firewall.
func (s *scenario) stateful() bool { return strings.Contains(s.functions, "stateful: true") }

// home is the interface whose prefix holds an address; -1: none.
func (s *scenario) home(a uint32) int {
	return slices.IndexFunc(s.interfaces, func(l link) bool { return l.prefix().Contains(packets.Addr(a)) })
}

// lives tells whether an address is that of a host behind an interface.
func (s *scenario) lives(i int, a uint32) bool {
	l := s.interfaces[i]
	if slices.Contains(l.hosts(), packets.Addr(a)) {
		return true
	}
	return slices.ContainsFunc(s.remote[l.name], func(p string) bool { return netip.MustParsePrefix(p).Contains(packets.Addr(a)) })
}

// neighbors are the static ones: all hosts, and the prefix's first address, which is a host's to both sides.
func (l link) neighbors() []netip.Addr { return append(l.hosts(), l.prefix().Masked().Addr()) }

// hostMAC is the MAC of the n-th interface's host, boxMAC that of the interface.
func hostMAC(n int, host netip.Addr) packets.MAC {
	return packets.MAC{2, 1, byte(n), 0, 0, host.As4()[3]}
}

func boxMAC(n int) packets.MAC { return packets.MAC{2, 0, 0, 0, 0, byte(n + 1)} }

func macText(m packets.MAC) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// chain is the scenario as the user of a chain writes it.
func (s *scenario) chain(t *testing.T) (*v1alpha1.ServiceChain, *lab.Program) {
	t.Helper()
	var b strings.Builder
	b.WriteString("apiVersion: nfv.sinter.dev/v1alpha1\nkind: ServiceChain\nmetadata: {name: conformance}\nspec:\n  interfaces:\n")
	for i, l := range s.interfaces {
		fmt.Fprintf(&b, "  - name: %s\n    address: %s\n    mtu: %d\n", l.name, l.address, l.mtu)
		if l.gateway != "" {
			fmt.Fprintf(&b, "    gateway: %s\n", l.gateway)
		}
		if len(l.more) > 0 {
			fmt.Fprintf(&b, "    addresses: [%s]\n", strings.Join(l.more, ", "))
		}
		b.WriteString("    neighbors:\n")
		for _, h := range l.neighbors() {
			fmt.Fprintf(&b, "    - {address: %s, mac: \"%s\"}\n", h, macText(hostMAC(i, h)))
		}
	}
	b.WriteString(s.functions)
	bundle := lab.ParseText(t, b.String())
	c, err := bundle.Chain("")
	if err != nil {
		t.Fatal(err)
	}
	p := lab.Compile(t, bundle)
	p.IcmpRate = 0 // as many errors as there are reasons: see kernelSettings
	p.Encode(t)
	return c, p
}

// table is a router with many routes within each other, also such that lead nowhere.
func table() *scenario {
	s := &scenario{
		name:   "table",
		what:   "a router with 2,000 nested routes of all types",
		kernel: "one namespace that forwards",
		interfaces: []link{
			{name: "left", address: "10.1.0.1/28", mtu: 1500},
			{name: "right", address: "10.2.0.1/28", mtu: 1500},
			{name: "third", address: "10.3.0.1/28", mtu: 1500},
		},
		remote: map[string][]string{},
	}
	var b strings.Builder
	b.WriteString("  functions:\n  - name: rt\n    router:\n      ports: [{name: left}, {name: right}, {name: third}]\n      routes:\n")
	r := rand.New(rand.NewPCG(2000, 0))
	seen := map[netip.Prefix]bool{}
	for len(seen) < 2000 {
		// Few bits are drawn, so that many prefixes hold others.
		p := netip.PrefixFrom(packets.Addr(20<<24|r.Uint32N(16)<<20|r.Uint32N(16)<<12|r.Uint32N(16)<<4|r.Uint32N(2)), 8+r.IntN(25)).Masked()
		if seen[p] {
			continue
		}
		seen[p] = true
		if r.IntN(8) == 0 {
			fmt.Fprintf(&b, "      - {prefix: %s, type: %s}\n", p, []string{"Discard", "Unreachable", "Prohibit"}[r.IntN(3)])
			s.nowhere = append(s.nowhere, p.String())
			continue
		}
		l := &s.interfaces[r.IntN(len(s.interfaces))]
		fmt.Fprintf(&b, "      - {prefix: %s, port: %s, via: %s}\n", p, l.name, l.hosts()[r.IntN(len(l.hosts()))])
		s.remote[l.name] = append(s.remote[l.name], p.String())
	}
	b.WriteString("  links: [{from: left, to: rt.left}, {from: right, to: rt.right}, {from: third, to: rt.third}]\n")
	s.functions = b.String()
	return s
}

// scenarios are the worlds that are compared.
var scenarios = []*scenario{
	{
		name:   "router",
		what:   "a router with three interfaces, one of them with a small MTU, and overlapping routes",
		kernel: "one namespace that forwards",
		interfaces: []link{
			{name: "left", address: "10.1.0.1/28", mtu: 1500, more: []string{"192.0.2.77"}},
			{name: "right", address: "10.2.0.1/28", mtu: 1500},
			{name: "thin", address: "10.3.0.1/28", mtu: 620},
		},
		functions: `  functions:
  - name: rt
    router:
      ports: [{name: left}, {name: right}, {name: thin}]
      routes:
      - {prefix: 172.16.0.0/12, port: left, via: 10.1.0.2}
      - {prefix: 172.16.5.0/24, port: right, via: 10.2.0.3}
      - {prefix: 172.16.5.128/25, port: thin, via: 10.3.0.4}
      - {prefix: 172.20.0.1/32, port: thin, via: 10.3.0.5}
      - {prefix: 198.18.0.0/15, port: right, via: 10.2.0.14}
      - {prefix: 198.19.128.0/17, port: left, via: 10.1.0.7}
      - {prefix: 203.0.113.0/24, port: thin, via: 10.3.0.2}
      - {prefix: 172.16.6.0/24, type: Discard}
      - {prefix: 172.17.0.0/16, type: Unreachable}
      - {prefix: 192.168.0.0/17, type: Prohibit}
  links:
  - {from: left, to: rt.left}
  - {from: rt.right, to: right}
  - {from: rt.thin, to: thin}
`,
		nowhere: []string{"172.16.6.0/24", "172.17.0.0/16", "192.168.0.0/17"},
		remote: map[string][]string{
			"left":  {"172.16.0.0/12", "198.19.128.0/17"},
			"right": {"172.16.5.0/24", "198.18.0.0/15"},
			"thin":  {"172.16.5.128/25", "172.20.0.1/32", "203.0.113.0/24"},
		},
	},
	{
		name:    "row",
		what:    "three routers in a row",
		kernel:  "three namespaces, joined by pairs of veth devices",
		through: true,
		interfaces: []link{
			{name: "left", address: "10.1.0.1/28", mtu: 1500},
			{name: "right", address: "10.2.0.1/28", mtu: 900},
		},
		functions: `  functions:
  - name: r1
    router:
      ports: [{name: inside}, {name: outside, address: 192.0.2.1}]
      routes:
      - {prefix: 10.2.0.0/28, port: outside, via: 192.0.2.2}
      - {prefix: 192.0.2.0/24, port: outside, via: 192.0.2.2}
      - {prefix: 172.16.0.0/16, port: outside, via: 192.0.2.2}
      - {prefix: 172.17.0.0/16, port: inside, via: 10.1.0.3}
  - name: r2
    router:
      ports: [{name: inside, address: 192.0.2.2}, {name: outside, address: 192.0.2.5}]
      routes:
      - {prefix: 10.1.0.0/28, port: inside, via: 192.0.2.1}
      - {prefix: 172.17.0.0/16, port: inside, via: 192.0.2.1}
      - {prefix: 10.2.0.0/28, port: outside, via: 192.0.2.6}
      - {prefix: 172.16.0.0/16, port: outside, via: 192.0.2.6}
  - name: r3
    router:
      ports: [{name: inside, address: 192.0.2.6}, {name: outside}]
      routes:
      - {prefix: 10.1.0.0/28, port: inside, via: 192.0.2.5}
      - {prefix: 192.0.2.0/24, port: inside, via: 192.0.2.5}
      - {prefix: 172.17.0.0/16, port: inside, via: 192.0.2.5}
      - {prefix: 172.16.0.0/17, port: outside, via: 10.2.0.9}
  path: [left, r1, r2, r3, right]
`,
		remote: map[string][]string{
			"left":  {"172.17.0.0/16"},
			"right": {"172.16.0.0/16", "172.16.128.0/17"},
		},
	},
	table(),
	{
		name:   "sources",
		what:   "a router whose routes are divided by source: two providers, prefixes within each other, types that lead nowhere",
		kernel: "one namespace that forwards; a table of routes for each source, and an `ip rule` that leads to it",
		interfaces: []link{
			{name: "inside", address: "10.1.0.1/28", mtu: 1500},
			{name: "one", address: "10.2.0.1/28", mtu: 1500, gateway: "10.2.0.14"},
			{name: "two", address: "10.3.0.1/28", mtu: 900, gateway: "10.3.0.14"},
		},
		functions: `  functions:
  - name: rt
    router:
      ports: [{name: inside}, {name: one}, {name: two}]
      routes:
      - {prefix: 172.16.0.0/15, port: inside, via: 10.1.0.3}
      - prefix: 0.0.0.0/0
        port: one
        bySource:
        - {from: [172.17.0.0/16, 10.3.0.0/28], port: two}
        - {from: [172.16.64.0/18], type: Prohibit}
        - {from: [172.16.0.0/17], port: one, via: 10.2.0.5}
      - prefix: 198.18.0.0/15
        port: one
        via: 10.2.0.9
        bySource:
        - {from: [172.17.128.0/17], port: two, via: 10.3.0.9}
        - {from: [172.16.0.0/15, 10.1.0.0/29], type: Unreachable}
      - prefix: 203.0.113.0/24
        type: Prohibit
        bySource:
        - {from: [10.1.0.8/29], port: two, via: 10.3.0.2}
        - {from: [172.17.0.0/17], type: Discard}
        - {from: [172.16.0.0/16], port: inside, via: 10.1.0.4}
  links: [{from: inside, to: rt.inside}, {from: rt.one, to: one}, {from: rt.two, to: two}]
`,
		nowhere: []string{"203.0.113.0/24"},
		remote: map[string][]string{
			"inside": {"172.16.0.0/16", "172.17.0.0/16"},
			"one":    {"198.18.0.0/15", "100.64.0.0/10"},
			"two":    {"198.19.0.0/16", "100.64.0.0/10"},
		},
	},
	{
		name:       "firewall",
		what:       "a firewall with rules on every field, some of which reject, and a router",
		kernel:     "one namespace that forwards; the firewall is a table at the hooks prerouting, forward and output",
		interfaces: site,
		functions: `  functions:
  - name: fw
    firewall:
      rules:
` + rejectRules + officeRules + siteRouter + `  path: [inside, fw, rt, outside]
`,
		remote: beyondSite,
	},
	{
		name:       "napt",
		what:       "a router and a NAPT with one address",
		kernel:     "one namespace that forwards; the NAPT is a `snat` to the same address and ports, and what it could not translate is dropped",
		interfaces: site,
		functions: "  functions:\n" + siteRouter + `  - name: nat
    napt:
      pool: [192.0.2.16]
  path: [inside, rt, nat, outside]
`,
		remote: beyondSite,
	},
	{
		name:       "office",
		what:       "a firewall that also rejects what comes from inside, a router and a NAPT with four addresses",
		kernel:     "as `firewall` and `napt`",
		interfaces: site,
		functions: `  functions:
  - name: fw
    firewall:
      rules:
` + refuseRules + officeRules + siteRouter + `  - name: nat
    napt:
      pool: [192.0.2.16-192.0.2.19]
      ports: {min: 20000, max: 60000}
  path: [inside, fw, rt, nat, outside]
`,
		remote: beyondSite,
	},
	stateful("stateful", "a stateful firewall with rules on all states, and a router", "strict: false"),
	stateful("strict", "the same, with TCP segments checked by their numbers and windows", "strict: true", setting{"net.netfilter.nf_conntrack_tcp_be_liberal", "0", "as `strict`"}),
	{
		name:       "home",
		what:       "a router and a NAPT that shares the address of the interface outside, with port forwards that hosts inside use as well",
		kernel:     "one namespace that forwards; `dnat` and `snat` to the same addresses and ports, also of what comes from inside for a forward (hairpinning)",
		converses:  true,
		interfaces: site,
		functions: "  functions:\n" + siteRouter + `  - name: nat
    napt:
      masquerade: true
      portForwards:
      - {outsidePorts: 22, inside: 10.1.0.10}
      - {outsidePorts: 8080, inside: 10.1.0.8, insidePorts: 80}
      - {outsidePorts: 8443, inside: 172.17.0.8, insidePorts: 443}
      - {protocol: UDP, outsidePorts: 27000-27003, inside: 10.1.0.12, insidePorts: 28000-28003}
  path: [inside, rt, nat, outside]
`,
		remote: beyondSite,
	},
}

// site is the interfaces of a site, beyondSite the networks behind their neighbours.
var (
	site = []link{
		{name: "inside", address: "10.1.0.1/28", mtu: 1500},
		{name: "outside", address: "10.2.0.1/28", mtu: 1500, gateway: "10.2.0.14"},
	}
	beyondSite = map[string][]string{"inside": {"172.17.0.0/16"}, "outside": {"198.18.0.0/15", "203.0.113.0/24"}}
)

// siteRouter is a site's router.
const siteRouter = `  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside}
      - {prefix: 172.17.0.0/16, port: inside, via: 10.1.0.3}
`

// stateful is a site with a stateful firewall.
func stateful(name, what string, tracking string, settings ...setting) *scenario {
	return &scenario{
		name:      name,
		what:      what,
		kernel:    "one namespace that forwards; the firewall's rules match on `ct state`",
		converses: true,
		settings: append(settings,
			setting{"net.netfilter.nf_conntrack_tcp_loose", "0", "connections are not picked up, unless `pickUp` is set"},
			setting{"net.netfilter.nf_conntrack_tcp_timeout_close", "240", "as Sinter's `tcpTransitory` by default"}),
		interfaces: site,
		functions: `  functions:
  - name: fw
    firewall:
      stateful: true
      tracking: {` + tracking + `}
      rules:
      - {state: [New, Established, Related], source: [198.19.0.0/20], action: Drop}
      - {from: Inside, protocol: tcp, destinationPorts: [8099], action: Reject}
      - {from: Inside, action: Accept}
      - {from: Inside, state: [Invalid], protocol: tcp, tcpFlags: {set: [RST]}, action: Accept}
      - {from: Outside, destination: [10.1.0.0/28, 172.17.0.0/17], protocol: tcp, destinationPorts: [80, 443, "8000-8098"], action: Accept}
      - {from: Outside, destination: [10.1.0.0/28, 172.17.0.0/17], protocol: udp, destinationPorts: [53, "30000-40000"], action: Accept}
      - {from: Outside, destination: [10.1.0.0/28], protocol: icmp, icmpType: 8, action: Accept}
      - {from: Outside, destination: [10.1.0.0/28], protocol: esp, action: Accept}
      - {from: Outside, destination: [172.17.128.0/17], action: Reject}
      default: Drop
` + siteRouter + `  path: [inside, fw, rt, outside]
`,
		remote: beyondSite,
	}
}

// rejectRules answer what was routed to the firewall.
const rejectRules = `      - {from: Outside, destination: [10.1.0.12, 172.17.224.0/19], action: Reject}
      - {from: Outside, protocol: tcp, destinationPorts: ["9000-65535"], action: Reject}
`

// refuseRules tell hosts of the office at once what they may not do, also those behind a router of theirs.
const refuseRules = `      - {from: Inside, protocol: tcp, destinationPorts: [25, "1024-4999", "9000-65535"], action: Reject}
      - {from: Inside, destination: [198.19.0.0/16, 203.0.113.128/25, 224.0.0.0/4], action: Reject}
`

// officeRules match on every field that nftables has as well.
const officeRules = `      - {dscp: 46, action: Drop}
      - {from: Inside, source: [172.17.128.0-172.17.191.255], protocol: udp, action: Drop}
      - {from: Inside, protocol: tcp, destinationPorts: [80, 443, "8000-8099"], action: Accept}
      - {from: Inside, destinationPorts: [53], action: Accept}
      - {from: Inside, icmpType: 8, icmpCode: 0, action: Accept}
      - {from: Inside, icmpType: 3, action: Accept}
      - {from: Inside, destination: [198.18.0.0/16, 203.0.113.0/25], action: Accept}
      - {from: Inside, protocol: gre, action: Accept}
      - {from: Inside, tcpFlags: {set: [RST]}, action: Accept}
      - {from: Outside, tcpFlags: {set: [SYN], clear: [ACK]}, action: Drop}
      - {from: Outside, sourcePorts: ["1-1023"], destination: [10.1.0.0/28], action: Accept}
      - {from: Outside, destination: [10.1.0.0/29, 172.17.0.0/17], action: Accept}
      - {from: Outside, icmpType: 11, action: Accept}
      default: Drop
`
