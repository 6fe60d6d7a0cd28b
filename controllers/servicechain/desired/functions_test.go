package desired

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

// inspected is a chain with two containers, one of a NetworkFunction, and a program that has both.
func inspected() (*v1alpha1.ServiceChain, []*v1alpha1.NetworkFunction, *v1alpha1.ChainProgram) {
	c := &v1alpha1.ServiceChain{}
	c.Namespace = "lab"
	c.Spec.Interfaces = []v1alpha1.Interface{
		{Name: "inside", NetworkRef: &v1alpha1.NetworkRef{Name: "lan"}},
		{Name: "ips-inside", Wire: true, MTU: 9000},
		{Name: "ips-outside", Wire: true},
		{Name: "qos-inside", Wire: true},
		{Name: "qos-outside", Wire: true},
	}
	own := v1alpha1.Function{Name: "ips"}
	own.Blackbox = &v1alpha1.Blackbox{Inside: "ips-inside", Outside: "ips-outside"}
	own.Blackbox.Image, own.Blackbox.Args = "ips:1", []string{"-v"}
	c.Spec.Functions = []v1alpha1.Function{own, {Name: "qos", FunctionRef: &v1alpha1.FunctionRef{Name: "shaper"}}}
	shared := &v1alpha1.NetworkFunction{}
	shared.Namespace, shared.Name = "lab", "shaper"
	shared.Spec.Blackbox = &v1alpha1.Blackbox{Inside: "qos-inside", Outside: "qos-outside"}
	shared.Spec.Blackbox.Image = "qos:1"
	other := shared.DeepCopy()
	other.Namespace, other.Spec.Blackbox.Image = "elsewhere", "qos:2"
	p := &v1alpha1.ChainProgram{}
	p.Spec.Interfaces = []v1alpha1.Name{"inside", "ips-inside", "ips-outside", "qos-inside", "qos-outside"}
	return c, []*v1alpha1.NetworkFunction{other, shared}, p
}

func all(string) bool { return true }

func TestFunctionsWithAnImageAreContainersWithDevicesOfTheirWires(t *testing.T) {
	c, functions, p := inspected()
	got, refused := Functions(c, functions, p, all)
	want := []v1alpha1.InstanceFunction{
		{Name: "ips", Inside: "ips-inside", Outside: "ips-outside", BlackboxContainer: v1alpha1.BlackboxContainer{Image: "ips:1", Args: []string{"-v"}}},
		{Name: "qos", Inside: "qos-inside", Outside: "qos-outside", BlackboxContainer: v1alpha1.BlackboxContainer{Image: "qos:1"}},
	}
	if refused != "" || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v (%s), want %+v", got, refused, want)
	}
	bindings, unbound := Bind(c, p, got)
	const packets = v1alpha1.DriverAFPacket
	bound := []v1alpha1.InterfaceBinding{
		{Name: "inside", Driver: packets, Device: "net1", Network: "lab/lan"},
		{Name: "ips-inside", Driver: packets, Device: "wire1", MTU: 9000},
		{Name: "ips-outside", Driver: packets, Device: "wire2"},
		{Name: "qos-inside", Driver: packets, Device: "wire3"},
		{Name: "qos-outside", Driver: packets, Device: "wire4"},
	}
	if unbound != "" || !reflect.DeepEqual(bindings, bound) {
		t.Errorf("bound are %+v (%s), want %+v", bindings, unbound, bound)
	}
}

func TestWhatAContainerCanDoIsKnownWhereTheChainSaysIt(t *testing.T) {
	c, functions, _ := inspected()
	if got := Capacities(c, functions); got != nil {
		t.Errorf("got %+v, want none, as nothing is said", got)
	}
	functions[0].Spec.Blackbox.Scaling = &v1alpha1.BlackboxScaling{Capacity: "9pps"}
	functions[1].Spec.Blackbox.Scaling = &v1alpha1.BlackboxScaling{Capacity: "1.5 Mpps"}
	c.Spec.Functions[0].Blackbox.Scaling = &v1alpha1.BlackboxScaling{Capacity: "20 kpps", TargetUtilization: 50}
	want := []scaling.Capacity{{Function: "ips", Rate: 20e3, Target: 0.5}, {Function: "qos", Rate: 1.5e6, Target: 0.7}}
	if got := Capacities(c, functions); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.Spec.Functions[0].Blackbox.Image = "" // as of an API server with other CRDs
	if got := Capacities(c, functions); !slices.Equal(got, want[1:]) {
		t.Errorf("without an image got %+v, want that of qos", got)
	}
}

