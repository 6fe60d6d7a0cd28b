package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/sinter-nfv/sinter/test/bench/kernel"
)

// row is a chain, the packets that it is measured with, and what it may cost at most.
type row struct {
	Group, Name string
	N           int // functions in the chain
	chain       chain
	traffic     traffic
	peers       []peer
	Bound       float64 // of the ratio to the baseline; 0: none
	baseline    string  // testpmd's forwarding mode; empty: 5tswap
	apart       bool    // also function by function
}

func nameOf(r row) string { return r.Name }

// chain is functions, which may read files of a folder that they write.
type chain func(dir string) (functions, error)

func fixed(fns functions) chain { return func(string) (functions, error) { return fns, nil } }

// traffic is packets; rows whose traffic has the same name share them.
type traffic struct {
	name    string
	packets func() ([][]byte, error)
	flows   int  // different ones
	seldom  bool // many of them do not come at all
	once    bool // each packet is sent once
	before  int  // packets that come before those that are measured, at least
}

// Packets that are measured, at least, and before them.
const (
	measuredPackets = 640_000
	warmupPackets   = 160_000
)

// knownAfter is how often a flow comes before it counts as known: its first packet makes its session, later ones have its decision remembered.
const knownAfter = 3

// tracked is how many connections a peer has to know, at least: by Zipf's law, a third of the flows come in twice as many packets.
func (t traffic) tracked() int {
	if t.seldom {
		return t.flows * 3 / 10
	}
	return t.flows * 99 / 100
}

// schedule is how many packets of a traffic come before those that are measured, and how many these are. All flows are known by then, but
// of traffic whose packets are sent once.
func (t traffic) schedule(packets int) (warmup, measured int) {
	if t.once {
		warmup = max(packets/4, t.before)
		return warmup, (packets - warmup) * 4 / 5
	}
	return max(warmupPackets, knownAfter*packets, t.before), max(measuredPackets, packets)
}

// mixed is n flows in turn.
func mixed(n, size int) traffic {
	return traffic{name: fmt.Sprintf("mixed-%d-%d", n, size), flows: n, packets: func() ([][]byte, error) {
		return mixedFlows(rand.New(rand.NewPCG(1, uint64(n))), n, size), nil
	}}
}

// zipfFlows is two packets per flow on average, by Zipf's law.
func zipfFlows(n int) traffic {
	return traffic{name: fmt.Sprintf("zipf-%d", n), flows: n, seldom: true, packets: func() ([][]byte, error) {
		r := rand.New(rand.NewPCG(2, uint64(n)))
		return zipf(r, mixedFlows(r, n, frameSize), 2*n), nil
	}}
}

// newFlows is a flow per packet.
func newFlows(n int) traffic {
	t := mixed(n, frameSize)
	t.once = true
	return t
}

// accepted is n flows that the firewall of a rule set accepts.
func accepted(data, set string, n int) traffic { return acceptedBy(rulesFile(data, set), n) }

func acceptedBy(file string, n int) traffic {
	return traffic{name: fmt.Sprintf("%s-%d", filepath.Base(file), n), flows: n, packets: func() ([][]byte, error) {
		rules, err := readRules(file)
		if err != nil {
			return nil, err
		}
		return rules.flows(rand.New(rand.NewPCG(3, uint64(n))), n)
	}}
}

// trialPackets is how many packets of headers that do not come again a memo of classes watches at most before it pauses.
const trialPackets = 3_400_000

// acceptedOnce is headers that the firewall of a rule set accepts, and that hardly ever come again; measured when the memo of classes pauses.
func acceptedOnce(file string) traffic {
	t := acceptedBy(file, trialPackets+800_000)
	t.once, t.before = true, trialPackets
	return t
}

func rulesFile(data, set string) string { return filepath.Join(data, "classbench", set) }

