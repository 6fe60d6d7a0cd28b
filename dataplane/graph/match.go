package graph

import (
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// filter is the packets that a match means; ok is false if it has errors.
func (b *builder) filter(o finding.Object, field string, m *v1alpha1.Match) (filter headerspace.Filter, ok bool) {
	filter, problems := rules.Filter(m)
	ok = true
	for i := range problems {
		ok = b.problem(o, field, &problems[i]) && ok
	}
	return filter, ok
}
