package graph

import (
	"fmt"
	"strconv"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// placeElement makes the element. Elements with errors stay nil.
func (b *builder) placeElement(f *function, e *v1alpha1.Element, p *placed) {
	p.ins, p.outs = []string{""}, []string{""}
	if member := lacks(e); member != "" {
		b.fail(f.object, p.path+"."+member, "", "is missing; a %s needs it", e.Kind)
		return
	}
	switch e.Kind {
	case v1alpha1.ElementClassifier:
		b.placeClassifier(f, e.Classifier, p)
	case v1alpha1.ElementFilter:
		b.placeFilter(f, e.Filter, p)
	case v1alpha1.ElementLookup:
		b.placeLookup(f, e.Lookup, p)
	case v1alpha1.ElementDecTTL:
		p.either(f, element.DecTTL{})
	case v1alpha1.ElementTTLGuard:
		b.placeTTLGuard(f, e.TTLGuard, p)
	case v1alpha1.ElementSetField:
		b.placeSetField(f, e.SetField, p)
	case v1alpha1.ElementCheckIPHeader:
		p.either(f, element.CheckIPHeader{})
	case v1alpha1.ElementCounter:
		p.el = element.Counter{}
	case v1alpha1.ElementTee:
		p.outs = nil
		for _, o := range e.Tee.Outputs {
			p.outs = append(p.outs, string(o))
		}
		p.el = element.Tee{Outs: len(p.outs)}
	case v1alpha1.ElementDiscard:
		reason := f.name + "/" + p.name
		if e.Discard != nil && e.Discard.Reason != "" {
			reason = string(e.Discard.Reason)
		}
		p.el, p.outs = element.Discard{Reason: reason}, nil
	case v1alpha1.ElementICMPError:
		b.placeICMPError(f, e.ICMPError, p)
	case v1alpha1.ElementEchoResponder:
		p.el = element.EchoResponder{}
	case v1alpha1.ElementNAPT:
		p.ins, p.outs = twoSides, twoSides
		p.el = b.napt(f, p.path+".napt", e.NAPT, f.name+"/"+p.name)
	default:
		b.fail(f.object, p.path+".kind", string(e.Kind), "unknown kind of element")
	}
}

// lacks is the member that an element of its kind needs and has not; empty: it has all.
func lacks(e *v1alpha1.Element) string {
	for _, need := range []struct {
		kind   v1alpha1.ElementKind
		lacks  bool
		member string
	}{
		{v1alpha1.ElementClassifier, e.Classifier == nil, "classifier"},
		{v1alpha1.ElementFilter, e.Filter == nil, "filter"},
		{v1alpha1.ElementLookup, e.Lookup == nil, "lookup"},
		{v1alpha1.ElementTTLGuard, e.TTLGuard == nil, "ttlGuard"},
		{v1alpha1.ElementSetField, e.SetField == nil, "setField"},
		{v1alpha1.ElementTee, e.Tee == nil, "tee"},
		{v1alpha1.ElementICMPError, e.ICMPError == nil, "icmpError"},
		{v1alpha1.ElementNAPT, e.NAPT == nil, "napt"},
	} {
		if e.Kind == need.kind && need.lacks {
			return need.member
		}
	}
	return ""
}

// either places an element with two outputs, of which the second drops unless it is linked.
func (p *placed) either(f *function, e element.Element) {
	pass, fail := element.PortName(e, 0), element.PortName(e, 1)
	p.el, p.outs = e, []string{pass, fail}
	p.drops[fail] = f.name + "/" + p.name + "/" + fail
}

func (b *builder) placeClassifier(f *function, spec *v1alpha1.ClassifierElement, p *placed) {
	c := element.Classifier{}
	to := newOuts()
	for i := range spec.Rules {
		r := &spec.Rules[i]
		filter, ok := b.filter(f.object, index(p.path+".classifier.rules", i), &r.Match)
		if !ok {
			continue
		}
		name := string(r.Name)
		if name == "" {
			name = fmt.Sprintf("rule-%d", i+1)
		}
		c.Rules = append(c.Rules, element.Rule{
			Name:    f.name + "/" + p.name + "/" + name,
			Filters: []headerspace.Filter{filter},
			Out:     to.number(string(r.Output)),
			Count:   r.Count,
		})
	}
	c.Default = to.number(b.orDrop(f, p, string(spec.Default), "default"))
	c.Outs = len(to.names)
	p.el, p.outs = c, to.names
}

// orDrop is the output's name, or that of an output that drops and that no link can name.
func (b *builder) orDrop(f *function, p *placed, output, otherwise string) string {
	if output != "" {
		return output
	}
	p.drops["("+otherwise+")"] = f.name + "/" + p.name + "/" + otherwise
	return "(" + otherwise + ")"
}

// placeFilter makes a classifier of one rule.
func (b *builder) placeFilter(f *function, spec *v1alpha1.FilterElement, p *placed) {
	r := element.Rule{Name: f.name + "/" + p.name + "/pass"}
	for i := range spec.Match {
		if filter, ok := b.filter(f.object, index(p.path+".filter.match", i), &spec.Match[i]); ok {
			r.Filters = append(r.Filters, filter)
		}
	}
	p.outs = []string{"pass", "drop"}
	p.drops["drop"] = f.name + "/" + p.name + "/drop"
	p.el = element.Classifier{Rules: []element.Rule{r}, Default: 1, Outs: 2}
}

func (b *builder) placeLookup(f *function, spec *v1alpha1.LookupElement, p *placed) {
	l := element.Lookup{}
	to := newOuts()
	first := map[string]string{}
	for i, r := range spec.Routes {
		field := index(p.path+".lookup.routes", i)
		prefix, problem := rules.ParsePrefix(string(r.Prefix))
		if !b.problem(f.object, field+".prefix", problem) {
			continue
		}
		if at, ok := first[prefix.String()]; ok {
			b.fail(f.object, field+".prefix", string(r.Prefix), "the route is there twice, first as %s; leave one out", at)
			continue
		}
		first[prefix.String()] = field
		route := element.Route{Prefix: prefix, Out: to.number(string(r.Output))}
		if r.Via != "" {
			route.Via, problem = rules.ParseAddress(string(r.Via))
			b.problem(f.object, field+".via", problem)
		}
		l.Routes = append(l.Routes, route)
	}
	l.NoRoute = to.number(b.orDrop(f, p, string(spec.NoRoute), "no-route"))
	l.Outs = len(to.names)
	p.el, p.outs = l, to.names
}

func (b *builder) placeTTLGuard(f *function, spec *v1alpha1.TTLGuardElement, p *placed) {
	if spec.Min == nil {
		b.fail(f.object, p.path+".ttlGuard.min", "", "is missing, and required")
		return
	}
	p.either(f, element.TTLGuard{Min: uint8(*spec.Min)})
}

func (b *builder) placeSetField(f *function, spec *v1alpha1.SetFieldElement, p *placed) {
	path, s := p.path+".setField", spec.Value.String()
	field, err := headerspace.ParseField(spec.Field)
	if err != nil {
		b.fail(f.object, path+".field", spec.Field, "cannot be written; write one of vlan, src, dst, dscp, ttl, sport, dport")
		return
	}
	limit := uint64(0)
	switch field {
	case headerspace.Src, headerspace.Dst:
		a, problem := rules.ParseAddress(s)
		if b.problem(f.object, path+".value", problem) {
			p.el = element.SetField{Field: field, Value: headerspace.Addr(a)}
		}
		return
	case headerspace.VLAN:
		v, message := rules.ParseVLAN(s)
		if message != "" {
			b.fail(f.object, path+".value", s, "%s", message)
			return
		}
		p.el = element.SetField{Field: field, Value: v}
		return
	case headerspace.DSCP:
		limit = 63
	case headerspace.TTL:
		limit = 255
	case headerspace.SPort, headerspace.DPort:
		limit = 65535
	default:
		b.fail(f.object, path+".field", spec.Field, "cannot be written; write one of vlan, src, dst, dscp, ttl, sport, dport")
		return
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > limit {
		b.fail(f.object, path+".value", s, "must be a number from 0 to %d", limit)
		return
	}
	p.el = element.SetField{Field: field, Value: headerspace.V(n)}
}

func (b *builder) placeICMPError(f *function, spec *v1alpha1.ICMPErrorElement, p *placed) {
	path := p.path + ".icmpError"
	e := element.ICMPError{}
	if spec.Code != nil {
		e.Code = uint8(*spec.Code)
	}
	switch {
	case spec.Type == nil:
		b.fail(f.object, path+".type", "", "is missing, and required")
		return
	case *spec.Type != 3 && *spec.Type != 11 && *spec.Type != 12:
		b.fail(f.object, path+".type", fmt.Sprint(*spec.Type), "is not an ICMP error that a function may send; use 3 (unreachable), 11 (time exceeded) or 12 (parameter problem)")
		return
	}
	e.Type = uint8(*spec.Type)
	if spec.Source != "" {
		a, problem := rules.ParseAddress(string(spec.Source))
		if !b.problem(f.object, path+".source", problem) {
			return
		}
		e.Source = a
	}
	p.el = e
}
