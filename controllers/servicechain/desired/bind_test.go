package desired

import (
	"reflect"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func TestInterfacesAreBoundInTheOrderOfTheProgramByTheNetworksInThatOfTheChain(t *testing.T) {
	network := func(name string) *v1alpha1.NetworkRef { return &v1alpha1.NetworkRef{Name: name} }
	c := &v1alpha1.ServiceChain{}
	c.Namespace = "lab"
	c.Spec.Interfaces = []v1alpha1.Interface{
		{Name: "inside", NetworkRef: network("lan")},
		{Name: "outside", NetworkRef: network("wan"), ResourceName: "intel.com/vf", MTU: 9000},
	}
	p := &v1alpha1.ChainProgram{}
	p.Name = "edge-1"
	p.Spec.Interfaces = []v1alpha1.Name{"outside", "inside"}
	got, unbound := Bind(c, p, nil)
	want := []v1alpha1.InterfaceBinding{
		{Name: "outside", Driver: v1alpha1.DriverVFIO, Device: "net2", Network: "lab/wan", ResourceName: "intel.com/vf", MTU: 9000},
		{Name: "inside", Driver: v1alpha1.DriverAFPacket, Device: "net1", Network: "lab/lan"},
	}
	if unbound != "" || !reflect.DeepEqual(got, want) {
		t.Errorf("bound are %+v (%s), want %+v", got, unbound, want)
	}

	p.Spec.Interfaces = append(p.Spec.Interfaces, "dmz")
	if _, unbound = Bind(c, p, nil); unbound != `program edge-1 has the interface "dmz", which is no longer in spec.interfaces` {
		t.Errorf("an interface that is gone: %s", unbound)
	}
	c.Spec.Interfaces[0].NetworkRef = nil
	if _, unbound = Bind(c, p, nil); unbound != "spec.interfaces[0] (inside): set networkRef, resourceName or resourceClaimTemplateName to attach the pod" {
		t.Errorf("an interface without a network: %s", unbound)
	}
}
