package rule_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// functions are the words by which functions of chains are called, and what only one of them has.
var functions = []string{"nat", "napt", "meter", "limiter", "balanc", "track", "firewall", "inspect", "monitor", "observ"}

// word is a word of an identifier or a text.
var word = regexp.MustCompile(`[A-Z]*[a-z]+|[A-Z]+`)

// named are the words of a text by which a function is called.
func named(text string) (found []string) {
	for _, w := range word.FindAllString(text, -1) {
		for _, f := range functions {
			if strings.HasPrefix(strings.ToLower(w), f) {
				found = append(found, w)
			}
		}
	}
	return found
}

// TestTheFrameworkNamesNoFunction reads the code of this package and of package program: identifiers, texts and comments.
func TestTheFrameworkNamesNoFunction(t *testing.T) {
	for _, folder := range []string{".", ".."} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has files %q (%v)", folder, files, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				nameNoFunction(t, file)
			}
		}
	}
}

func nameNoFunction(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(at token.Pos, text string) {
		for _, w := range named(text) {
			t.Errorf("%s: %q names a function: what is of one function alone is in its module (dataplane/module)", set.Position(at), w)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			refuse(n.Pos(), n.Name)
		case *ast.BasicLit:
			refuse(n.Pos(), n.Value)
		}
		return true
	})
	for _, c := range file.Comments {
		refuse(c.Pos(), c.Text())
	}
}

func TestNamesOfFunctionsAreFoundInWords(t *testing.T) {
	for text, want := range map[string]string{
		"naptTables": "napt", "Op_StateForward": "", "Leg_Track": "Track", "want a NAPT's": "NAPT", "the destination": "", "observations[%d]": "observations",
		"MaxMeters": "Meters", "parameter": "", "nat-no-binding": "nat", "GetInspector": "Inspector",
	} {
		if got := strings.Join(named(text), " "); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}
