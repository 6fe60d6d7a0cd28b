package click

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/module/elements/lower/click/pattern"
)

func init() {
	register("1/-", configureIPClassifier, enterClassifier, "IPClassifier")
	register("1/-", configureIPFilter, enterClassifier, "IPFilter")
	register("1/-", configureClassifier, enterBytes, "Classifier")
	register("1/-", configureSwitch, enterSwitch, "StaticSwitch", "Switch", "PullSwitch", "StaticPullSwitch")
	register("1/-", configureTee, enterTee, "Tee", "PullTee")
}

// rule sends packets that a filter passes to an output; -1 drops them.
type rule struct {
	filters []headerspace.Filter
	out     int
}

// patternFailed says what is wrong with a pattern, at its place.
func (r *reader) patternFailed(a click.Arg, shift int, err error) {
	var wrong *pattern.Error
	if errors.As(err, &wrong) {
		r.lowerer.fail(r.element, a.At(shift+wrong.Off), wrong.Value, "%s", wrong.Message)
		return
	}
	r.fail(a, a.Text, "%v", err)
}

// expression reads an IPClassifier's pattern, which is the argument from a byte on.
func (r *reader) expression(a click.Arg, text string, from int) []headerspace.Filter {
	filters, err := pattern.Expression(text, r.f.Addresses)
	if err != nil {
		r.patternFailed(a, from, err)
	}
	return filters
}

// outputsFor checks that there is an output for each of n patterns.
func (r *reader) outputsFor(n int) {
	switch has := r.nouts[r.element]; {
	case has > n:
		r.fail(r.whole(), "", "has %s, and output %d is connected; write a pattern for each output", count(n, "pattern"), has-1)
	case has < n:
		r.fail(r.whole(), "", "has %s, and output %d is not connected; connect it, to Discard if its packets are to be dropped", count(n, "pattern"), has)
	}
}

func configureIPClassifier(r *reader) (rules []rule) {
	for i, a := range r.all {
		rules = append(rules, rule{r.expression(a, unquoted(a.Text), quotes(a.Text)), i})
	}
	r.outputsFor(len(r.all))
	r.all = nil
	return rules
}

func configureIPFilter(r *reader) (rules []rule) {
	for _, a := range r.all {
		text := unquoted(a.Text)
		action, rest := text, ""
		if i := strings.IndexAny(text, " \t\n\r"); i > 0 {
			action, rest = text[:i], text[i:]
		}
		out, err := strconv.Atoi(action)
		switch {
		case action == "allow":
			out = 0
		case action == "deny" || action == "drop":
			out = -1
		case err != nil || out < 0:
			r.fail(a, action, `not an action; write "allow", "drop" or the number of an output before the pattern`)
			continue
		}
		if out >= r.nouts[r.element] {
			r.fail(a, action, "output %d is not connected; connect it, or write drop", out)
		}
		rules = append(rules, rule{everyPacket, out})
		if strings.TrimSpace(rest) != "" {
			rules[len(rules)-1].filters = r.expression(a, rest, quotes(a.Text)+len(action))
		}
	}
	r.all = nil
	return rules
}

var everyPacket = []headerspace.Filter{{}}

// quotes is the number of quotes before an argument's text.
func quotes(s string) int {
	if unquoted(s) != s {
		return 1
	}
	return 0
}

// enterClassifier makes a classifier. Packets that no rule matches are dropped.
func enterClassifier(x *visit, rules []rule) target {
	if len(rules) > 0 && rules[0].out >= 0 && everyone(rules[0].filters) {
		return x.onward(rules[0].out, x.state)
	}
	dropped := x.outputs()
	t := x.putMade(Made{Outs: numbers(dropped + 1), Make: func(name string) element.Element {
		c := element.Classifier{Default: dropped, Outs: dropped + 1}
		for i, r := range rules {
			if len(r.filters) == 0 {
				continue // matches no packet
			}
			out := r.out
			if out < 0 {
				out = dropped
			}
			c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprintf("%s/%d", name, i), Filters: r.filters, Out: out})
			if everyone(r.filters) {
				break
			}
		}
		return c
	}})
	for out := range dropped {
		if to := taken(rules, out); to {
			x.link(t.output(fmt.Sprint(out)), x.onward(out, x.state))
		} else {
			x.link(t.output(fmt.Sprint(out)), x.lost("unmatched"))
		}
	}
	x.link(t.output(fmt.Sprint(dropped)), x.lost("unmatched"))
	return t
}

// taken tells whether some packet may leave by an output.
func taken(rules []rule, out int) bool {
	for _, r := range rules {
		if r.out == out && len(r.filters) > 0 {
			return true
		}
		if everyone(r.filters) {
			return false
		}
	}
	return false
}

func everyone(filters []headerspace.Filter) bool {
	for _, f := range filters {
		if f.Equal(headerspace.Filter{}) {
			return true
		}
	}
	return false
}

// numbers are the names of n outputs.
func numbers(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func configureClassifier(r *reader) []click.Arg {
	out := r.all
	r.outputsFor(len(out))
	for _, a := range out { // the Ethernet header is that of most; packets without one are read again
		if _, err := pattern.Bytes(unquoted(a.Text), -pattern.EtherHeader); err != nil {
			if _, err2 := pattern.Bytes(unquoted(a.Text), 0); err2 != nil {
				r.patternFailed(a, quotes(a.Text), err)
			}
		}
	}
	r.all = nil
	return out
}

// enterBytes reads the patterns for where the packets begin.
func enterBytes(x *visit, args []click.Arg) target {
	var rules []rule
	for i, a := range args {
		filters, err := pattern.Bytes(unquoted(a.Text), x.begin)
		if err != nil {
			where := "at its IP header"
			if x.begin < 0 {
				where = "with an Ethernet header"
			}
			x.failOnce(x.element, false, "%v; packets come here %s", err, where)
			return ""
		}
		rules = append(rules, rule{filters, i})
	}
	return enterClassifier(x, rules)
}

func configureSwitch(r *reader) int {
	a, ok := r.argument("OUTPUT")
	r.ignore("ACTIVE")
	if !ok {
		return 0
	}
	n, _ := r.number(a, "an output", -1<<31, 1023)
	return n
}

func enterSwitch(x *visit, out int) target {
	if out < 0 || out >= x.outputs() {
		return x.lost("closed")
	}
	return x.onward(out, x.state)
}

func configureTee(r *reader) nothing {
	if a, ok := r.argument("N"); ok {
		if n, ok := r.number(a, "the number of outputs", 0, 1023); ok && n != r.nouts[r.element] {
			r.fail(a, a.Text, "%s connected; write their number, or leave it out", map[bool]string{true: "1 output is", false: fmt.Sprint(r.nouts[r.element], " outputs are")}[r.nouts[r.element] == 1])
		}
	}
	return nothing{}
}

func enterTee(x *visit, _ nothing) target {
	if x.outputs() < 2 {
		return x.onward(0, x.state)
	}
	t := x.put(element.Tee{Outs: x.outputs()}, numbers(x.outputs())...)
	for out := range x.outputs() {
		x.link(t.output(fmt.Sprint(out)), x.onward(out, x.state))
	}
	return t
}
