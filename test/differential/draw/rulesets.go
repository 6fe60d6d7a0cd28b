package draw

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/draw"
	"github.com/sinter-nfv/sinter/test/repository"
)

// RowOfSets is firewalls in a row, each by the name of its set of rules, and routers.
func RowOfSets(t *testing.T, names []string) *graph.Graph {
	b := new(Builder)
	b.Graph.Chain = t.Name()
	s, end := b.PlainLinks()
	for i, name := range names {
		var left, right Side
		if name == draw.Router {
			left, right = OneRouter(b, i)
		} else {
			both := ruleSet(ReadRuleSet(t, filepath.Join(filepath.Dir(RuleSets(t)[0]), name)))
			left, right = b.Filter(fmt.Sprintf("fw%d", i), both, both)
		}
		b.Link(s, left)
		s = right
	}
	b.Link(s, end)
	return &b.Graph
}

// ReadRuleSet reads the rules of a ClassBench file.
func ReadRuleSet(t *testing.T, file string) []rules.Rule {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, problems := rules.ClassBench(content)
	if len(list) == 0 {
		t.Fatalf("no rules: %v", problems)
	}
	return list
}

// RuleSets are the ClassBench files.
func RuleSets(t *testing.T) []string {
	t.Helper()
	data := os.Getenv("SINTER_DATA")
	if data == "" {
		var err error
		if data, err = repository.Path("test", "data"); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(data, "classbench", "*[0-9k]"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rule sets in %s/classbench (%v)", data, err)
	}
	return files
}

// ruleSet has a rule for each line: odd lines accept, even ones and the rest drop.
func ruleSet(list []rules.Rule) element.Classifier {
	c := element.Classifier{Outs: 2, Default: 1}
	for _, r := range list {
		c.Rules = append(c.Rules, element.Rule{Name: fmt.Sprintf("line%d", r.Line), Out: (r.Line + 1) % 2, Filters: []hs.Filter{r.Filter}})
	}
	return c
}

// ClassBench is a firewall with the rules in one direction (odd lines accept, even ones and the rest drop), a router
// and a NAPT.
func ClassBench(name string, list []rules.Rule) *graph.Graph {
	b := new(Builder)
	b.Graph.Chain = name
	s, end := b.PlainLinks()
	left, right := b.Filter("fw", ruleSet(list), element.Classifier{Outs: 1})
	b.Link(s, left)
	s = right
	left, right = OneRouter(b, 0)
	b.Link(s, left)
	s = right
	left, right = OneNAPT(b, 0)
	b.Link(s, left)
	b.Link(right, end)
	return &b.Graph
}
