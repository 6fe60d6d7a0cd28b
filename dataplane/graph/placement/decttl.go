package placement

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

func init() {
	RegisterPlain(v1alpha1.ElementDecTTL, func(p *Place, _ *v1alpha1.Element) { p.either(element.DecTTL{}) })
}
