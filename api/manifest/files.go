package manifest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// readFiles reads the rules and routes that the bundle's objects take from files
// and ConfigMaps, and makes the names of files relative to the working directory.
func (l *loader) readFiles() {
	for _, c := range l.bundle.Chains {
		object := finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}
		for i := range c.Spec.Functions {
			l.functionFiles(object, fmt.Sprintf("spec.functions[%d]", i), &c.Spec.Functions[i].FunctionKinds)
		}
	}
	for _, f := range l.bundle.Functions {
		object := finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: f.Namespace, Name: f.Name}
		l.functionFiles(object, "spec", &f.Spec.FunctionKinds)
	}
}

func (l *loader) functionFiles(object finding.Object, path string, f *v1alpha1.FunctionKinds) {
	if f.Firewall != nil && f.Firewall.RulesFrom != nil {
		from := f.Firewall.RulesFrom
		l.resolve(object, &from.File)
		source := rules.Source{File: from.Name(), Format: from.Format}
		if _, known := l.bundle.Files.Rules[source]; !known {
			if text, ok := l.text(object, path+".firewall.rulesFrom", from.Text()); ok {
				l.report(object, source.File, l.bundle.Files.AddRules(source, text))
			}
		}
	}
	if f.Inspect != nil && f.Inspect.RulesFrom != nil {
		from := f.Inspect.RulesFrom
		l.resolve(object, &from.File)
		if _, known := l.bundle.Files.Inspections[from.Name()]; !known {
			if text, ok := l.text(object, path+".inspect.rulesFrom", from.Text()); ok {
				l.report(object, from.Name(), l.bundle.Files.AddInspections(from.Name(), text))
			}
		}
	}
	if f.Router != nil {
		for i := range f.Router.RoutesFrom {
			from := &f.Router.RoutesFrom[i]
			l.resolve(object, &from.File)
			if _, known := l.bundle.Files.Prefixes[from.Name()]; known {
				continue
			}
			field := fmt.Sprintf("%s.router.routesFrom[%d]", path, i)
			if text, ok := l.text(object, field, from.Text()); ok {
				l.report(object, from.Name(), l.bundle.Files.AddPrefixesAt(fmt.Sprintf("%v %s", object, field), from.Name(), text))
			}
		}
	}
}

// resolve makes a name relative to the YAML file one relative to the working directory.
func (l *loader) resolve(object finding.Object, file *v1alpha1.FilePath) {
	if *file != "" && !filepath.IsAbs(string(*file)) {
		*file = v1alpha1.FilePath(filepath.Join(folder(l.bundle.documents[object].file), string(*file)))
	}
}

// text reads a file, a ConfigMap's key or an object of a store, and unpacks it.
func (l *loader) text(object finding.Object, field string, from v1alpha1.TextSource) ([]byte, bool) {
	var (
		data []byte
		err  error
		name string
	)
	switch {
	case from.ConfigMapRef != nil:
		field, name = field+".configMapRef", from.ConfigMapRef.Name+"/"+from.ConfigMapRef.Key
		data, err = l.configMapText(object.Namespace, from.ConfigMapRef)
	case from.Store != nil:
		field, name = field+".store", from.Store.URL
		data, err = l.stores.Text(context.Background(), from.Store.URL, from.Store.SHA256)
	default:
		field, name = field+".file", string(from.File)
		if data, err = l.named(folder(l.bundle.documents[object].file), name); !slices.Contains(l.bundle.Sources, name) {
			l.bundle.Sources = append(l.bundle.Sources, name)
		}
	}
	if err == nil {
		if data, err = rules.Unpack(data); err == nil {
			return data, true
		}
	}
	f := finding.Finding{Code: finding.CodeOf(err), Object: object, Field: field, Value: name, Message: reason(err)}
	l.findings = append(l.findings, l.bundle.Locate(finding.List{f})...)
	return nil, false
}

func (l *loader) report(object finding.Object, file string, problems []rules.Problem) {
	for _, p := range problems {
		severity := finding.Error
		if p.Warning {
			severity = finding.Warning
		}
		l.findings = append(l.findings, finding.Finding{
			Severity: severity, Object: object, File: file, Line: p.Line, Field: p.Field, Value: p.Value, Message: p.Message,
		})
	}
}
