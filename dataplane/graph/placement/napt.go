package placement

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func init() {
	register(v1alpha1.ElementNAPT, "napt", func(e *v1alpha1.Element) *v1alpha1.NAPT { return e.NAPT }, placeNAPT)
}

func placeNAPT(p *Place, spec *v1alpha1.NAPT) {
	n := p.NAPT("napt", spec, p.Name)
	p.Ins, p.Outs = n.PortNames(), n.PortNames()
	p.Element = n
}
