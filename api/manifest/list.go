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
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "items" {
			continue
		}
		items := n.Content[i+1]
		switch {
		case items.Kind == yaml.SequenceNode:
			for _, item := range items.Content {
				l.document(file, item, wanted)
			}
		case wanted == nil:
			l.findings = append(l.findings, finding.Finding{
				File: file, Line: items.Line, Field: "items", Message: "must be a list of objects, not " + kindOf(items),
			})
		}
		return
	}
	if wanted == nil {
		l.findings = append(l.findings, finding.Finding{File: file, Line: n.Line, Field: "items", Message: "is missing; it has the objects of a List"})
	}
}
