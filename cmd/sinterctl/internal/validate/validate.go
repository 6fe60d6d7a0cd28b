// Package validate says what is wrong with the chains and network functions of files.
package validate

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
)

// Report is what validation found. Scripts read it, so names stay.
type Report struct {
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Chains   []Chain   `json:"chains"`
	Findings []Finding `json:"findings"`

	list finding.List // Findings
}

// Chain is a chain that is valid.
type Chain struct {
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Interfaces int    `json:"interfaces"`
	Elements   int    `json:"elements"`
	Warnings   int    `json:"warnings"`
}

// Finding is an error or a warning.
type Finding struct {
	Severity  string `json:"severity"`
	Code      string `json:"code,omitempty"` // of an error
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Field     string `json:"field,omitempty"`
	Value     string `json:"value,omitempty"`
	Message   string `json:"message"`
}

// Files validates the chain that is named, or else all of the files.
func Files(in compile.Input) *Report {
	r := &Report{Chains: []Chain{}, Findings: []Finding{}}
	names := []string{in.Chain}
	if in.Chain == "" {
		var err error
		if names, err = compile.Names(in); err != nil {
			r.add(finding.Object{}, finding.Of(err))
		}
	}
	for _, name := range names {
		r.validate(in, name)
	}
	r.Errors, r.Warnings = len(r.list.Errors()), len(r.list.Warnings())
	return r
}

func (r *Report) validate(in compile.Input, name string) {
	in.Chain = name
	c, err := compile.Files(in)
	if err != nil {
		r.add(c.Object, finding.Of(err))
		return
	}
	r.add(c.Object, c.Findings)
	inCluster := c.InCluster()
	r.add(c.Object, inCluster)
	if inCluster.HasErrors() {
		return
	}
	r.Chains = append(r.Chains, Chain{
		Namespace: c.Object.Namespace, Name: c.Object.Name, Interfaces: len(c.Graph.Interfaces), Elements: len(c.Graph.Nodes), Warnings: len(c.Findings) + len(inCluster),
	})
}

// add adds what was found of an object. Chains have findings in common if they have functions in common.
func (r *Report) add(about finding.Object, list finding.List) {
	for _, f := range list {
		o := f.Object
		if o == (finding.Object{}) && f.File == "" {
			o = about
		}
		found := Finding{
			Severity: f.Severity.String(), File: f.File, Line: f.Line,
			Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Field: f.Field, Value: f.Value, Message: f.Message,
		}
		if f.Severity == finding.Error {
			found.Code = f.Code.String()
		}
		if slices.Contains(r.Findings, found) {
			continue
		}
		r.Findings, r.list = append(r.Findings, found), append(r.list, f)
	}
}

// Text writes which chains are valid.
func (r *Report) Text(w io.Writer) error {
	for _, c := range r.Chains {
		if _, err := fmt.Fprintf(w, "chain %s is valid: %s, %s, %s\n", c.Name,
			describe.Count(c.Interfaces, "interface"), describe.Count(c.Elements, "element"), describe.Count(c.Warnings, "warning")); err != nil {
			return err
		}
	}
	return nil
}

// List is the findings as they were found.
func (r *Report) List() finding.List { return r.list }

// Err is an error if something is wrong: it says how much.
func (r *Report) Err() error {
	if r.Errors == 0 {
		return nil
	}
	return errors.New(describe.Count(r.Errors, "error") + " found")
}
