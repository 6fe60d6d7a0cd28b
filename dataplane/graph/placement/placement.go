// Package placement makes elements of those that users write in `elements` functions. Each kind has a file, which registers it.
package placement

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Place is where an element is made.
type Place struct {
	Function
	// Name is "function/element".
	Name string
	// Element is nil if it has errors.
	Element element.Element
	// Ins and Outs are the names of the ports; the only one of its side has an empty name.
	Ins, Outs []string
	// Drops are the reasons of outputs that drop unless they are linked.
	Drops map[string]string
}

// Function is the function that an element belongs to. Fields are named from the element on.
type Function interface {
	Fail(field, value, format string, args ...any)
	// Problem tells a problem of package rules; ok is false if it is an error.
	Problem(field string, p *rules.Problem) (ok bool)
	// Filter is the packets that a match means; ok is false if it has errors.
	Filter(field string, m *v1alpha1.Match) (_ headerspace.Filter, ok bool)
	// NAPT reads a NAPT's parameters. The ports at its two sides belong to the owner.
	NAPT(field string, spec *v1alpha1.NAPT, owner string) element.NAPT
	// MTU is the largest IP packet, in bytes, that an interface of the chain sends.
	MTU() int
}

// kinds place the elements of each kind.
var kinds = map[v1alpha1.ElementKind]func(*v1alpha1.Element, *Place){}

// register is for a kind with parameters, which an element has in a member.
func register[M any](kind v1alpha1.ElementKind, member string, of func(*v1alpha1.Element) *M, place func(*Place, *M)) {
	kinds[kind] = func(e *v1alpha1.Element, p *Place) {
		spec := of(e)
		if spec == nil {
			p.Fail(member, "", "is missing; %s needs it", kind)
			return
		}
		place(p, spec)
	}
}

// registerPlain is for a kind that can do without parameters.
func registerPlain(kind v1alpha1.ElementKind, place func(*Place, *v1alpha1.Element)) {
	kinds[kind] = func(e *v1alpha1.Element, p *Place) { place(p, e) }
}

// Put makes the element of its place.
func (p *Place) Put(e *v1alpha1.Element) {
	p.Ins, p.Outs, p.Drops = []string{""}, []string{""}, map[string]string{}
	place, ok := kinds[e.Kind]
	if !ok {
		p.Fail("kind", string(e.Kind), "%s", oneOf(e.Kind, kinds))
		return
	}
	place(e, p)
}

// either makes an element with two outputs, of which the second drops unless it is linked.
func (p *Place) either(e element.Element) {
	pass, fail := element.PortName(e, 0), element.PortName(e, 1)
	p.Element, p.Outs = e, []string{pass, fail}
	p.Drops[fail] = p.Name + "/" + fail
}

// orDrop is the output's name, or that of an output that drops and that no link can name.
func (p *Place) orDrop(output, otherwise string) string {
	if output != "" {
		return output
	}
	p.Drops["("+otherwise+")"] = p.Name + "/" + otherwise
	return "(" + otherwise + ")"
}

// Outs numbers outputs by name.
type Outs struct{ Names []string }

// NewOuts are outputs of which the first have these names.
func NewOuts(names ...string) *Outs { return &Outs{names} }

// Number is the number of a name.
func (o *Outs) Number(name string) int {
	if i := slices.Index(o.Names, name); i >= 0 {
		return i
	}
	o.Names = append(o.Names, name)
	return len(o.Names) - 1
}

// oneOf says which values are known besides one that is not.
func oneOf[K ~string, V any](value K, known map[K]V) string {
	var names []string
	for _, k := range slices.Sorted(maps.Keys(known)) {
		names = append(names, string(k))
	}
	return finding.NotOneOf(string(value), names)
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
