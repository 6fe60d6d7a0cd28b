package lower

import (
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// servicePort is the port of a service at which the function itself lies.
const servicePort = "service"

// service is a function that is a host, such as a proxy, in the network of an interface. The chain is a router there, with a port for each side and one for
// the service.
type service struct {
	lower.Kind
	lower.Router
	spec *v1alpha1.Blackbox
	rt   *v1alpha1.Router
}

func newService(spec *v1alpha1.Blackbox) *service {
	rt := &v1alpha1.Router{}
	for _, p := range append(slices.Clone(lower.TwoSides), servicePort) {
		rt.Ports = append(rt.Ports, v1alpha1.RouterPort{Name: v1alpha1.Name(p)})
	}
	is := lower.KindOf(&v1alpha1.FunctionKinds{Router: rt})
	return &service{Kind: is, Router: is.(lower.Router), spec: spec, rt: rt}
}

// Attached says that the service lies at its interface.
func (k *service) Attached() (port string, to v1alpha1.Name, field string) {
	return servicePort, k.spec.Inside, "inside"
}

// Lower makes the router's elements. What is of no connected network goes to the side that leads further.
func (k *service) Lower(b *lower.Builder, f *lower.Function) {
	k.refuse(b, f)
	if further := k.further(b, f); further != "" {
		k.rt.Routes = []v1alpha1.Route{{Prefix: "0.0.0.0/0", Port: v1alpha1.Name(further)}}
	}
	k.Kind.Lower(b, f)
	if i := b.FindInterface(string(k.spec.Inside)); i != nil {
		b.Host(i, f, b.OnLink(i, f.Object, f.Path+".address", k.spec.Address))
	}
}

// further is the side behind which networks lie that the chain has no interface in; empty: neither.
func (k *service) further(b *lower.Builder, f *lower.Function) (side string) {
	fail := func(message string, args ...any) {
		b.Fail(f.Object, f.Path+".attachment", string(k.spec.Attachment), message, args...)
	}
	linked := false
	for _, s := range lower.TwoSides {
		behind := b.Behind(f.Port(s))
		linked = linked || len(behind.Interfaces)+len(behind.Routers) > 0
		for _, rt := range behind.Routers {
			fail("%q is a router behind port %q, and nothing says what lies behind that; give it a port for interface %q: the service is a host there", rt.Name, s, k.spec.Inside)
		}
		if !slices.ContainsFunc(behind.Interfaces, func(i *lower.Interface) bool { return i.Spec.Gateway != "" }) {
			continue
		}
		if side != "" {
			fail("interfaces at both sides have a gateway, so nothing says where a packet of the service belongs; use a router with a port for interface %q instead", k.spec.Inside)
		}
		side = s
	}
	if !linked && !b.Unlinked() {
		b.Fail(b.Object, f.Declared+".name", f.Name, "no path and no link leads to this function; name it in the path, or take it out")
	}
	return side
}

// refuse says what cannot be. An API server with the CRDs of another release may take it.
func (k *service) refuse(b *lower.Builder, f *lower.Function) {
	for _, has := range []struct {
		field, value string
		it           bool
	}{
		{"outside", string(k.spec.Outside), k.spec.Outside != ""},
		{"whenDown", string(k.spec.WhenDown), k.spec.WhenDown != ""},
		{"bypass", "", k.spec.Bypass != nil},
		{"image", k.spec.Image, k.spec.Image != ""},
	} {
		if has.it {
			b.Fail(f.Object, f.Path+"."+has.field, has.value, "is not for attachment: Service, a host that someone else runs and whose packets are new ones to the chain; leave it out")
		}
	}
}
