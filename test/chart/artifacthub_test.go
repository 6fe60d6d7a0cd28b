package chart

import (
	"os"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
)

// hub is what Artifact Hub shows of the chart: values of the annotations artifacthub.io/..., which are YAML in text.
type hub struct {
	crds []struct {
		Kind, Version, Name, DisplayName, Description string
	}
	images   []struct{ Name, Image string }
	links    []struct{ Name, URL string }
	examples []map[string]any
}

func readHub(t *testing.T) (h hub) {
	t.Helper()
	text, err := os.ReadFile(chartDir + "/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Annotations map[string]string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	for name, into := range map[string]any{"crds": &h.crds, "images": &h.images, "links": &h.links, "crdsExamples": &h.examples} {
		if err := yaml.UnmarshalStrict([]byte(chart.Annotations["artifacthub.io/"+name]), into); err != nil {
			t.Errorf("artifacthub.io/%s: %v", name, err)
		}
	}
	return h
}

func TestArtifactHubListsTheKindsThatTheChartInstalls(t *testing.T) {
	var listed, installed []string
	for _, c := range readHub(t).crds {
		if c.DisplayName == "" || c.Description == "" {
			t.Errorf("%s has no name or description for people", c.Name)
		}
		listed = append(listed, c.Kind+" "+c.Version+" "+c.Name)
	}
	for _, o := range objects(t, render(t)) {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		var d apiextensionsv1.CustomResourceDefinition
		convert(t, o, &d)
		for _, v := range d.Spec.Versions {
			installed = append(installed, d.Spec.Names.Kind+" "+v.Name+" "+d.Name)
		}
	}
	slices.Sort(listed)
	slices.Sort(installed)
	if !slices.Equal(listed, installed) {
		t.Errorf("the annotation has %q, the chart installs %q", listed, installed)
	}
}

func TestArtifactHubListsTheChartsImages(t *testing.T) {
	operator, dataplane, _ := images(t, render(t))
	h := readHub(t)
	if len(h.images) != 2 || h.images[0].Image != operator || h.images[1].Image != dataplane {
		t.Errorf("the annotation has %+v, the chart has %s and %s", h.images, operator, dataplane)
	}
	if len(h.links) == 0 {
		t.Error("there are no links")
	}
}

func TestTheExamplesOfArtifactHubAreChains(t *testing.T) {
	h := readHub(t)
	for _, example := range h.examples {
		text, err := yaml.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		bundle, found := manifest.Parse("example.yaml", text, os.ReadFile)
		if err := found.Err(); err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		for _, chain := range bundle.Chains {
			if _, found := compiler.Lower(compiler.Sources{Chain: chain, Functions: bundle.Functions}); found.Err() != nil {
				t.Errorf("%v\n%s", found.Err(), text)
			}
		}
	}
	if len(h.examples) == 0 {
		t.Error("there are no examples")
	}
}
