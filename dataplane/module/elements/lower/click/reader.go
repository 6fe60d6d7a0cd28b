package click

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/finding"
)

// reader reads an element's arguments: positional ones in order, and those with a keyword.
type reader struct {
	*lowerer
	element int
	e       *click.Element
	// all are the arguments that were not read yet.
	all   []click.Arg
	known []string // keywords that it was asked for
}

func newReader(l *lowerer, el int) *reader {
	e := &l.config.Elements[el]
	return &reader{lowerer: l, element: el, e: e, all: slices.Clone(e.Args)}
}

func (r *reader) fail(a click.Arg, value, format string, args ...any) {
	r.lowerer.fail(r.element, a.Pos, value, format, args...)
}

// whole is the element itself, for what is missing.
func (r *reader) whole() click.Arg { return click.Arg{Pos: r.e.Pos} }

// done finds arguments that nobody read.
func (r *reader) done() {
	for _, a := range r.all {
		if key, _, ok := click.Keyword(a.Text); ok {
			r.fail(a, a.Text, "%s takes no argument %s%s", r.e.Class, key, finding.DidYouMean(key, r.known))
			continue
		}
		r.fail(a, a.Text, "%s takes no further argument; leave it out", r.e.Class)
	}
}

// keyword takes the argument of a keyword.
func (r *reader) keyword(name string) (click.Arg, bool) {
	r.known = append(r.known, name)
	for i, a := range r.all {
		if key, value, ok := click.Keyword(a.Text); ok && key == name {
			r.all = slices.Delete(r.all, i, i+1)
			a.Text = strings.TrimSpace(value)
			return a, true
		}
	}
	return click.Arg{}, false
}

// ignore takes keywords that mean nothing here.
func (r *reader) ignore(names ...string) {
	for _, name := range names {
		r.keyword(name)
	}
}

// next takes the next positional argument.
func (r *reader) next() (click.Arg, bool) {
	if len(r.all) == 0 {
		return click.Arg{}, false
	}
	if key, _, ok := click.Keyword(r.all[0].Text); ok && slices.Contains(r.known, key) {
		return click.Arg{}, false
	}
	a := r.all[0]
	r.all = r.all[1:]
	return a, true
}

// argument takes the argument that may be positional or have the keyword.
func (r *reader) argument(keyword string) (click.Arg, bool) {
	if a, ok := r.keyword(keyword); ok {
		return a, true
	}
	return r.next()
}

// required is argument, which must be there.
func (r *reader) required(keyword, example string) (click.Arg, bool) {
	a, ok := r.argument(keyword)
	if !ok {
		r.fail(r.whole(), "", "needs an argument %s; write it like %s(%s)", keyword, r.e.Class, example)
	}
	return a, ok
}

// number reads an integer within bounds.
func (r *reader) number(a click.Arg, what string, least, most int) (int, bool) {
	n, err := strconv.ParseInt(unquoted(a.Text), 0, 64)
	if err != nil || n < int64(least) || n > int64(most) {
		r.fail(a, a.Text, "not %s; write a number from %d to %d", what, least, most)
		return 0, false
	}
	return int(n), true
}

// boolean reads "true" or "false", as Click writes them.
func (r *reader) boolean(keyword string, otherwise bool) bool {
	a, ok := r.keyword(keyword)
	if !ok {
		return otherwise
	}
	switch strings.ToLower(unquoted(a.Text)) {
	case "true", "yes", "1":
		return true
	case "false", "no", "0":
		return false
	}
	r.fail(a, a.Text, "must be true or false")
	return otherwise
}

func (r *reader) address(a click.Arg) (netip.Addr, bool) {
	if addr, ok := r.addressOf(unquoted(a.Text)); ok {
		return addr, true
	}
	r.fail(a, a.Text, "not an IPv4 address, and no name of one that AddressInfo gives; write it like 192.0.2.1")
	return netip.Addr{}, false
}

// addressOf reads an address, or the name of one.
func (l *lowerer) addressOf(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return a, true
	}
	return l.f.Addresses.Address(s)
}

// prefixOf reads a prefix, or the name of one; an address is the prefix of itself.
func (l *lowerer) prefixOf(s string) (netip.Prefix, bool) {
	if p, ok := click.ParsePrefix(s); ok {
		return p, true
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return netip.PrefixFrom(a, 32), true
	}
	if p, ok := l.f.Addresses.Prefix(s); ok {
		return p, true
	}
	if a, ok := l.f.Addresses.Address(s); ok {
		return netip.PrefixFrom(a, 32), true
	}
	return netip.Prefix{}, false
}

// unquoted is an argument without the quotes around it.
func unquoted(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
