// Package manifest reads chains and network functions from YAML files: strictly,
// by the schema and CEL rules of the CRDs, so that a file is judged as the API
// server would judge it, and with the line of everything that is wrong.
package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Bundle is what some files hold. Objects have their defaults set, and files that
// they name are relative to the working directory, no longer to the YAML file.
type Bundle struct {
	Chains    []*v1alpha1.ServiceChain
	Functions []*v1alpha1.NetworkFunction
	// Files is the content of the rule and route files that the objects name.
	Files rules.Files
	// Sources are the names of all files that were read, or were named and could not be: what to watch for changes.
	Sources []string

	documents map[finding.Object]*document
}

// Chain finds a chain by its name ("name" or "namespace/name"); an empty name
// means the only one.
func (b *Bundle) Chain(name string) (*v1alpha1.ServiceChain, error) {
	var known []string
	for _, c := range b.Chains {
		full := c.Name
		if c.Namespace != "" {
			full = c.Namespace + "/" + c.Name
		}
		if name == c.Name || name == full || name == "" && len(b.Chains) == 1 {
			return c, nil
		}
		known = append(known, full)
	}
	switch {
	case len(known) == 0:
		return nil, fmt.Errorf("no %s in %s", v1alpha1.KindServiceChain, b.sources())
	case name == "":
		return nil, fmt.Errorf("the files hold several chains; name one of %s", strings.Join(known, ", "))
	}
	return nil, fmt.Errorf("chain %q is not in the files given%s", name, finding.DidYouMean(name, known))
}

// namedSources is how many files an error names.
const namedSources = 3

// sources names the files.
func (b *Bundle) sources() string {
	names := b.Sources
	switch more := len(names) - namedSources; {
	case len(names) == 0:
		return "the files given"
	case more > 0:
		return fmt.Sprintf("%s and %d more files", strings.Join(names[:namedSources], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Locate fills in file and line of findings about the bundle's objects.
func (b *Bundle) Locate(list finding.List) finding.List {
	out := make(finding.List, len(list))
	for i, f := range list {
		if d := b.documents[f.Object]; f.File == "" && d != nil {
			f.File, f.Line = d.file, d.line(f.Field)
			if m := within.FindStringSubmatch(f.Field); m != nil && d.text {
				column, _ := strconv.Atoi(m[3])
				f.Field = columnOf(column)
			}
		}
		out[i] = f
	}
	return out
}

// document is a YAML document of a file, and the lines of its fields.
type document struct {
	file  string
	start int
	lines map[string]int
	// blocks are the lines before texts that are written as they are (literal block scalars), by field.
	blocks map[string]int
	// text says that the file is such a text alone.
	text bool
}

// columnOf stands for a field in findings about files that have none.
func columnOf(n int) string { return fmt.Sprintf("column %d", n) }

// within is a place in a text: "spec.click[12:5]" is line 12, column 5 of what is in spec.click.
var within = regexp.MustCompile(`^(.*)\[(\d+):(\d+)\]`)

// line is the line of a field, or of the nearest field around it that was written.
func (d *document) line(field string) int {
	if m := within.FindStringSubmatch(field); m != nil {
		if before, ok := d.blocks[m[1]]; ok {
			n, _ := strconv.Atoi(m[2])
			return before + n
		}
	}
	for field != "" {
		if n, ok := d.lines[field]; ok {
			return n
		}
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	return d.start
}
