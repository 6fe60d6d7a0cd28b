package servicechain_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// ofService is the chain edge with a load balancer of a Service's endpoints.
func ofService(port string) string {
	return strings.Replace(edge(443), `  - name: fw
    firewall:
      rules:
      - {name: out, from: Inside, protocol: tcp, destinationPorts: [443], action: Accept}
`, `  - name: fw
    loadBalancer:
      virtual: [{addresses: [203.0.113.80], ports: [80]}]
      backendsFrom: {serviceRef: {name: web, port: `+port+`}}
`, 1)
}

// slice is an EndpointSlice of the Service web, with ports http (8080) and metrics (9090); each endpoint is its address and its conditions.
func slice(name string, endpoints ...string) string {
	list := strings.Join(endpoints, ",\n  ")
	return `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ` + name + `, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}, {name: metrics, port: 9090, protocol: TCP}]
endpoints: [
  ` + list + `]
`
}

const (
	isReady   = `{addresses: [%s], conditions: {ready: true}}`
	isUnready = `{addresses: [%s], conditions: {ready: false, serving: false, terminating: false}}`
	isEnding  = `{addresses: [%s], conditions: {ready: false, serving: true, terminating: true}}`
)

// backends are those of all programs that there are: "10.0.0.11:8080/1", with the weight.
func (w *world) backends() (all []string) {
	w.Helper()
	for _, p := range w.programs() {
		unpacked, err := delivery.Unpack(&p)
		w.must(err)
		var list []string
		for _, t := range unpacked.GetTables() {
			for _, k := range t.GetBalancer().GetBackends() {
				a := netip.AddrFrom4([4]byte{byte(k.GetAddress() >> 24), byte(k.GetAddress() >> 16), byte(k.GetAddress() >> 8), byte(k.GetAddress())})
				list = append(list, fmt.Sprintf("%s:%d/%d", a, k.GetPort(), k.GetWeight()))
			}
		}
		all = append(all, strings.Join(list, " "))
	}
	return all
}

func TestEndpointsOfAServiceAreBackends(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(ofService("http"))
	w.settle()
	has := func(want string) {
		t.Helper()
		for _, got := range w.backends() {
			if got == want {
				return
			}
		}
		t.Errorf("no program has the backends %q: they have %q", want, w.backends())
	}
	has("") // nobody is there yet
	w.says(v1alpha1.ConditionSynthesized, yes, v1alpha1.ReasonCompiled, `"web": the Service has no endpoints: new flows are dropped`)
	w.apply(slice("web-1", fmt.Sprintf(isReady, "10.0.0.11"), fmt.Sprintf(isUnready, "10.0.0.12"), fmt.Sprintf(isEnding, "10.0.0.13")))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, yes, v1alpha1.ReasonCompiled, "")
	has("10.0.0.11:8080/1 10.0.0.13:8080/0")
	w.apply(slice("web-2", fmt.Sprintf(isReady, "10.0.0.14"), fmt.Sprintf(isReady, "10.0.0.13")))
	w.settle()
	has("10.0.0.11:8080/1 10.0.0.13:8080/1 10.0.0.14:8080/1") // ready by one slice
	w.apply(ofService("htp"))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `loadBalancer.backendsFrom.serviceRef: "web": the Service has no such port; did you mean "http"?`)
	w.apply(strings.Replace(ofService(""), ", port: ", "", 1))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, "the Service has the ports http, metrics; name one as port")
}

func TestTheOperatorFollowsEndpoints(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.start(nil)
	w.apply(ofService("http"))
	w.eventually("a program without backends", func() bool { return len(w.programs()) == 1 })
	w.apply(slice("web-1", fmt.Sprintf(isReady, "10.0.0.11")))
	w.eventually("a second program with an endpoint", func() bool {
		return strings.Contains(strings.Join(w.backends(), ","), "10.0.0.11:8080/1")
	})
}
