// Command oneof keeps the rules "set exactly one of …" of types that have a network function: the list is the members of FunctionKinds, and the
// optional members that the type has beside them. It rewrites the lines with these rules in the folder's Go files.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// kinds is the type whose members are the kinds of network functions.
const kinds = "FunctionKinds"

var rule = regexp.MustCompile(`^// \+kubebuilder:validation:XValidation:rule=.*,message="set exactly one of `)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "oneof: %v\n", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*_types.go"))
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	for _, file := range files {
		if texts[file], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	changed, err := rewrite(texts)
	if err != nil {
		return err
	}
	for file, text := range changed {
		if bytes.Equal(text, texts[file]) {
			continue
		}
		if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // source files are for everybody
			return err
		}
	}
	return nil
}

// found is a type that embeds FunctionKinds, and the line in which its rule is; 0: it has none.
type found struct {
	file, name string
	line       int
	more       []string
}

// rewrite gives the files of types that embed FunctionKinds, with their rules as the members are.
func rewrite(texts map[string][]byte) (map[string][]byte, error) {
	var members []string
	var types []found
	fset := token.NewFileSet()
	for file, text := range texts {
		tree, err := parser.ParseFile(fset, file, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for name, t := range structs(tree) {
			switch {
			case name == kinds:
				members = optional(t.fields)
			case embeds(t.fields):
				types = append(types, found{file, name, lineOf(fset, t.doc), optional(t.fields)})
			}
		}
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("no type %s with members", kinds)
	}
	changed := map[string][]byte{}
	for _, t := range types {
		if t.line == 0 {
			return nil, fmt.Errorf("%s: type %s embeds %s, but has no rule \"set exactly one of\" to keep", t.file, t.name, kinds)
		}
		if changed[t.file] == nil {
			changed[t.file] = texts[t.file]
		}
		lines := strings.Split(string(changed[t.file]), "\n")
		lines[t.line-1] = marker(append(append([]string{}, members...), t.more...))
		changed[t.file] = []byte(strings.Join(lines, "\n"))
	}
	return changed, nil
}

// marker is the rule that exactly one of the members is set.
func marker(members []string) string {
	has := make([]string, len(members))
	for i, m := range members {
		has[i] = "has(self." + m + ")"
	}
	return fmt.Sprintf(`// +kubebuilder:validation:XValidation:rule="[%s].filter(x, x).size() == 1",message="set exactly one of %s"`,
		strings.Join(has, ", "), strings.Join(members, ", "))
}

type structure struct {
	doc    *ast.CommentGroup
	fields []*ast.Field
}

func structs(tree *ast.File) map[string]structure {
	list := map[string]structure{}
	for _, d := range tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				if members, ok := t.Type.(*ast.StructType); ok {
					list[t.Name.Name] = structure{g.Doc, members.Fields.List}
				}
			}
		}
	}
	return list
}

func embeds(fields []*ast.Field) bool {
	for _, f := range fields {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 && id.Name == kinds {
			return true
		}
	}
	return false
}

// optional are the names in JSON of members that need not be set.
func optional(fields []*ast.Field) (names []string) {
	for _, f := range fields {
		if len(f.Names) == 0 || !strings.Contains(marks(f.Doc), "// +optional\n") {
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// marks is a comment with its markers, which (*ast.CommentGroup).Text leaves out.
func marks(doc *ast.CommentGroup) string {
	var b strings.Builder
	if doc != nil {
		for _, c := range doc.List {
			b.WriteString(c.Text + "\n")
		}
	}
	return b.String()
}

// lineOf is the line of a type's rule.
func lineOf(fset *token.FileSet, doc *ast.CommentGroup) int {
	if doc != nil {
		for _, c := range doc.List {
			if rule.MatchString(c.Text) {
				return fset.Position(c.Pos()).Line
			}
		}
	}
	return 0
}
