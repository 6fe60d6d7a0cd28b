package manifest

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// readFiles reads the rule and route files that the bundle's objects name, and
// makes their names relative to the working directory.
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
		l.ruleFile(object, path+".firewall.rulesFrom.file", &from.File, from.Format)
	}
	if f.Router != nil {
		for i := range f.Router.RoutesFrom {
			l.prefixFile(object, fmt.Sprintf("%s.router.routesFrom[%d].file", path, i), &f.Router.RoutesFrom[i].File)
		}
	}
}

func (l *loader) ruleFile(object finding.Object, field string, file *v1alpha1.FilePath, format v1alpha1.RuleFormat) {
	l.resolve(object, file)
	source := rules.Source{File: string(*file), Format: format}
	if _, ok := l.bundle.Files.Rules[source]; ok {
		return
	}
	text, ok := l.text(object, field, source.File)
	if !ok {
		return
	}
	read := rules.ClassBench
	if format == v1alpha1.FormatCSV {
		read = rules.CSV
	}
	list, problems := read(text)
	l.bundle.Files.Rules[source] = list
	l.report(object, source.File, problems)
}

func (l *loader) prefixFile(object finding.Object, field string, file *v1alpha1.FilePath) {
	l.resolve(object, file)
	name := string(*file)
	if _, ok := l.bundle.Files.Prefixes[name]; ok {
		return
	}
	text, ok := l.text(object, field, name)
	if !ok {
		return
	}
	list, problems := rules.Prefixes(text)
	l.bundle.Files.Prefixes[name] = list
	l.report(object, name, problems)
}

// resolve makes a name relative to the YAML file one relative to the working directory.
func (l *loader) resolve(object finding.Object, file *v1alpha1.FilePath) {
	if !filepath.IsAbs(string(*file)) {
		*file = v1alpha1.FilePath(filepath.Join(filepath.Dir(l.bundle.documents[object].file), string(*file)))
	}
}

func (l *loader) text(object finding.Object, field, name string) ([]byte, bool) {
	data, err := l.read(name)
	if err == nil {
		if !slices.Contains(l.bundle.Sources, name) {
			l.bundle.Sources = append(l.bundle.Sources, name)
		}
		if data, err = rules.Unpack(data); err == nil {
			return data, true
		}
	}
	f := finding.Finding{Object: object, Field: field, Value: name, Message: reason(err)}
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
