// Package graphtest has chains of tests, and lowers them.
package graphtest

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Header starts every chain of the tests; line 1 of chain.yaml.
const Header = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: c}
spec:
`

// TwoInterfaces are lines 5 to 7.
const TwoInterfaces = `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24}
`

// Files are the files that the tests' chains may name.
var Files = map[string]string{
	"good.classbench": "@10.0.0.0/8\t0.0.0.0/0\t0 : 65535\t80 : 80\t0x06/0xFF\t0x0000/0x0000\n",
	"bad.classbench": "@10.0.0.0/8\t0.0.0.0/0\t0 : 65535\t80 : 80\t0x06/0xFF\n" +
		"@10.0.0.0/8\t0.0.0.0/0\t2000 : 1000\t80 : 80\t0x06/0xFF\n" +
		"10.0.0.0/8 0.0.0.0/0\n",
	"bad.csv":        "action,source\nAccept,10.0.0.0/8\nPass,10.0.0.0/8\nDrop,10.0.0.1/8\n",
	"typo.csv":       "action,sorce\nAccept,10.0.0.0/8\n",
	"blocked.routes": "198.51.100.0/24\n",
	"bad.routes":     "192.0.2.0/24\n2001:db8::/32\n198.51.100/24\n",
}

// Read reads one of the files.
func Read(name string) ([]byte, error) {
	if s, ok := Files[name]; ok {
		return []byte(s), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Build lowers the first chain of a bundle and tells all findings.
func Build(t *testing.T, b *manifest.Bundle, found finding.List) (*graph.Graph, finding.List) {
	t.Helper()
	if found.HasErrors() || len(b.Chains) == 0 {
		return nil, found
	}
	g, more := graph.Build(b.Chains[0], graph.Inputs{Functions: b.Functions, Files: b.Files})
	return g, append(found, b.Locate(more)...)
}

// Lower reads and lowers YAML text as chain.yaml.
func Lower(t *testing.T, text string) (*graph.Graph, finding.List) {
	t.Helper()
	b, found := manifest.Parse("chain.yaml", []byte(text), Read)
	return Build(t, b, found)
}

// Dump is the graph of a text that has no errors.
func Dump(t *testing.T, text string) string {
	t.Helper()
	g, found := Lower(t, text)
	if g == nil {
		t.Fatal(found)
	}
	var dump strings.Builder
	if err := g.Dump(&dump); err != nil {
		t.Fatal(err)
	}
	return dump.String()
}

// Findings are those of a text. Its graph must be sound, and there must be one exactly if there are no errors.
func Findings(t *testing.T, text string) finding.List {
	t.Helper()
	g, found := Lower(t, text)
	if (g == nil) != found.HasErrors() {
		t.Errorf("a graph must come out exactly if there are no errors; findings:\n%s", found)
	}
	if g != nil {
		CheckWiring(t, g)
	}
	return found
}

// CheckFindings compares all findings of a chain, without its header, with what is wanted, a line each.
func CheckFindings(t *testing.T, chain, want string) {
	t.Helper()
	if got := strings.TrimSpace(Findings(t, Header+chain).String()); got != want {
		t.Errorf("findings are\n%s\nwanted\n%s", got, want)
	}
}

// CheckWiring fails if an edge leads nowhere or names are not unique.
func CheckWiring(t *testing.T, g *graph.Graph) {
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
