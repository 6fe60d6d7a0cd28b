// Package endpoints takes the backends of load balancers from Services, as the EndpointSlices of these have them.
package endpoints

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// maxBackends is how many a load balancer has at most, as the schema says of those that it lists.
const maxBackends = 512

// List is the endpoints of a Service, in order: those that are ready, or serve still while they end.
type List []endpoint

// endpoint is an address and port to which a port of the Service leads.
type endpoint struct {
	at     netip.AddrPort
	port   string // the name of the Service's port
	weight int32  // 1; 0: it ends, but serves still
}

// Of are the IPv4 endpoints of a Service's slices. One that two slices have, as it moves from one to the other, is ready if one says so.
func Of(of ...discoveryv1.EndpointSlice) List {
	var all List
	for i := range of {
		if of[i].AddressType == discoveryv1.AddressTypeIPv4 {
			all = append(all, in(&of[i])...)
		}
	}
	slices.SortFunc(all, func(a, b endpoint) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.port, b.port), cmp.Compare(b.weight, a.weight))
	})
	return slices.CompactFunc(all, func(a, b endpoint) bool { return a.at == b.at && a.port == b.port })
}

func in(s *discoveryv1.EndpointSlice) (list List) {
	for _, e := range s.Endpoints {
		var weight int32
		switch is := e.Conditions; {
		case is.Ready == nil || *is.Ready: // absent means yes
			weight = 1
		case is.Serving == nil || !*is.Serving || is.Terminating == nil || !*is.Terminating:
			continue
		}
		for _, p := range s.Ports {
			for _, address := range e.Addresses {
				a, err := netip.ParseAddr(address)
				if err != nil || p.Port == nil {
					continue
				}
				end := endpoint{at: netip.AddrPortFrom(a, uint16(*p.Port)), weight: weight}
				if p.Name != nil {
					end.port = *p.Name
				}
				list = append(list, end)
			}
		}
	}
	return list
}

// String differs where lists differ.
func (l List) String() string {
	var b strings.Builder
	for _, e := range l {
		fmt.Fprintf(&b, "%s@%s/%d ", e.port, e.at, e.weight)
	}
	return b.String()
}

// Backends are the endpoints of a Service's port.
func (l List) Backends(ref *v1alpha1.ServiceRef) ([]v1alpha1.Backend, error) {
	var list []v1alpha1.Backend
	var ports []string
	for _, e := range l {
		if !slices.Contains(ports, e.port) {
			ports = append(ports, e.port)
		}
		if ref.Port == "" || e.port == ref.Port {
			list = append(list, v1alpha1.Backend{Address: v1alpha1.Address(e.at.Addr().String()), Port: int32(e.at.Port()), Weight: &e.weight})
		}
	}
	switch {
	case ref.Port == "" && len(ports) > 1:
		return nil, finding.Missing(fmt.Sprintf("the Service has the ports %s; name one as port", strings.Join(ports, ", ")))
	case ref.Port != "" && len(ports) > 0 && len(list) == 0:
		return nil, finding.Missing("the Service has no such port" + finding.DidYouMean(ref.Port, ports))
	case len(list) > maxBackends:
		return nil, fmt.Errorf("the Service has %d endpoints, and a load balancer has at most %d backends", len(list), maxBackends)
	}
	return list, nil
}

// Put has a function list backends in the place of a reference to a Service.
func Put(f *v1alpha1.FunctionKinds, list []v1alpha1.Backend) {
	if f.LoadBalancer.Mode == v1alpha1.BalancerDSR {
		for i := range list {
			list[i].Port = 0 // clients choose it
		}
	}
	f.LoadBalancer.Backends, f.LoadBalancer.BackendsFrom = list, nil
}
