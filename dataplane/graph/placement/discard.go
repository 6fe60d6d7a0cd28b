package placement

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

func init() {
	RegisterPlain(v1alpha1.ElementDiscard, func(p *Place, e *v1alpha1.Element) {
		reason := p.Name
		if e.Discard != nil && e.Discard.Reason != "" {
			reason = string(e.Discard.Reason)
		}
		p.Element, p.Outs = element.Discard{Reason: reason}, nil
	})
}
