package placement

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	Register(v1alpha1.ElementClassifier, "classifier", func(e *v1alpha1.Element) *v1alpha1.ClassifierElement { return e.Classifier }, placeClassifier)
}

func placeClassifier(p *Place, spec *v1alpha1.ClassifierElement) {
	c := element.Classifier{}
	to := lower.NewOuts()
	for i := range spec.Rules {
		r := &spec.Rules[i]
		filter, ok := p.Filter(lower.Index("classifier.rules", i), &r.Match)
		if !ok {
			continue
		}
		name := string(r.Name)
		if name == "" {
			name = fmt.Sprintf("rule-%d", i+1)
		}
		c.Rules = append(c.Rules, element.Rule{
			Name:    p.Name + "/" + name,
			Filters: []headerspace.Filter{filter},
			Out:     to.Number(string(r.Output)),
			Count:   r.Count,
		})
	}
	c.Default = to.Number(p.orDrop(string(spec.Default), "default"))
	c.Outs = len(to.Names)
	p.Element, p.Outs = c, to.Names
}
