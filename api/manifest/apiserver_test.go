package manifest

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/config/crd"
)

// server validates objects of a kind as an API server does, with its code.
type server struct {
	schema  *structural.Structural
	openAPI validation.SchemaValidator
	rules   *cel.Validator
}

func servers(t *testing.T) map[string]*server {
	t.Helper()
	out := map[string]*server{}
	names, err := fs.Glob(crd.Files, "*.yaml")
	must(t, err)
	for _, name := range names {
		data, err := crd.Files.ReadFile(name)
		must(t, err)
		var d apiextensionsv1.CustomResourceDefinition
		must(t, yaml.Unmarshal(data, &d))
		var in apiextensions.JSONSchemaProps
		must(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(d.Spec.Versions[0].Schema.OpenAPIV3Schema, &in, nil))
		s := &server{}
		s.schema, err = structural.NewStructural(&in)
		must(t, err)
		s.openAPI, _, err = validation.NewSchemaValidator(&in)
		must(t, err)
		s.rules = cel.NewValidator(s.schema, true, celconfig.PerCallLimit)
		out[d.Spec.Names.Kind] = s
	}
	return out
}

// refuses says why the API server refuses an object, with field validation as kubectl asks for it; empty: it does not.
func (s *server) refuses(t *testing.T, o map[string]any) (why []string) {
	t.Helper()
	for _, path := range pruning.PruneWithOptions(o, s.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		why = append(why, "unknown field "+path)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(o, s.schema)
	defaulting.Default(o, s.schema)
	errs := validation.ValidateCustomResource(nil, o, s.openAPI)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, o)...)
	if len(errs) == 0 { // rules may rely on the schema
		errs, _ = s.rules.Validate(t.Context(), nil, s.schema, o, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, e := range errs {
		why = append(why, e.Error())
	}
	return why
}

// reader is why this package refuses an object.
func reader(t *testing.T, o map[string]any) (why []string) {
	t.Helper()
	data, err := yaml.Marshal(o)
	must(t, err)
	var n yamlv3.Node
	must(t, yamlv3.Unmarshal(data, &n))
	known, err := schemas()
	must(t, err)
	d := decoder{doc: &document{lines: map[string]int{}}}
	d.value(n.Content[0], known[o["kind"].(string)], "", 1, 0)
	for _, f := range d.findings {
		why = append(why, f.String())
	}
	return why
}

// strange are values that are put where others belong.
var strange = []any{"x", "X_", "", "80", "10.0.0.0/8", "5s", "9000h", int64(0), int64(-1), int64(7), int64(1 << 20), true, []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": "y"}}

// mutants calls f for an object after each of many changes of one value below it, and restores it each time.
func mutants(v any, set func(any), f func()) {
	for _, other := range strange {
		set(other)
		f()
	}
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			delete(v, key)
			f()
			mutants(child, func(c any) { v[key] = c }, f)
		}
		v["unheardOf"] = "x"
		f()
		delete(v, "unheardOf")
	case []any:
		if len(v) > 0 {
			set(append(slices.Clone(v), v[0]))
			f()
			set(v[1:])
			f()
			set(v)
		}
		for i, child := range v {
			mutants(child, func(c any) { v[i] = c }, f)
		}
	}
}

// The reader has its own code for schemas and CEL rules. It must refuse exactly what the API server refuses.
func TestTheReaderAgreesWithTheAPIServer(t *testing.T) {
	data, err := os.ReadFile("testdata/every-field.yaml")
	must(t, err)
	all := servers(t)
	accepted, refused := 0, 0
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		text, err := yaml.YAMLToJSON([]byte(text))
		must(t, err)
		var o map[string]any
		must(t, utiljson.Unmarshal(text, &o))
		s := all[o["kind"].(string)]
		compare := func() {
			theirs, ours := s.refuses(t, runtime.DeepCopyJSON(o)), reader(t, o)
			if (len(theirs) > 0) != (len(ours) > 0) {
				text, _ := yaml.Marshal(o)
				t.Fatalf("the API server finds %q, the reader %q in\n%s", theirs, ours, text)
			}
			if len(ours) > 0 {
				refused++
			} else {
				accepted++
			}
		}
		compare()
		mutants(o["spec"], func(v any) { o["spec"] = v }, compare)
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted < 300 || refused < 3000 {
		t.Errorf("%d objects were accepted and %d refused: too few to tell", accepted, refused)
	}
}

func TestAFunctionThatWritesIsNotOpenWhenDown(t *testing.T) {
	s := servers(t)["NetworkFunction"]
	for spec, right := range map[string]bool{
		"whenDown: Open":                                  true,
		"whenDown: Open, behavior: {}":                    true,
		"whenDown: Open, behavior: {writes: []}":          true,
		"whenDown: Open, behavior: {writes: [DSCP]}":      false,
		"whenDown: Closed, behavior: {writes: [DSCP]}":    true,
		"behavior: {writes: [DSCP]}":                      true,
		"whenDown: Opened":                                false,
		"whenDown: \"\"":                                  false,
		"whenDown: Open, behavior: {writes: [DSCP, TTL]}": false,
	} {
		var o map[string]any
		must(t, yaml.Unmarshal([]byte("apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: ips}\n"+
			"spec: {blackbox: {inside: a, outside: b, "+spec+"}}\n"), &o))
		if theirs, ours := s.refuses(t, runtime.DeepCopyJSON(o)), reader(t, o); (len(theirs) == 0) != right || (len(ours) == 0) != right {
			t.Errorf("%s: the API server finds %q, the reader %q; right: %t", spec, theirs, ours, right)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
