package placement

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

func init() {
	Register(v1alpha1.ElementFilter, "filter", func(e *v1alpha1.Element) *v1alpha1.FilterElement { return e.Filter }, placeFilter)
}

// placeFilter makes a classifier of one rule.
func placeFilter(p *Place, spec *v1alpha1.FilterElement) {
	r := element.Rule{Name: p.Name + "/pass"}
	for i := range spec.Match {
		if filter, ok := p.Filter(lower.Index("filter.match", i), &spec.Match[i]); ok {
			r.Filters = append(r.Filters, filter)
		}
	}
	p.Outs = []string{"pass", "drop"}
	p.Drops["drop"] = p.Name + "/drop"
	p.Element = element.Classifier{Rules: []element.Rule{r}, Default: 1, Outs: 2}
}
