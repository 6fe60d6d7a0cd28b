package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// violation is something that is beyond a limit.
type violation struct {
	name string // by which exceptions name it: a C file by its name alone, as files of the engine move between folders
	text string
}

// measureFile finds what is beyond a limit in a file. Generated files have none.
func measureFile(name string, text []byte) (found []violation, err error) {
	functions, known := functionsOfC(text), path.Base(name)
	if path.Ext(name) == ".go" {
		generated := false
		if functions, generated, err = functionsOfGo(name, text); err != nil || generated {
			return nil, err
		}
		known = name
	}
	if n := bytes.Count(text, []byte("\n")); n > fileLines {
		found = append(found, violation{known, fmt.Sprintf("%s has %d lines, more than %d: split it by what its parts do", name, n, fileLines)})
	}
	for _, f := range functions {
		if n := f.last - f.first + 1; n > functionLines {
			found = append(found, violation{
				known + ": " + f.name, fmt.Sprintf("%s:%d: %s has %d lines, more than %d: give parts of it names of their own", name, f.first, f.name, n, functionLines),
			})
		}
	}
	return found, nil
}

// function is a function's place in its file, from the first line of its type to its last brace.
type function struct {
	name        string
	first, last int
}

func functionsOfGo(name string, text []byte) (list []function, generated bool, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, false, err
	}
	for _, d := range file.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				list = append(list, function{n.Name.Name, set.Position(n.Pos()).Line, set.Position(n.End()).Line})
				return false
			case *ast.FuncLit: // a variable's value
				list = append(list, function{"a function without a name", set.Position(n.Pos()).Line, set.Position(n.End()).Line})
				return false
			}
			return true
		})
	}
	return list, ast.IsGenerated(file), nil
}

// signature is the first line of a C function: of all that is followed by a brace in the first column, only this has a parenthesis.
var signature = regexp.MustCompile(`^[a-z].*?(\w+)\(`)

// functionsOfC reads C as .clang-format leaves it: a function's braces are in the first column.
func functionsOfC(text []byte) (list []function) {
	var f function
	for i, line := range strings.Split(string(text), "\n") {
		switch found := signature.FindStringSubmatch(line); {
		case found != nil:
			f = function{name: found[1], first: i + 1}
		case line == "{" || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " "):
		case line == "}" && f.first > 0:
			f.last = i + 1
			list, f = append(list, f), function{}
		}
	}
	return list
}

// judge gives a line for each violation that is no exception, and for each exception that is no violation any more.
func judge(found []violation, exceptions []string) (lines []string) {
	broken := map[string]bool{}
	for _, v := range found {
		broken[v.name] = true
		if !slices.Contains(exceptions, v.name) {
			lines = append(lines, v.text)
		}
	}
	for _, name := range exceptions {
		if !broken[name] {
			lines = append(lines, name+" is within the limits: take it out of the exceptions in hack/limits/exceptions.go")
		}
	}
	return lines
}
