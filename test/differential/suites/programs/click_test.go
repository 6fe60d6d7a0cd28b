package programs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/repository"
)

// clickGraphs has a subtest for each Click configuration that compiles.
func clickGraphs(t *testing.T, test func(*testing.T, *graph.Graph)) {
	t.Helper()
	folder, err := repository.Path("dataplane", "module", "elements", "lower", "click", "testdata")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.click"))
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
		draw.Adapt(g)
		r, err := rig.New(g)
		if err != nil {
			t.Fatalf("%v\n%s", err, rig.Dump(g))
		}
		if err := r.DriveModel(1, rig.Scale(20_000, 2_000), func(*model.Model) error { return nil }); err != nil {
			t.Fatalf("%v\n%s", err, rig.Dump(g))
		}
	})
}

// TestTheEngineRunsClickConfigurations compares the engine with the oracle.
func TestTheEngineRunsClickConfigurations(t *testing.T) {
	rig.NeedHarness(t)
	clickGraphs(t, func(t *testing.T, g *graph.Graph) {
		draw.Adapt(g)
		rig.DriveFixed(t, g, rig.Scale(20_000, 2_000))
	})
}