// label is a number of flows as it is in names.
func label(n int) string {
	if n >= 1_000_000 {
		return fmt.Sprintf("%dm", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// lengths of chains in a row.
var lengths = []int{1, 2, 4, 8, 10}

// rows are what is measured: the chains of the SNF paper's evaluation, from a thousand to a million flows.
func rows(data string) []row {
	var list []row
	for _, n := range lengths {
		list = append(list, row{
			Group: "routers", Name: fmt.Sprintf("routers-%d", n), N: n, chain: fixed(routers(n)), traffic: mixed(10_000, frameSize), Bound: 1.4, apart: true,
		})
	}
	list[0].peers = []peer{
		testpmdIn("io"), testpmdIn("macswap"), l3fwdRoutes("lpm", fewRoutes), l3fwdRoutes("fib", fewRoutes), kernelIn, kernelRoutes, kernelFlowtable, ovsRoutes,
	}
	list = append(list, naptRows()...)
	list = append(list, firewallRows(data)...)
	list = append(list, productRows(data)...)
	list = append(list, routerRows()...)
	list = append(list, fragmentRows(data)...)
	list = append(list, ispRows(data)...)
	list = append(list, tableRows(data)...)
	list = append(list, stateRows()...)
	for _, c := range []struct {
		size  int
		bound float64
	}{{512, 2.0}, {1500, 1.5}} {
		list = append(list, row{
			Group: "sizes", Name: fmt.Sprintf("napts-1-10k-%d-bytes", c.size), N: 1, chain: fixed(napts(1, 10_000)), traffic: mixed(10_000, c.size), Bound: c.bound, baseline: "io",
		})
	}
	return list
}

func naptRows() []row {
	var list []row
	for _, n := range lengths {
		list = append(list, row{
			Group: "napts", Name: fmt.Sprintf("napts-%d-10k", n), N: n, chain: fixed(napts(n, 10_000)), traffic: mixed(10_000, frameSize), Bound: 2.1, apart: true,
			peers: naptPeers(n, 10_000),
		})
	}
	for _, c := range []struct {
		flows int
		bound float64
	}{{1000, 2.0}, {50_000, 2.6}, {200_000, 3.4}, {1_000_000, 4.2}} {
		for _, n := range []int{1, 10} {
			list = append(list, row{
				Group: "flows", Name: fmt.Sprintf("napts-%d-%s", n, label(c.flows)), N: n, chain: fixed(napts(n, c.flows)), traffic: mixed(c.flows, frameSize), Bound: c.bound,
				peers: naptPeers(n, c.flows),
			})
		}
	}
	for _, n := range []int{1, 10} {
		list = append(list, row{
			Group: "flows", Name: fmt.Sprintf("napts-%d-1m-zipf", n), N: n, chain: fixed(napts(n, 1_000_000)), traffic: zipfFlows(1_000_000), Bound: 3.2,
			peers: naptPeers(n, 1_000_000),
		})
	}
	return append(list, row{
		Group: "new", Name: "napts-1-new-flows", N: 1, chain: fixed(napts(1, 2_000_000)), traffic: newFlows(2_000_000), Bound: 8, peers: naptPeers(1, 2_000_000),
	})
}

// naptPeers do what one NAPT does.
func naptPeers(n, flows int) []peer {
	if n > 1 {
		return nil
	}
	return []peer{kernelNAPT(flows), ovsNAPT(flows)}
}

func firewallRows(data string) []row {
	var list []row
	for _, c := range []struct {
		set   string
		flows int
		bound float64
	}{{"acl1_251", 64_000, 1.6}, {"acl1_713", 64_000, 1.6}, {"acl1_8550", 64_000, 1.9}, {"acl1_8550", 1_000_000, 2.2}} {
		list = append(list, row{
			Group: "firewall", Name: fmt.Sprintf("%s-%s", dashed(c.set), label(c.flows)), N: 1,
			chain: fixed(functions{firewall("fw", rulesFile(data, c.set))}), traffic: accepted(data, c.set, c.flows), Bound: c.bound,
			peers: aclPeers(rulesFile(data, c.set)),
		})
	}
	for _, set := range []string{"acl1_251", "acl1_713", "acl1_8550", "fw1_713"} {
		list = append(list, row{
			Group: "firewall", Name: dashed(set) + "-new-headers", N: 1, chain: fixed(functions{firewall("fw", rulesFile(data, set))}), traffic: acceptedOnce(rulesFile(data, set)),
			peers: []peer{l3fwdACL(rulesFile(data, set))},
		})
	}
	return list
}

func aclPeers(file string) []peer {
	return []peer{l3fwdACL(file), kernelFirewall("rules", file, kernel.Plain), kernelFirewall("verdict map", file, kernel.Mapped), ovsACL(file)}
}

func dashed(set string) string { return strings.ReplaceAll(set, "_", "-") }

// ispRows are firewall, router and NAPT.
func ispRows(data string) []row {
	var list []row
	for _, set := range []string{"acl1_251", "acl1_713", "acl1_8550"} {
		list = append(list, row{
			Group: "isp", Name: fmt.Sprintf("isp-%s-10k", dashed(set)), N: 3, chain: fixed(isp(rulesFile(data, set))), traffic: accepted(data, set, 10_000), Bound: 2.2, apart: true,
			peers: ispPeers(data, set, 10_000),
		})
	}
	for _, c := range []struct {
		flows int
		bound float64
	}{{100_000, 3.4}, {1_000_000, 4.5}} {
		list = append(list, row{
			Group: "isp", Name: "isp-acl1-8550-" + label(c.flows), N: 3, chain: fixed(isp(rulesFile(data, "acl1_8550"))), traffic: accepted(data, "acl1_8550", c.flows), Bound: c.bound,
			peers: ispPeers(data, "acl1_8550", c.flows),
		})
	}
	list = append(list, monitorRows(data)...)
	for _, set := range []string{"acl1_251", "acl1_713", "acl1_8550"} {
		t := accepted(data, set, 2_000_000)
		t.once = true
		list = append(list, row{Group: "new", Name: fmt.Sprintf("isp-%s-new-flows", dashed(set)), N: 3, chain: fixed(isp(rulesFile(data, set))), traffic: t, Bound: 10})
	}
	return list
}

// monitorRows are the same behind a monitor that lists flows and sources: of as many flows as a core has cells for, and of more.
func monitorRows(data string) []row {
	const set = "acl1_8550"
	var list []row
	for _, c := range []struct {
		flows  int
		before int // until there are cells for as many
		bound  float64
	}{{10_000, 0, 3.3}, {100_000, 10_000_000, 5.5}, {1_000_000, 30_000_000, 10}} {
		t := accepted(data, set, c.flows)
		t.before = c.before
		fns := append(functions{flowMonitor("mon")}, isp(rulesFile(data, set))...)
		list = append(list, row{
			Group: "monitor", Name: fmt.Sprintf("monitor-isp-%s-%s", dashed(set), label(c.flows)), N: len(fns), chain: fixed(fns), traffic: t,
			Bound: c.bound,
		})
	}
	return list
}

func ispPeers(data, set string, flows int) []peer {
	return []peer{kernelISP(rulesFile(data, set), flows), ovsISP(rulesFile(data, set))}
}

// tableRows are a router with the Internet's routes, alone and behind a firewall.
func tableRows(data string) []row {
	return []row{
		{
			Group: "table", Name: "router-901899", N: 1, traffic: routed(data, 64_000), Bound: 1.6,
			chain: func(dir string) (functions, error) {
				rt, err := tableRouter(data, dir)
				return functions{rt}, err
			},
			peers: []peer{l3fwdRoutes("fib", manyRoutes(data)), kernelTable(data, "")}, // rte_lpm takes minutes to fill
		},
		{
			Group: "table", Name: "acl1-8550-router-901899", N: 2, traffic: accepted(data, "acl1_8550", 64_000), Bound: 4.5,
			chain: func(dir string) (functions, error) {
				rt, err := tableRouter(data, dir)
				return functions{firewall("fw", rulesFile(data, "acl1_8550")), rt}, err
			},
			peers: []peer{kernelTable(data, rulesFile(data, "acl1_8550"))},
		},
	}
}

// naptPool has ports for so many flows: a /28, or a /24 for many.
func naptPool(i, flows int) (netip.Prefix, int32) {
	if flows <= 100_000 {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i), 0}), 28), 200_000
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i), 0}), 24), 4_000_000
}
