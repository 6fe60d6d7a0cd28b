package lower

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
)

func init() {
	placement.Register(v1alpha1.ElementNAPT, "napt", func(e *v1alpha1.Element) *v1alpha1.NAPT { return e.NAPT }, placeNAPT)
	placement.RegisterBorder(func(e *v1alpha1.Element) func() []netip.Prefix {
		if e.NAPT == nil {
			return nil
		}
		return func() []netip.Prefix { return outsideOf(e.NAPT) }
	})
}

// placeNAPT makes an element of a NAPT that has nothing fixed: this needs elements around it.
func placeNAPT(p *placement.Place, spec *v1alpha1.NAPT) {
	const field = "napt"
	if len(spec.Exempt) > 0 {
		p.Fail(field+".exempt", "", "is for the function napt; link a Classifier before the element, with a way round it")
	}
	for _, has := range []struct {
		member string
		has    bool
	}{{"portForwards", len(spec.PortForwards) > 0}, {"static", len(spec.Static) > 0}, {"hairpinning", spec.Hairpinning == v1alpha1.HairpinAll}} {
		if has.has {
			p.Fail(field+"."+has.member, "", "is for the function napt; take that in place of the element")
		}
	}
	n := readNAPT(p.Builder, p.Function, p.Path+"."+field, spec, p.Name)
	p.Ins, p.Outs = n.PortNames(), n.PortNames()
	p.Element = n
}
