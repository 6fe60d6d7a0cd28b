package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/packets"
)

// The services of the balancer, and where its servers are: behind the next hop.
const (
	serviceAddress = 0x17000001
	serviceText    = "23.0.0.1" // the same
	serviceTCP     = 80
	serviceUDP     = 53
	servers        = 8
)

// stateRows are chains of functions that keep state: a stateful firewall may cost a tenth more than a NAPT may, ten such functions a tenth more than one. SNF's
// chain (Figure 5) is NAPT, firewall, balancer; FAJITA's is balancer, NAT, router.
func stateRows() []row {
	const flows, many = 10_000, 200_000
	all, served := mixed(flows, frameSize), toService(flows)
	var list []row
	for _, c := range []struct {
		name    string
		fns     functions
		traffic traffic
		bound   float64
	}{
		{"stateful-1-10k", stateful(1), all, 2.3},
		{"stateful-10-10k", stateful(10), all, 2.5},
		{"napt-stateful-10-10k", alternating(10), all, 2.5},
		{"stateful-napt-200k", append(stateful(1), napts(1, many)...), mixed(many, frameSize), 0},
		{"stateful-2-napt-200k", append(stateful(2), napts(1, many)...), mixed(many, frameSize), 0},
		{"napt-exempt-200k", functions{exempting("nat")}, mixed(many, frameSize), 0},
		{"balancer-10k", functions{balancer("lb")}, served, 2.3},
		{"balancer-200k", functions{balancer("lb")}, toService(many), 0},
		{"napt-stateful-balancer-10k", append(alternating(2), balancer("lb")), served, 2.5},
		{"napt-stateful-balancer-200k", slices.Concat(napts(1, many), stateful(1), functions{balancer("lb")}), toService(many), 0},
		{"balancer-napt-router-10k", slices.Concat(functions{balancer("lb")}, napts(1, flows), functions{router("rt")}), served, 2.4},
		{"balancer-napt-router-200k", slices.Concat(functions{balancer("lb")}, napts(1, many), functions{router("rt")}), toService(many), 0},
	} {
		list = append(list, row{Group: "state", Name: c.name, N: len(c.fns), chain: fixed(c.fns), traffic: c.traffic, Bound: c.bound, apart: len(c.fns) > 1})
	}
	return list
}

// statefulFirewall lets what is inside begin flows. It takes flows that it did not see begin, as most packets that are replayed are of those.
func statefulFirewall(name string) v1alpha1.Function {
	tracking := v1alpha1.DefaultTracking()
	tracking.PickUp = true
	f := &v1alpha1.Firewall{
		Stateful: true, Tracking: &tracking, Default: v1alpha1.ActionDrop,
		Rules: []v1alpha1.FirewallRule{{From: v1alpha1.SideInside, Action: v1alpha1.ActionAccept}},
	}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Firewall: f}}
}

// exempting is a NAPT that translates nothing of what is sent: the flows of a site whose addresses the other side knows.
func exempting(name string) v1alpha1.Function {
	pool, sessions := naptPool(0, 10_000)
	f := napt(name, pool, sessions)
	f.NAPT.Exempt = []v1alpha1.NAPTExemption{{Destination: []v1alpha1.AddressSet{"23.0.0.0/8"}}}
	return f
}

func stateful(n int) functions {
	var fns functions
	for i := range n {
		fns = append(fns, statefulFirewall(fmt.Sprintf("fw%d", i)))
	}
	return fns
}

// alternating are NAPTs and stateful firewalls by turns.
func alternating(n int) functions {
	fns := napts(n, 10_000)
	for i := 1; i < n; i += 2 {
		fns[i] = statefulFirewall(fmt.Sprintf("fw%d", i))
	}
	return fns
}

// balancer spreads two services over servers.
func balancer(name string) v1alpha1.Function {
	address := []v1alpha1.Address{serviceText}
	b := &v1alpha1.LoadBalancer{Virtual: []v1alpha1.VirtualService{
		{Addresses: address, Protocol: v1alpha1.ServiceTCP, Ports: []intstr.IntOrString{intstr.FromInt(serviceTCP)}},
		{Addresses: address, Protocol: v1alpha1.ServiceUDP, Ports: []intstr.IntOrString{intstr.FromInt(serviceUDP)}},
	}}
	for i := range servers {
		b.Backends = append(b.Backends, v1alpha1.Backend{Address: v1alpha1.Address(fmt.Sprintf("198.51.100.%d", 11+i))})
	}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{LoadBalancer: b}}
}

// toService is n flows to the services of the balancer.
func toService(n int) traffic {
	return traffic{name: fmt.Sprintf("service-%d", n), flows: n, packets: func() ([][]byte, error) {
		r := rand.New(rand.NewPCG(4, uint64(n)))
		out := make([][]byte, n)
		for i := range out {
			src, sport := 0x0a000000|uint32(2+r.IntN(1<<22)), uint16(1024+r.IntN(60000))
			if r.IntN(2) == 0 {
				out[i] = frame(frameSize, src, serviceAddress, packets.ProtoTCP, sport, serviceTCP, tcpFlags(r))
			} else {
				out[i] = frame(frameSize, src, serviceAddress, packets.ProtoUDP, sport, serviceUDP, 0)
			}
		}
		return out, nil
	}}
}

// sides are the ports by which packets from inside enter a function and leave it. A balancer's clients are outside of it.
func sides(f v1alpha1.Function) (in, out string) {
	if f.LoadBalancer != nil {
		return "outside", "inside"
	}
	return "inside", "outside"
}
