package manifest

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// isList tells a document that holds several objects, as kubectl prints them: a List of any, or the list of one of our kinds.
func isList(kind, apiVersion string) bool {
	if kind == "List" {
		return apiVersion == "v1"
	}
	return apiVersion == v1alpha1.GroupVersion.String() && slices.ContainsFunc(kinds, func(k string) bool { return kind == k+"List" })
}

// list takes the objects of a list in, as if each were a document.
func (l *loader) list(file string, n *yaml.Node, wanted func(finding.Object) bool) {
	items := child(n, "items")
	if items != nil && items.Kind == yaml.SequenceNode {
		for _, item := range items.Content {
			l.document(file, item, wanted)
		}
		return
	}
	if wanted != nil {
		return // somebody else's file
	}
	f := finding.Finding{File: file, Line: n.Line, Field: "items", Message: "is missing; it has the objects of a List"}
	if items != nil {
		f.Line, f.Message = items.Line, "must be a list of objects, not "+kindOf(items)
	}
	l.findings = append(l.findings, f)
}