func TestAContainerIsThereForItsProgramAlone(t *testing.T) {
	c, functions, p := inspected()
	p.Spec.Interfaces = p.Spec.Interfaces[:3] // the program of before, which has no shaper
	if got, _ := Functions(c, functions, p, all); len(got) != 1 || got[0].Name != "ips" {
		t.Errorf("got %+v, want the one that the program has wires for", got)
	}
	if got, _ := Functions(c, nil, p, all); len(got) != 1 {
		t.Errorf("without the NetworkFunction: got %+v", got)
	}
	c.Spec.Functions[0].Blackbox.Image = ""
	if got, _ := Functions(c, functions, p, all); got != nil {
		t.Errorf("got %+v of functions without an image", got)
	}
	want := "spec.interfaces[1] (ips-inside): set networkRef, resourceName or resourceClaimTemplateName to attach the pod, or give its blackbox an image"
	if _, unbound := Bind(c, p, nil); unbound != want {
		t.Errorf("wires of no container: %s", unbound)
	}
}

// A spec that the policy refuses does not compile, but it is read for missing instances of the program before it.
func TestNoInstanceIsMadeWithAnImageThatThePolicyRefuses(t *testing.T) {
	c, functions, p := inspected()
	got, refused := Functions(c, functions, p, func(image string) bool { return image == "ips:1" })
	if want := "spec.functions[1] (qos): chains of this cluster may not run image qos:1"; got != nil || refused != want {
		t.Errorf("got %+v, %q, want none and %q", got, refused, want)
	}
}

func TestAContainerThatGetsCopiesMayHaveOneWire(t *testing.T) {
	c, functions, p := inspected()
	c.Spec.Functions[0].Blackbox.Attachment, c.Spec.Functions[0].Blackbox.Outside = v1alpha1.BlackboxTap, ""
	got, _ := Functions(c, functions, p, all)
	if len(got) != 2 || got[0].Inside != "ips-inside" || got[0].Outside != "" {
		t.Fatalf("got %+v, want the first one with one wire", got)
	}
	if _, unbound := Bind(c, p, got); unbound == "" {
		t.Error("the wire that no function names has a device")
	}
	c.Spec.Interfaces = slices.Delete(c.Spec.Interfaces, 2, 3)
	p.Spec.Interfaces = slices.Delete(p.Spec.Interfaces, 2, 3)
	bindings, unbound := Bind(c, p, got)
	if unbound != "" || len(bindings) != 4 || bindings[1].Device != "wire1" || bindings[2].Device != "wire2" {
		t.Errorf("bound are %+v (%s), want a device for each wire", bindings, unbound)
	}
}

// A program of before runs on while a spec with a further container is refused, or is rolled back.
func TestAnInterfaceThatTheProgramHasNotNeedsNoDevice(t *testing.T) {
	c, functions, p := inspected()
	p.Spec.Interfaces = p.Spec.Interfaces[:1]
	got, _ := Functions(c, functions, p, all)
	bindings, unbound := Bind(c, p, got)
	if unbound != "" || len(bindings) != 1 || bindings[0].Device != "net1" {
		t.Errorf("bound are %+v (%s), want the one interface of the program", bindings, unbound)
	}
}

func TestAContainerThatSharesMemoryHasSockets(t *testing.T) {
	c, functions, p := inspected()
	c.Spec.Functions[0].Blackbox.Transport = v1alpha1.BlackboxMemif
	got, _ := Functions(c, functions, p, all)
	bindings, unbound := Bind(c, p, got)
	want := []v1alpha1.InterfaceBinding{
		{Name: "inside", Driver: v1alpha1.DriverAFPacket, Device: "net1", Network: "lab/lan"},
		{Name: "ips-inside", Driver: v1alpha1.DriverMemif, Device: "/run/memif/ips-inside.sock", MTU: 9000},
		{Name: "ips-outside", Driver: v1alpha1.DriverMemif, Device: "/run/memif/ips-outside.sock"},
		{Name: "qos-inside", Driver: v1alpha1.DriverAFPacket, Device: "wire1"},
		{Name: "qos-outside", Driver: v1alpha1.DriverAFPacket, Device: "wire2"},
	}
	if unbound != "" || !reflect.DeepEqual(bindings, want) {
		t.Errorf("bound are %+v (%s), want %+v", bindings, unbound, want)
	}
}
