package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/module/elements/lower/click"
)

// A click configuration becomes an elements function, once it is known to have no errors.
func init() {
	lower.Register("click", func(k *v1alpha1.FunctionKinds) *v1alpha1.ClickConfiguration {
		if k.Click == "" {
			return nil
		}
		return &k.Click
	}, func(text *v1alpha1.ClickConfiguration) lower.Kind {
		lowered := click.Lower(string(*text))
		return elements{lowered.Spec, lowered}
	})
}

// Read tells what was found in a configuration that has errors.
func (e elements) Read(b *lower.Builder, f *lower.Function) (ok bool) {
	if e.click == nil || !e.click.HasErrors() {
		return true
	}
	checkClick(b, f, e.click)
	return false
}

// checkClick tells what was found in a configuration; ok is false if there are errors.
func checkClick(b *lower.Builder, f *lower.Function, c *click.Function) (ok bool) {
	say := func(warning bool, at fmt.Stringer, element, value, message string) {
		if element != "" {
			message = element + ": " + message
		}
		field := fmt.Sprintf("%s[%s]", f.Path, at)
		if warning {
			b.Warn(f.Object, field, value, "%s", message)
		} else {
			b.Fail(f.Object, field, value, "%s", message)
		}
	}
	for _, p := range c.Problems {
		say(p.Warning, p.Pos, p.Element, p.Value, p.Message)
	}
	for _, x := range c.Fragmenters {
		if mtu := b.MTU(); x.MTU < mtu {
			say(false, x.Pos, x.Element, fmt.Sprint(x.MTU),
				fmt.Sprintf("fragmenting is not done: what is larger than the MTU of the interface by which it leaves is answered or dropped there; write %d, or set the interface's mtu", mtu))
			ok = true
		}
	}
	return !ok && !c.HasErrors()
}

// LinkedBy is the field that says how an element is linked.
func (e elements) LinkedBy(f *lower.Function, name string) string {
	if e.click == nil {
		return f.Path + ".links"
	}
	return fmt.Sprintf("%s[%s]", f.Path, e.click.Made[strings.TrimPrefix(name, f.Name+"/")].Pos)
}

// put puts an element of a click configuration.
func (p *placed) put(m click.Made, path string) {
	p.path, p.made, p.ofAnswers = fmt.Sprintf("%s[%s]", path, m.Pos), true, m.OfAnswers
	if m.Make != nil {
		p.Element, p.Ins, p.Outs = m.Make(p.Name), []string{""}, m.Outs
	}
}

// forgetTags takes conditions on tags out of a classifier if no packet of the chain has one.
func forgetTags(b *lower.Builder, e element.Element) element.Element {
	c, ok := e.(element.Classifier)
	absent, _ := headerspace.VLAN.Absent()
	if !ok || !b.Untagged() {
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
