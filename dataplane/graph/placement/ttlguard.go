package placement

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

func init() {
	Register(v1alpha1.ElementTTLGuard, "ttlGuard", func(e *v1alpha1.Element) *v1alpha1.TTLGuardElement { return e.TTLGuard }, placeTTLGuard)
}

func placeTTLGuard(p *Place, spec *v1alpha1.TTLGuardElement) {
	if spec.Min == nil {
		p.Fail("ttlGuard.min", "", "is missing, and required")
		return
	}
	p.either(element.TTLGuard{Min: uint8(*spec.Min)})
}
