package compile

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// notInStore tells a text that a store did not give.
func notInStore(f finding.Finding) bool {
	return f.Code == finding.NotFound && strings.HasSuffix(f.Field, storeField)
}

const storeField = ".store"

// maxText bounds what a text of a ConfigMap unpacks to: those who may write ConfigMaps
// must not be able to fill the operator's memory.
const maxText = 32 << 20

// Used are the functions that a chain refers to.
func Used(c *v1alpha1.ServiceChain, all []*v1alpha1.NetworkFunction) []*v1alpha1.NetworkFunction {
	names := map[string]bool{}
	for i := range c.Spec.Functions {
		if ref := c.Spec.Functions[i].FunctionRef; ref != nil {
			names[ref.Name] = true
		}
	}
	var out []*v1alpha1.NetworkFunction
	for _, f := range all {
		if f.Namespace == c.Namespace && names[f.Name] {
			out = append(out, f)
		}
	}
	return out
}

// readTexts reads the rules and routes that functions take from ConfigMaps.
func readTexts(c *v1alpha1.ServiceChain, in Inputs) (rules.Files, finding.List) {
	r := &reader{Inputs: in}
	if in.Session != nil {
		r.files.Memory = &in.Session.texts
	}
	chain := finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}
	for i := range c.Spec.Functions {
		r.function(chain, fmt.Sprintf("spec.functions[%d]", i), &c.Spec.Functions[i].FunctionKinds)
	}
	for _, f := range Used(c, in.Functions) {
		r.function(finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: f.Namespace, Name: f.Name}, "spec", &f.Spec.FunctionKinds)
	}
	return r.files, r.found
}

type reader struct {
	Inputs
	files rules.Files
	found finding.List
}

func (r *reader) function(o finding.Object, path string, f *v1alpha1.FunctionKinds) {
	if f.Firewall != nil && f.Firewall.RulesFrom != nil {
		from := f.Firewall.RulesFrom
		source := rules.Source{File: from.Name(), Format: from.Format}
		r.read(o, path+".firewall.rulesFrom", from.Text(), func(text []byte) []rules.Problem {
			return r.files.AddRules(source, text)
		})
	}
	if f.Inspect != nil && f.Inspect.RulesFrom != nil {
		from := f.Inspect.RulesFrom
		r.read(o, path+".inspect.rulesFrom", from.Text(), func(text []byte) []rules.Problem {
			return r.files.AddInspections(from.Name(), text)
		})
	}
	if f.Router == nil {
		return
	}
	for i := range f.Router.RoutesFrom {
		from, field := &f.Router.RoutesFrom[i], fmt.Sprintf("%s.router.routesFrom[%d]", path, i)
		r.read(o, field, from.Text(), func(text []byte) []rules.Problem {
			return r.files.AddPrefixesAt(fmt.Sprintf("%v %s", o, field), from.Name(), text)
		})
	}
}

func (r *reader) read(o finding.Object, field string, from v1alpha1.TextSource, add func([]byte) []rules.Problem) {
	fail := func(code finding.Code, field, value, message string) {
		r.found = append(r.found, finding.Finding{Code: code, Object: o, Field: field, Value: value, Message: message})
	}
	var (
		text        []byte
		err         error
		value, file string
	)
	switch {
	case from.ConfigMapRef != nil:
		field, value, file = field+".configMapRef", from.ConfigMapRef.Name+"/"+from.ConfigMapRef.Key, "configmap/"+from.ConfigMapRef.Name+"/"+from.ConfigMapRef.Key
		if text, err = r.Text(from.ConfigMapRef); err == nil {
			text, err = rules.UnpackAtMost(text, maxText)
		}
	case from.Store != nil:
		field, value, file = field+storeField, from.Store.URL, from.Store.URL
		text, err = r.Stored(from.Store)
	default:
		fail(finding.Invalid, field+".file", string(from.File), "there are no files in a cluster; put the text into a ConfigMap and set configMapRef")
		return
	}
	if err != nil {
		add(nil) // or it would be said again that it was not read
		fail(finding.CodeOf(err), field, value, err.Error())
		return
	}
	for _, p := range add(text) {
		f := finding.Finding{Object: o, File: file, Line: p.Line, Field: p.Field, Value: p.Value, Message: p.Message}
		if p.Warning {
			f.Severity = finding.Warning
		}
		r.found = append(r.found, f)
	}
}
