package source

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// endpoints are those of Services, by the Service's name.
type endpoints map[string][]endpoint

// endpoint is a port of one.
type endpoint struct {
	port    string // the name of the Service's port
	at      netip.AddrPort
	serving bool // it ends, but serves still
}

// Services are the names of the Services whose endpoints are backends of a chain.
func Services(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) []string {
	names := map[string]bool{}
	for f := range kinds(c, functions) {
		if ref := f.Service(); ref != nil {
			names[ref.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// readEndpoints reads the endpoints of Services that take flows, or had some.
func (r *Reader) readEndpoints(ctx context.Context, namespace string, services []string) (endpoints, error) {
	out := endpoints{}
	for _, name := range services {
		var list discoveryv1.EndpointSliceList
		of := client.MatchingLabels{discoveryv1.LabelServiceName: name}
		if err := r.Cached.List(ctx, &list, client.InNamespace(namespace), of, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list EndpointSlices of Service %s: %w", name, err)
		}
		for i := range list.Items {
			out[name] = append(out[name], endpointsOf(&list.Items[i])...)
		}
		slices.SortFunc(out[name], func(a, b endpoint) int {
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.port, b.port), compareBool(a.serving, b.serving))
		})
		out[name] = slices.Compact(out[name])
	}
	return out, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// endpointsOf are those of a slice that are ready, or serve still while they end.
func endpointsOf(s *discoveryv1.EndpointSlice) (out []endpoint) {
	if s.AddressType != discoveryv1.AddressTypeIPv4 {
		return nil
	}
	for _, e := range s.Endpoints {
		ready := e.Conditions.Ready == nil || *e.Conditions.Ready
		serving := e.Conditions.Serving != nil && *e.Conditions.Serving && e.Conditions.Terminating != nil && *e.Conditions.Terminating
		if !ready && !serving {
			continue
		}
		for _, p := range s.Ports {
			for _, address := range e.Addresses {
				a, err := netip.ParseAddr(address)
				if err != nil || p.Port == nil {
					continue
				}
				end := endpoint{at: netip.AddrPortFrom(a, uint16(*p.Port)), serving: !ready}
				if p.Name != nil {
					end.port = *p.Name
				}
				out = append(out, end)
			}
		}
	}
	return out
}

// version tells whether some changed.
func (e endpoints) version(b *strings.Builder) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		fmt.Fprintf(b, " service %s", name)
		for _, end := range e[name] {
			fmt.Fprintf(b, " %s@%s/%t", end.port, end.at, end.serving)
		}
	}
}

// backends are the endpoints of a Service's port.
func (e endpoints) backends(ref *v1alpha1.ServiceRef) ([]v1alpha1.Backend, error) {
	var list []v1alpha1.Backend
	var ports []string
	for _, end := range e[ref.Name] {
		if !slices.Contains(ports, end.port) {
			ports = append(ports, end.port)
		}
		if ref.Port != "" && end.port != ref.Port {
			continue
		}
		weight := int32(1)
		if end.serving {
			weight = 0
		}
		k := v1alpha1.Backend{Address: v1alpha1.Address(end.at.Addr().String()), Port: int32(end.at.Port()), Weight: &weight}
		if n := len(list); n > 0 && list[n-1].Address == k.Address && list[n-1].Port == k.Port {
			continue // ready by one slice, ending by another
		}
		list = append(list, k)
	}
	switch {
	case ref.Port == "" && len(ports) > 1:
		return nil, finding.Missing(fmt.Sprintf("the Service has the ports %s; name one as port", strings.Join(ports, ", ")))
	case ref.Port != "" && len(ports) > 0 && len(list) == 0:
		return nil, finding.Missing("the Service has no such port" + finding.DidYouMean(ref.Port, ports))
	}
	return list, nil
}
