// Package moduletest has tests that each room of modules needs: that its framework names no function, and that its list has every
// module.
package moduletest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// functions are the words by which functions of chains are called, and what only one of them has.
var functions = []string{"nat", "napt", "meter", "limiter", "connlimit", "balanc", "track", "firewall", "inspect", "monitor", "observ"}

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

// NamesNoFunction reads the code in folders, but not tests: identifiers, texts and comments.
func NamesNoFunction(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
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
	t.Helper()
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

// ListHasAll tests that a list of imports in a folder of dataplane/module/all has every module with a room. up leads to
// dataplane/module.
func ListHasAll(t *testing.T, list, up, room string) {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(up, "*", room))
	if err != nil || len(folders) < 2 {
		t.Fatalf("modules with %s: %q (%v)", room, folders, err)
	}
	for _, folder := range folders {
		module := strings.TrimPrefix(filepath.ToSlash(folder), up+"/")
		if module != "all/"+room && !strings.Contains(string(text), `dataplane/module/`+module+`"`) {
			t.Errorf("%s has no line for %s", list, module)
		}
	}
}
