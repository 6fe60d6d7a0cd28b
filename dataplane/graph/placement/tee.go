package placement

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

func init() {
	Register(v1alpha1.ElementTee, "tee", func(e *v1alpha1.Element) *v1alpha1.TeeElement { return e.Tee }, placeTee)
}

func placeTee(p *Place, spec *v1alpha1.TeeElement) {
	p.Outs = nil
	for _, o := range spec.Outputs {
		p.Outs = append(p.Outs, string(o))
	}
	p.Element = element.Tee{Outs: len(p.Outs)}
}
