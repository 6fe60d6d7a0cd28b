package compile

import (
	"bytes"
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

// ConfigMapFile begins the names of files that are texts of ConfigMaps, in findings.
const ConfigMapFile = "configmap/"

// maxText bounds what all texts of a chain unpack to that come from ConfigMaps: those who may write ConfigMaps
// must not be able to fill the operator's memory.
const maxText = 32 << 20

// quota is how many lines the texts of a chain may have that come from ConfigMaps.
type quota struct {
	of    string // what a line is
	value string // the chart's that the administrator raises
	most  int    // 0: any number
	used  int
}

// take counts a text's lines. The answer is the first line that is too many; 0: there is none.
func (q *quota) take(text []byte) (over int) {
	n := bytes.Count(text, []byte("\n"))
	if q.used += n; q.most > 0 && q.used > q.most {
		return q.most - (q.used - n) + 1
	}
	return 0
}

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
	r := &reader{
		Inputs: in,
		rules:  quota{of: "rules", value: "operator.maxRules", most: in.Policy.MaxRules},
		routes: quota{of: "routes", value: "operator.maxRoutes", most: in.Policy.MaxRoutes},
	}
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
	files         rules.Files
	found         finding.List
	bytes         int // of texts from ConfigMaps, unpacked
	rules, routes quota
}

func (r *reader) function(o finding.Object, path string, f *v1alpha1.FunctionKinds) {
	if f.Firewall != nil && f.Firewall.RulesFrom != nil {
		from := f.Firewall.RulesFrom
		source := rules.Source{File: from.Name(), Format: from.Format}
		r.read(o, path+".firewall.rulesFrom", from.Text(), &r.rules, func(text []byte) []rules.Problem {
			return r.files.AddRules(source, text)
		})
	}
	if f.Inspect != nil && f.Inspect.RulesFrom != nil {
		from := f.Inspect.RulesFrom
		r.read(o, path+".inspect.rulesFrom", from.Text(), &r.rules, func(text []byte) []rules.Problem {
			return r.files.AddInspections(from.Name(), text)
		})
	}
	if f.Router == nil {
		return
	}
	for i := range f.Router.RoutesFrom {
		from, field := &f.Router.RoutesFrom[i], fmt.Sprintf("%s.router.routesFrom[%d]", path, i)
		r.read(o, field, from.Text(), &r.routes, func(text []byte) []rules.Problem {
			return r.files.AddPrefixesAt(fmt.Sprintf("%v %s", o, field), from.Name(), text)
		})
	}
}

func (r *reader) read(o finding.Object, field string, from v1alpha1.TextSource, lines *quota, add func([]byte) []rules.Problem) {
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
		field, value, file = field+".configMapRef", from.ConfigMapRef.Name+"/"+from.ConfigMapRef.Key, ConfigMapFile+from.ConfigMapRef.Name+"/"+from.ConfigMapRef.Key
		if text, err = r.Text(from.ConfigMapRef); err == nil {
			text, err = r.unpacked(text)
		}
		if over := lines.take(text); err == nil && over > 0 {
			add(nil)
			message := fmt.Sprintf("with this line, the chain's texts from ConfigMaps have more than %d %s: write fewer, divide the chain, or have the administrator raise %s of the chart", lines.most, lines.of, lines.value)
			r.found = append(r.found, finding.Finding{Object: o, File: file, Line: over, Message: message})
			return
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

// unpacked is a ConfigMap's text, unpacked if it is gzip.
func (r *reader) unpacked(packed []byte) ([]byte, error) {
	text, err := rules.UnpackAtMost(packed, maxText)
	if err != nil {
		return nil, err
	}
	if r.bytes += len(text); r.bytes > maxText {
		return nil, fmt.Errorf("with this text, those that the chain takes from ConfigMaps have more than %d bytes unpacked: write fewer rules and routes, or divide the chain", maxText)
	}
	return text, nil
}
