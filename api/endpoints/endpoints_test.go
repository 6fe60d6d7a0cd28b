package endpoints

import (
	"fmt"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// slice is an EndpointSlice of IPv4 addresses with ports by name.
func slice(ports map[string]int32, list ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: list}
	for name, port := range ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &name, Port: &port})
	}
	return s
}

func at(address string, ready, serving, terminating *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating},
	}
}

var yes, no = new(true), new(false)

// said is backends as text: "10.0.0.11:8080/1", with the weight.
func said(list []v1alpha1.Backend) string {
	var out []string
	for _, k := range list {
		out = append(out, fmt.Sprintf("%s:%d/%d", k.Address, k.Port, *k.Weight))
	}
	return strings.Join(out, " ")
}

func TestEndpointsThatTakeFlowsOrEndAreBackends(t *testing.T) {
	web := slice(map[string]int32{"http": 8080},
		at("10.0.0.19", yes, yes, no),
		at("10.0.0.11", nil, nil, nil), // absent means ready
		at("10.0.0.12", no, no, no),
		at("10.0.0.13", no, yes, yes),
		at("10.0.0.14", no, no, yes),
		at("10.0.0.15", no, yes, nil),
	)
	six := slice(map[string]int32{"http": 8080}, at("2001:db8::1", yes, yes, no))
	six.AddressType = discoveryv1.AddressTypeIPv6
	e := Of(*web, *six, *slice(map[string]int32{"http": 8080}, at("10.0.0.13", yes, yes, no)))
	list, err := e.Backends(&v1alpha1.ServiceRef{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(list), "10.0.0.11:8080/1 10.0.0.13:8080/1 10.0.0.19:8080/1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOfSeveralPortsOneIsNamed(t *testing.T) {
	e := Of(*slice(map[string]int32{"http": 8080, "metrics": 9090}, at("10.0.0.11", yes, yes, no), at("10.0.0.12", no, yes, yes)))
	for port, want := range map[string]string{
		"http":    "10.0.0.11:8080/1 10.0.0.12:8080/0",
		"metrics": "10.0.0.11:9090/1 10.0.0.12:9090/0",
		"htp":     `the Service has no such port; did you mean "http"?`,
		"":        "the Service has the ports http, metrics; name one as port",
	} {
		list, err := e.Backends(&v1alpha1.ServiceRef{Name: "web", Port: port})
		got := said(list)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("port %q: got %s, want %s", port, got, want)
		}
	}
	if list, err := Of().Backends(&v1alpha1.ServiceRef{Name: "none", Port: "http"}); err != nil || len(list) > 0 {
		t.Errorf("a Service without endpoints: %v (%v)", list, err)
	}
}

func TestAServiceHasNoMoreEndpointsThanALoadBalancerHasBackends(t *testing.T) {
	s := slice(map[string]int32{"http": 8080})
	for i := range 513 {
		s.Endpoints = append(s.Endpoints, at(fmt.Sprintf("10.0.%d.%d", i/256, i%256), yes, yes, no))
	}
	if _, err := Of(*s).Backends(&v1alpha1.ServiceRef{Name: "web"}); err == nil || err.Error() != "the Service has 513 endpoints, and a load balancer has at most 512 backends" {
		t.Error(err)
	}
}
