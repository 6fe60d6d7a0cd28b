// Package placement makes elements of those that users write in `elements` functions. Each kind registers itself: those of one
// function alone are in its module.
package placement

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// Place is where an element is made.
type Place struct {
	lower.At
	// Name is "function/element".
	Name string
	// Element is nil if it has errors.
	Element element.Element
	// Ins and Outs are the names of the ports; the only one of its side has an empty name.
	Ins, Outs []string
	// Drops are the reasons of outputs that drop unless they are linked.
	Drops map[string]string
}

// kinds place the elements of each kind.
var kinds = map[v1alpha1.ElementKind]func(*v1alpha1.Element, *Place){}

// Register is for a kind with parameters, which an element has in a member.
func Register[M any](kind v1alpha1.ElementKind, member string, of func(*v1alpha1.Element) *M, place func(*Place, *M)) {
	kinds[kind] = func(e *v1alpha1.Element, p *Place) {
		spec := of(e)
		if spec == nil {
			p.Fail(member, "", "is missing; %s needs it", kind)
			return
		}
		place(p, spec)
	}
}

// RegisterPlain is for a kind that can do without parameters.
func RegisterPlain(kind v1alpha1.ElementKind, place func(*Place, *v1alpha1.Element)) {
	kinds[kind] = func(e *v1alpha1.Element, p *Place) { place(p, e) }
}

// borders tell the addresses outside of elements between address realms; nil: the element is none.
var borders []func(*v1alpha1.Element) (outside func() []netip.Prefix)

// RegisterBorder is called for a kind that lies between address realms.
func RegisterBorder(of func(*v1alpha1.Element) (outside func() []netip.Prefix)) {
	borders = append(borders, of)
}

// Border is the addresses outside of an element that lies between address realms; nil: it does not.
func Border(e *v1alpha1.Element) (outside func() []netip.Prefix) {
	for _, of := range borders {
		if outside = of(e); outside != nil {
			return outside
		}
	}
	return nil
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

// oneOf says which values are known besides one that is not.
func oneOf[K ~string, V any](value K, known map[K]V) string {
	var names []string
	for _, k := range slices.Sorted(maps.Keys(known)) {
		names = append(names, string(k))
	}
	return finding.NotOneOf(string(value), names)
}
