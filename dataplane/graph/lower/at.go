package lower

import (
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// At is a place in a function, such as one of its elements, as what is read there sees it. Fields are named from there on.
type At struct {
	Builder  *Builder
	Function *Function
	Path     string
}

// Fail tells an error.
func (a At) Fail(field, value, format string, args ...any) {
	a.Builder.Fail(a.Function.Object, a.Path+"."+field, value, format, args...)
}

// Problem tells a problem of package rules; ok is false if it is an error.
func (a At) Problem(field string, p *rules.Problem) (ok bool) {
	return a.Builder.Problem(a.Function.Object, a.Path+"."+field, p)
}

// Filter is the packets that a match means; ok is false if it has errors.
func (a At) Filter(field string, m *v1alpha1.Match) (_ headerspace.Filter, ok bool) {
	return a.Builder.Filter(a.Function.Object, a.Path+"."+field, m)
}
