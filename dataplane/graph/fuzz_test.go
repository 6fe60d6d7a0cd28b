package graph_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// FuzzManifest reads and lowers any text: it must end in a sound graph or in
// errors, never in a panic.
func FuzzManifest(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "../../config/samples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _ := manifest.Parse("chain.yaml", data, graphtest.Read)
		for _, c := range b.Chains {
			g, found := graph.Build(c, graph.Inputs{Functions: b.Functions, Files: b.Files})
			if (g == nil) != found.HasErrors() {
				t.Errorf("a graph must come out exactly if there are no errors; findings:\n%s", found)
			}
			if g != nil {
				graphtest.CheckWiring(t, g)
			}
		}
	})
}
