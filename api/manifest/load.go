package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Load reads files, the YAML files of folders, and "-", which is standard input. A NetworkFunction that a chain
// refers to, or a ConfigMap that it takes rules or routes from, and that is in none of them
// is looked for in the other files of the chain's folder. Objects with errors are left out of the bundle.
// The files of rules and routes that a manifest names must lie below its folder.
func Load(paths ...string) (*Bundle, finding.List) { return Options{}.Load(paths...) }

// Options are how to load.
type Options struct {
	// Memory is of files that were read before, which are read by what has changed; nil: as a whole.
	Memory *rules.Memory
	// FilesBelow are further folders below which manifests may name files.
	FilesBelow []string
	// Stores are those that manifests may take texts from; nil: none.
	Stores *stores.Stores
}

// Load is as the function of the name.
func (o Options) Load(paths ...string) (*Bundle, finding.List) {
	r := fileReader{o.FilesBelow}
	l := o.loader(r.manifest, r.named)
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			l.findings = append(l.findings, finding.Finding{Code: finding.CodeOf(err), File: path, Message: reason(err)})
			continue
		}
		for _, file := range files {
			l.file(file, nil)
		}
	}
	l.neighbours()
	l.readFiles()
	if o.Memory != nil {
		o.Memory.Forget()
	}
	return l.bundle, l.findings
}

// Parse reads one file's content. The files that it names are read by read.
func Parse(file string, data []byte, read func(name string) ([]byte, error)) (*Bundle, finding.List) {
	return Options{}.Parse(file, data, read)
}

// Parse is as the function of the name.
func (o Options) Parse(file string, data []byte, read func(name string) ([]byte, error)) (*Bundle, finding.List) {
	l := o.loader(read, func(_, name string) ([]byte, error) { return read(name) })
	l.parse(file, data, nil)
	l.readFiles()
	return l.bundle, l.findings
}

// expand is the path itself, or the YAML files of the folder.
func expand(path string) ([]string, error) {
	if _, ok := stream(path); ok {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var out []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		names, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil, errors.New("the folder has no .yaml files")
	}
	return out, nil
}

// reason is the error without the path, which the finding names already.
func reason(err error) string {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "file not found"
	case errors.As(err, &p):
		return "cannot be read: " + p.Err.Error()
	}
	return err.Error()
}

type loader struct {
	bundle     *Bundle
	findings   finding.List
	read       func(name string) ([]byte, error)         // a manifest
	named      func(folder, name string) ([]byte, error) // what a manifest in a folder names
	stores     *stores.Stores
	configMaps map[configMap]map[string][]byte
}

func (o Options) loader(read func(string) ([]byte, error), named func(string, string) ([]byte, error)) *loader {
	l := &loader{read: read, named: named, stores: o.Stores, configMaps: map[configMap]map[string][]byte{}, bundle: &Bundle{
		Files: rules.Files{
			Memory:   o.Memory,
			Rules:    map[rules.Source][]rules.Rule{},
			Prefixes: map[string][]netip.Prefix{},

			Inspections: map[string][]rules.Inspection{},
		},
		documents: map[finding.Object]*document{},
	}}
	if l.stores == nil {
		l.stores = &stores.Stores{Allowed: []string{}}
	}
	return l
}

// file reads a file once. Only the objects that are wanted count; nil: all.
func (l *loader) file(name string, wanted func(finding.Object) bool) {
	if slices.Contains(l.bundle.Sources, name) {
		return
	}
	data, err := l.read(name)
	if err != nil {
		l.bundle.Sources = append(l.bundle.Sources, name)
		l.findings = append(l.findings, finding.Finding{Code: finding.CodeOf(err), File: name, Message: reason(err)})
		return
	}
	l.parse(name, data, wanted)
}

func (l *loader) parse(name string, data []byte, wanted func(finding.Object) bool) {
	if strings.HasSuffix(name, clickSuffix) {
		l.clickFile(name, data)
		return
	}
	if wanted == nil {
		l.bundle.Sources = append(l.bundle.Sources, name)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			if wanted == nil {
				l.findings = append(l.findings, syntaxError(name, data, err))
			}
			return
		}
		if len(n.Content) == 1 && n.Content[0].ShortTag() != "!!null" {
			l.document(name, n.Content[0], wanted)
		}
	}
}

