package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/click"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// A click configuration becomes an elements function, once it is known to have no errors.
func init() {
	kinds = append(kinds, func(k *v1alpha1.FunctionKinds) (kind, string) {
		if k.Click == "" {
			return nil, ""
		}
		lowered := click.Lower(string(k.Click))
		return elements{lowered.Spec, lowered}, "click"
	})
}

// checkClick tells what was found in a configuration; ok is false if there are errors.
func (b *builder) checkClick(f *function, c *click.Function) (ok bool) {
	say := func(warning bool, at fmt.Stringer, element, value, message string) {
		if element != "" {
			message = element + ": " + message
		}
		field := fmt.Sprintf("%s[%s]", f.path, at)
		if warning {
			b.warn(f.object, field, value, "%s", message)
		} else {
			b.fail(f.object, field, value, "%s", message)
		}
	}
	for _, p := range c.Problems {
		say(p.Warning, p.Pos, p.Element, p.Value, p.Message)
	}
	for _, x := range c.Fragmenters {
		if mtu := (inElement{b: b}).MTU(); x.MTU < mtu {
			say(false, x.Pos, x.Element, fmt.Sprint(x.MTU),
				fmt.Sprintf("fragmenting is not done: what is larger than the MTU of the interface by which it leaves is answered or dropped there; write %d, or set the interface's mtu", mtu))
			ok = true
		}
	}
	return !ok && !c.HasErrors()
}

// links is the field that says how an element is linked.
func (e elements) links(f *function, name string) string {
	if e.click == nil {
		return f.path + ".links"
	}
	return fmt.Sprintf("%s[%s]", f.path, e.click.Made[strings.TrimPrefix(name, f.name+"/")].Pos)
}

// put puts an element of a click configuration.
func (p *placed) put(m click.Made, path string) {
	p.path, p.made, p.ofAnswers = fmt.Sprintf("%s[%s]", path, m.Pos), true, m.OfAnswers
	if m.Make != nil {
		p.Element, p.Ins, p.Outs = m.Make(p.Name), []string{""}, m.Outs
	}
}

// forgetTags takes conditions on tags out of a classifier if no packet of the chain has one.
func (b *builder) forgetTags(e element.Element) element.Element {
	c, ok := e.(element.Classifier)
	absent, _ := headerspace.VLAN.Absent()
	if !ok || !b.untagged {
		return e
	}
	rules := c.Rules
	c.Rules = nil
	for _, r := range rules {
		r.Filters = slices.Clone(r.Filters)
		for i, f := range r.Filters {
			if f.Get(headerspace.VLAN).Contains(absent) {
				r.Filters[i] = f.Without(headerspace.VLAN)
			}
		}
		c.Rules = append(c.Rules, r)
		if slices.ContainsFunc(r.Filters, func(f headerspace.Filter) bool { return f.Equal(headerspace.Filter{}) }) {
			break // takes all
		}
	}
	return c
}

// setsTags tells whether an element of the chain writes tags.
func setsTags(functions []*function) bool {
	for _, f := range functions {
		if e, ok := f.kind.(elements); ok && slices.ContainsFunc(e.spec.Elements, func(e v1alpha1.Element) bool {
			return e.SetField != nil && e.SetField.Field == v1alpha1.FieldVLAN
		}) {
			return true
		}
	}
	return false
}
