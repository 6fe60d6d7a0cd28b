package differential

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// clickGraphs has a subtest for each Click configuration that compiles.
func clickGraphs(t *testing.T, test func(*testing.T, *graph.Graph)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "dataplane", "module", "elements", "lower", "click", "testdata", "*.click"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no configurations: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".click")
		if strings.HasPrefix(name, "refused-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bundle, findings := manifest.Load(file)
			if findings.HasErrors() {
				t.Fatal(findings)
			}
			g, findings := graph.Build(bundle.Chains[0], graph.Inputs{})
			if findings.HasErrors() {
				t.Fatal(bundle.Locate(findings))
			}
			test(t, g)
		})
	}
}

// TestTheProgramsOfClickConfigurationsDoWhatTheirElementsDo compares the model with the oracle.
func TestTheProgramsOfClickConfigurationsDoWhatTheirElementsDo(t *testing.T) {
	clickGraphs(t, func(t *testing.T, g *graph.Graph) {
		adapt(g)
		r, err := newRig(g)
		if err != nil {
			t.Fatalf("%v\n%s", err, dump(g))
		}
		if err := r.driveModel(1, scale(20_000, 2_000), func(*model) error { return nil }); err != nil {
			t.Fatalf("%v\n%s", err, dump(g))
		}
	})
}

// TestTheEngineRunsClickConfigurations compares the engine with the oracle.
func TestTheEngineRunsClickConfigurations(t *testing.T) {
	needHarness(t)
	clickGraphs(t, func(t *testing.T, g *graph.Graph) {
		adapt(g)
		driveFixed(t, g, scale(20_000, 2_000))
	})
}
