package dot_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/dot"
)

// picture is that of the chain in testdata.
func picture(t *testing.T) string {
	t.Helper()
	c, err := compile.Files(compile.Input{Paths: []string{"testdata/edge.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := dot.SideBySide(&b, c.Graph, c.Result.Program); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	node = regexp.MustCompile(`(?m)^ +(\w+) \[.*shape|^ +(n\d+) \[`)
	edge = regexp.MustCompile(`(?m)^ +(\w+)(?::\w+)? -> (\w+)(?::\w+)?(.*)$`)
)

// Graphviz draws what no line declares as a gray box.
func TestEdgesLeadToWhatIsDrawn(t *testing.T) {
	text := picture(t)
	declared := map[string]bool{}
	for _, m := range node.FindAllStringSubmatch(text, -1) {
		declared[m[1]+m[2]] = true
	}
	edges := edge.FindAllStringSubmatch(text, -1)
	for _, m := range edges {
		for _, end := range m[1:3] {
			if !declared[end] {
				t.Errorf("%s is nowhere declared: %s", end, strings.TrimSpace(m[0]))
			}
		}
	}
	if len(edges) < 30 {
		t.Errorf("%d edges were found: too few to tell", len(edges))
	}
}

func TestAnEdgeLeadsToEachStateTable(t *testing.T) {
	text := picture(t)
	tables := regexp.MustCompile(`(?m)^ +(t\d+) \[shape=cylinder.*<b>(.*?)</b>`).FindAllStringSubmatch(text, -1)
	if len(tables) < 5 {
		t.Fatalf("%d tables are drawn, want one of each function", len(tables))
	}
	for _, table := range tables {
		if !regexp.MustCompile(`(?m)-> ` + table[1] + `\b`).MatchString(text) {
			t.Errorf("no edge leads to the table of %s", table[2])
		}
	}
}

func TestOnlyDropsHaveTheColourOfDrops(t *testing.T) {
	text := picture(t)
	discards := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(n\d+) \[.*drop: `).FindAllStringSubmatch(text, -1) {
		discards[m[1]] = true
	}
	red := 0
	for _, m := range edge.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[3], "#dc2626") {
			red++
			if !discards[m[1]] && !discards[m[2]] {
				t.Errorf("no end of this edge drops: %s", strings.TrimSpace(m[0]))
			}
		}
	}
	if red == 0 || len(discards) == 0 {
		t.Errorf("%d edges to %d drops: too few to tell", red, len(discards))
	}
}

func TestAPictureHasTheNameOfItsChain(t *testing.T) {
	if text := picture(t); !strings.Contains(text, "<b>edge-paris</b>") {
		t.Error("the chain's name is no title")
	}
}