// document takes one YAML document in.
func (l *loader) document(file string, n *yaml.Node, wanted func(finding.Object) bool) {
	object, version := identify(n)
	if n.Kind == yaml.MappingNode && isList(object.Kind, version) {
		l.list(file, n, wanted)
		return
	}
	if wanted != nil && !wanted(object) {
		return
	}
	say := func(severity finding.Severity, field, value, format string, args ...any) {
		l.findings = append(l.findings, finding.Finding{
			Severity: severity, File: file, Line: n.Line, Field: field, Value: value, Message: fmt.Sprintf(format, args...),
		})
	}
	known, err := schemas()
	if err != nil {
		say(finding.Error, "", "", "%v", err)
		return
	}
	group, _, _ := strings.Cut(version, "/")
	switch {
	case n.Kind != yaml.MappingNode:
		say(finding.Error, "", "", "must be a mapping with apiVersion, kind, metadata and spec, not %s", kindOf(n))
		return
	case version == "":
		say(finding.Error, "apiVersion", "", "is missing; set it to %s", v1alpha1.GroupVersion)
		return
	case version == "v1" && object.Kind == "ConfigMap":
		if err := l.addConfigMap(object, n); err != nil {
			say(finding.Error, "", "", "ConfigMap: %v", err)
		}
		return
	case group == version && known[object.Kind] != nil: // no other group has it: a version alone is of Kubernetes itself
		say(finding.Error, "apiVersion", version, "has no %s; write %s", object.Kind, v1alpha1.GroupVersion)
		return
	case group != v1alpha1.GroupVersion.Group:
		say(finding.Warning, "apiVersion", version, "is not of %s; the document is ignored", v1alpha1.GroupVersion.Group)
		return
	case version != v1alpha1.GroupVersion.String():
		say(finding.Error, "apiVersion", version, "unknown version; this build knows %s", v1alpha1.GroupVersion)
		return
	case known[object.Kind] == nil:
		say(finding.Error, "kind", object.Kind, "%s", unknownKind(object.Kind))
		return
	}
	if first := l.bundle.documents[object]; first != nil {
		say(finding.Error, "metadata.name", object.Name, "%s is there twice, first at %s:%d; names must differ", object, first.file, first.start)
		return
	}
	doc := &document{file: file, start: n.Line, lines: map[string]int{}, blocks: map[string]int{}}
	l.bundle.documents[object] = doc
	d := decoder{doc: doc, object: object}
	v := d.value(n, known[object.Kind], "", n.Line, 0)
	l.findings = append(l.findings, d.findings...)
	if len(d.findings) == 0 {
		l.add(object.Kind, v, say)
	}
}

func unknownKind(kind string) string {
	if kind == "" {
		return "is missing" + finding.DidYouMean(kind, kinds)
	}
	return "unknown kind" + finding.DidYouMean(kind, kinds)
}

func (l *loader) add(kind string, v any, say func(finding.Severity, string, string, string, ...any)) {
	switch kind {
	case v1alpha1.KindServiceChain:
		c := &v1alpha1.ServiceChain{}
		if err := into(v, c); err != nil {
			say(finding.Error, "", "", "%v", err)
			return
		}
		l.bundle.Chains = append(l.bundle.Chains, c)
	case v1alpha1.KindNetworkFunction:
		f := &v1alpha1.NetworkFunction{}
		if err := into(v, f); err != nil {
			say(finding.Error, "", "", "%v", err)
			return
		}
		l.bundle.Functions = append(l.bundle.Functions, f)
	}
}

// identify reads what a document is about, without judging it: of a field that is there twice the first counts.
func identify(n *yaml.Node) (o finding.Object, apiVersion string) {
	metadata := child(n, "metadata")
	return finding.Object{Kind: text(child(n, "kind")), Namespace: text(child(metadata, "namespace")), Name: text(child(metadata, "name"))}, text(child(n, "apiVersion"))
}

// child is the value of a field; nil: there is none.
func child(n *yaml.Node, field string) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == field {
			return n.Content[i+1]
		}
	}
	return nil
}

// text is a scalar's; empty if there is none.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}
