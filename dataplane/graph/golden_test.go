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
)

var update = flag.Bool("update", false, "rewrite the golden files")

// build lowers the first chain of a bundle and tells all findings.
func build(t *testing.T, b *manifest.Bundle, found finding.List) (*graph.Graph, finding.List) {
	t.Helper()
	if found.HasErrors() || len(b.Chains) == 0 {
		return nil, found
	}
	g, more := graph.Build(b.Chains[0], graph.Inputs{Functions: b.Functions, Files: b.Files})
	return g, append(found, b.Locate(more)...)
}

// load reads a chain from a file.
func load(t *testing.T, file string) (*graph.Graph, finding.List) {
	t.Helper()
	b, found := manifest.Load(file)
	return build(t, b, found)
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

// checkWiring fails if an edge leads nowhere or names are not unique.
func checkWiring(t *testing.T, g *graph.Graph) {
	t.Helper()
	names := map[string]bool{}
	for _, n := range g.Nodes {
		if names[n.Name] {
			t.Errorf("two nodes are named %s", n.Name)
		}
		names[n.Name] = true
		_, outs := n.Element.Ports()
		if len(n.Out) != outs {
			t.Errorf("node %s has %d outputs, %d are wired", n.Name, outs, len(n.Out))
		}
		for out, e := range n.Out {
			switch {
			case e.To >= len(g.Nodes):
				t.Errorf("output %d of %s leads to node %d of %d", out, n.Name, e.To, len(g.Nodes))
			case e.To >= 0:
				if ins, _ := g.Nodes[e.To].Element.Ports(); e.Port >= ins {
					t.Errorf("output %d of %s leads to input %d of %s, which has %d", out, n.Name, e.Port, g.Nodes[e.To].Name, ins)
				}
			}
		}
	}
}
