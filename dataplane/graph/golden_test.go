package graph_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// load reads a chain from a file.
func load(t *testing.T, file string) (*graph.Graph, finding.List) {
	t.Helper()
	b, found := manifest.Load(file)
	return graphtest.Build(t, b, found)
}

func TestChainsLowerToTheElementsOfTheirGoldenFile(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, samples...) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			g, found := load(t, file)
			var got bytes.Buffer
			got.WriteString(found.String())
			if g == nil {
				t.Fatalf("the chain does not compile:\n%s", found)
			}
			if err := g.Dump(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("the graph of %s is not that of %s (-update rewrites it):\n%s", file, golden, got.String())
			}
		})
	}
}
