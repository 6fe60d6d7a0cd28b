package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// A chain's functions, in order, from the interface `inside` to `outside`.
type functions []v1alpha1.Function

// Addresses of the testbed: clients inside, everything else outside.
const (
	insideAddress  = "10.0.0.1/8"
	outsideAddress = "203.0.113.2/24"
	nextHop        = "203.0.113.1"
	insideHost     = "10.0.0.2"
	peerMAC        = "02:00:00:00:00:aa"
	lastMAC        = "02:00:00:00:00:bb"
)

// hopMAC is the MAC address of the interface `inside` of the i-th program.
func hopMAC(i int) v1alpha1.MACAddress {
	return v1alpha1.MACAddress(fmt.Sprintf("02:5e:00:00:00:%02x", i))
}

// chainOf wires functions in a row. index is the place of the first one when a
// chain is run unmerged, each function as a chain of its own: its `outside` then leads to
// the next program's `inside`.
func chainOf(name string, index int, next v1alpha1.MACAddress, fns functions) *v1alpha1.ServiceChain {
	var links []v1alpha1.Link
	from := "inside"
	for _, f := range fns {
		in, out := sides(f)
		links = append(links, link(from, string(f.Name)+"."+in))
		from = string(f.Name) + "." + out
	}
	return &v1alpha1.ServiceChain{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ServiceChain"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ServiceChainSpec{
			Interfaces: append([]v1alpha1.Interface{
				{
					Name: "inside", Address: insideAddress, MTU: 1500, MAC: hopMAC(index),
					Gateway:   insideHost,
					Neighbors: []v1alpha1.Neighbor{{Address: insideHost, MAC: peerMAC}},
				},
				{
					Name: "outside", Address: outsideAddress, MTU: 1500, MAC: lastMAC,
					Gateway:   nextHop,
					Neighbors: append(nextHopNeighbors(), v1alpha1.Neighbor{Address: nextHop, MAC: next}),
				},
			}, wires(fns)...),
			Functions: fns,
			Links:     append(links, link(from, "outside")),
		},
	}
}

func link(from, to string) v1alpha1.Link {
	return v1alpha1.Link{From: v1alpha1.Endpoint(from), To: v1alpha1.Endpoint(to), Direction: v1alpha1.LinkBoth}
}

// merged is the whole chain as one program.
func merged(name string, fns functions) *v1alpha1.ServiceChain {
	return chainOf(name, 0, peerMAC, fns)
}

// unmerged is every function as a program of its own.
func unmerged(name string, fns functions) []*v1alpha1.ServiceChain {
	var out []*v1alpha1.ServiceChain
	for i, f := range fns {
		out = append(out, chainOf(fmt.Sprintf("%s-%d", name, i), i, hopMAC(i+1), functions{f}))
	}
	return out
}

// router is a router as in the paper's chain: a default route onwards and a few
// prefixes more.
func router(name string) v1alpha1.Function {
	r := &v1alpha1.Router{Routes: []v1alpha1.Route{
		{Prefix: "0.0.0.0/0", Port: "outside"},
		{Prefix: "10.0.0.0/8", Port: "inside"},
		{Prefix: "198.18.0.0/15", Port: "outside"},
		{Prefix: "192.88.99.0/24", Port: "outside"},
	}}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Router: r}}
}

// napt is a NAPT with a pool of its own; the size is a prefix length.
func napt(name string, pool netip.Prefix, sessions int32) v1alpha1.Function {
	n := &v1alpha1.NAPT{Pool: []v1alpha1.AddressSet{v1alpha1.AddressSet(pool.String())}, MaxSessions: sessions}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{NAPT: n}}
}

// firewall is a firewall with the rules of a ClassBench file: odd lines accept, even lines drop.
func firewall(name, file string) v1alpha1.Function {
	f := &v1alpha1.Firewall{
		Default: v1alpha1.ActionDrop,
		RulesFrom: &v1alpha1.RulesFrom{
			File: v1alpha1.FilePath(file), Format: v1alpha1.FormatClassBench, Actions: v1alpha1.ActionsOddAcceptEvenDrop,
		},
	}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Firewall: f}}
}

// flowMonitor is a monitor that lists the heaviest flows and sources.
func flowMonitor(name string) v1alpha1.Function {
	m := &v1alpha1.Monitor{Top: &v1alpha1.MonitorTop{By: []v1alpha1.TopBy{v1alpha1.TopFlow, v1alpha1.TopSource}}}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Monitor: m}}
}

func routers(n int) functions {
	var fns functions
	for i := range n {
		fns = append(fns, router(fmt.Sprintf("rt%d", i)))
	}
	return fns
}

// napts are NAPTs in a row, each with a pool of 198.18.0.0/15 of its own, for so many flows.
func napts(n, flows int) functions {
	var fns functions
	for i := range n {
		pool, sessions := naptPool(i, flows)
		fns = append(fns, napt(fmt.Sprintf("nat%d", i), pool, sessions))
	}
	return fns
}

// ispPool is the NAPT's.
var ispPool = netip.MustParsePrefix("198.18.0.0/24")

// ends are a prefix's lowest and highest address, of IPv4.
func ends(p netip.Prefix) (low, high netip.Addr) {
	a := p.Masked().Addr().As4()
	n := binary.BigEndian.Uint32(a[:]) | uint32(1<<(32-p.Bits())-1)
	return p.Masked().Addr(), netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

// isp is SNF's chain 3 (Figure 9): firewall, router, NAPT.
func isp(rules string) functions {
	return functions{
		firewall("fw", rules), router("rt"),
		napt("nat", ispPool, 4_000_000),
	}
}
