package compile_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

// ofServices has a load balancer of its own, and one that is a NetworkFunction, whose servers reply past the chain. Nobody uses the third.
const ofServices = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: served}
spec:
  interfaces:
  - {name: servers, address: 10.0.0.1/16}
  - {name: clients, address: 203.0.113.1/24}
  functions:
  - name: web
    loadBalancer: {virtual: [{addresses: [203.0.113.80], ports: [80]}], backendsFrom: {serviceRef: {name: web, port: http}}}
  - {name: video, functionRef: {name: video}}
  path: [servers, web, video, clients]
---
apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: video}
spec:
  loadBalancer: {mode: DSR, virtual: [{addresses: [203.0.113.81], ports: [80]}], backendsFrom: {serviceRef: {name: video}}}
---
apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: unused}
spec:
  loadBalancer: {virtual: [{addresses: [203.0.113.82], ports: [80]}], backendsFrom: {serviceRef: {name: unused}}}
`

// served are n endpoints at a port, from 10.0.1.1 on.
func served(n int, port int32) []v1alpha1.Backend {
	var list []v1alpha1.Backend
	a := netip.MustParseAddr("10.0.1.1")
	for range n {
		list = append(list, v1alpha1.Backend{Address: v1alpha1.Address(a.String()), Port: port})
		a = a.Next()
	}
	return list
}

func TestBackendsOfServicesComeFromTheCluster(t *testing.T) {
	bundle, found := manifest.Parse("x.yaml", []byte(ofServices), os.ReadFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	services := map[string][]v1alpha1.Backend{"web": served(2, 8080), "video": served(1, 8554)}
	in := compile.Inputs{Text: none, Functions: bundle.Functions, Backends: func(ref *v1alpha1.ServiceRef) ([]v1alpha1.Backend, error) {
		if list, ok := services[ref.Name]; ok {
			return list, nil
		}
		return nil, errors.New("nobody uses it")
	}}
	got := compile.Chain(bundle.Chains[0], in)
	if got.Program == nil {
		t.Fatal(got.Message)
	}
	want := map[string]string{"web/balancer": "a000101:8080 a000102:8080", "video/balancer": "a000101:0"}
	encoded, err := delivery.Unpack(&v1alpha1.ChainProgram{Spec: v1alpha1.ChainProgramSpec{
		Chain: "served", Hash: got.Program.Hash, Schema: program.SchemaVersion, Encoding: v1alpha1.EncodingGzip, Program: got.Program.Packed,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range encoded.GetTables() {
		var list []string
		for _, k := range table.GetBalancer().GetBackends() {
			list = append(list, fmt.Sprintf("%x:%d", k.GetAddress(), k.GetPort()))
		}
		if got := strings.Join(list, " "); got != want[table.GetName()] {
			t.Errorf("%s: backends are %s, want %s", table.GetName(), got, want[table.GetName()])
		}
	}
	if ref := bundle.Chains[0].Spec.Functions[0].Service(); ref == nil || ref.Name != "web" || bundle.Functions[0].Spec.LoadBalancer.Backends != nil {
		t.Error("the cluster's own objects were changed")
	}

	services["video"] = nil
	if got := compile.Chain(bundle.Chains[0], in); got.Program == nil || !strings.Contains(got.Message, `backendsFrom.serviceRef: "video": the Service has no endpoints: new flows are dropped`) {
		t.Errorf("a Service without endpoints: %s", got.Message)
	}
	delete(services, "video")
	if got := compile.Chain(bundle.Chains[0], in); got.Program != nil || !strings.Contains(got.Message, `NetworkFunction video: spec.loadBalancer.backendsFrom.serviceRef: "video": nobody uses it`) {
		t.Errorf("a NetworkFunction's Service that cannot be read: %s", got.Message)
	}
}
