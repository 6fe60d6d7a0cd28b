package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// engine is the folder whose folders are the engine's libraries.
	engine = "dataplane/engine"
	// modules is the folder whose folders have a room `engine`: what the libraries `module` and `operation` have of a function.
	modules = "dataplane/module"
)

var (
	libraryLoop = regexp.MustCompile(`foreach library : \[([^\]]*)\]`)
	quoted      = regexp.MustCompile(`'(\w+)'`)
	dependency  = regexp.MustCompile(`\b(\w+)_dep\b`)
	include     = regexp.MustCompile(`(?m)^\s*#\s*include "([^"]+)"`)
)

// generated are the headers that protoc-c makes of each border's schema, by the library that has it.
var generated = map[string]string{"schema": "program.pb-c.h", "schema_flows": "flows.pb-c.h", "schema_control": "control.pb-c.h"}

// library is a library of the engine in C.
type library struct {
	Name     string
	Uses     []string            // libraries, as its meson.build says
	Headers  []string            // that it has, by their paths
	Includes map[string][]string // headers, by the path of the file that includes them
}

// libraries reads the engine's libraries in the order in which meson has them. planted are files that it has besides, by path.
func libraries(module string, planted map[string]string) ([]library, error) {
	text, err := os.ReadFile(filepath.Join(module, engine, "meson.build"))
	if err != nil {
		return nil, err
	}
	loop := libraryLoop.FindSubmatch(text)
	if loop == nil {
		return nil, fmt.Errorf("%s/meson.build: no line `foreach library : [...]`", engine)
	}
	var list []library
	for _, name := range quoted.FindAllSubmatch(loop[1], -1) {
		l := library{Name: string(name[1]), Includes: map[string][]string{}}
		if err := l.read(module, planted); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	for i := range list {
		list[i].Uses = slices.DeleteFunc(list[i].Uses, func(used string) bool {
			return !slices.ContainsFunc(list[:i], func(l library) bool { return l.Name == used })
		})
	}
	return list, nil
}

func (l *library) read(module string, planted map[string]string) error {
	build, err := os.ReadFile(filepath.Join(module, engine, l.Name, "meson.build"))
	if err != nil {
		return err
	}
	for _, d := range dependency.FindAllSubmatch(build, -1) {
		l.Uses = append(l.Uses, string(d[1]))
	}
	for _, pattern := range []string{engine + "/" + l.Name + "/*.[ch]", modules + "/*/engine/*.[ch]"} {
		files, err := filepath.Glob(filepath.Join(module, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			path, err := filepath.Rel(module, file)
			if err != nil {
				return err
			}
			l.add(path, string(text))
		}
	}
	for path, text := range planted {
		l.add(path, text)
	}
	if made, ok := generated[l.Name]; ok {
		l.Headers = append(l.Headers, made)
	}
	return nil
}

// libraryOf is the library of a file: operations of modules are of `operation`, what else modules have of `module`.
func libraryOf(path string) string {
	if in, ok := strings.CutPrefix(path, engine+"/"); ok {
		return filepath.Dir(in)
	}
	if strings.HasPrefix(filepath.Base(path), "sn_op_") {
		return "operation"
	}
	return "module"
}

// add adds a file to its library.
func (l *library) add(path, text string) {
	if libraryOf(path) != l.Name {
		return
	}
	if strings.HasSuffix(path, ".h") {
		l.Headers = append(l.Headers, path)
	}
	for _, i := range include.FindAllStringSubmatch(text, -1) {
		l.Includes[path] = append(l.Includes[path], i[1])
	}
}

// includes are the libraries of whose headers each library includes one.
func includes(list []library) map[string]map[string]bool {
	owner := map[string]string{}
	for _, l := range list {
		for _, h := range l.Headers {
			owner[filepath.Base(h)] = l.Name
		}
	}
	graph := map[string]map[string]bool{}
	for _, l := range list {
		graph[l.Name] = map[string]bool{}
		for _, headers := range l.Includes {
			for _, h := range headers {
				if o := owner[h]; o != "" && o != l.Name {
					graph[l.Name][o] = true
				}
			}
		}
	}
	return graph
}

// beside gives a line for each file of `module` and `operation` that includes a header of a module that it is not in.
func beside(list []library) (wrong []string) {
	rooms := map[string]string{}
	for _, l := range list {
		for _, h := range l.Headers {
			if strings.HasPrefix(h, modules+"/") {
				rooms[filepath.Base(h)] = filepath.Dir(h)
			}
		}
	}
	for _, l := range list {
		if l.Name != "module" && l.Name != "operation" {
			continue
		}
		for file, headers := range l.Includes {
			for _, h := range headers {
				if room, ok := rooms[h]; ok && room != filepath.Dir(file) {
					wrong = append(wrong, fmt.Sprintf("%s includes %s of %s: what a function keeps is seen by that function alone", file, h, room))
				}
			}
		}
	}
	return wrong
}

// checkEngine gives a line for each library that includes a header of one that it does not use, not even through a third.
func checkEngine(list []library) []string {
	uses := map[string]map[string]bool{}
	for _, l := range list {
		uses[l.Name] = map[string]bool{}
		for _, u := range l.Uses {
			uses[l.Name][u] = true
		}
	}
	wrong := beside(list)
	for name, others := range includes(list) {
		for _, other := range slices.Sorted(maps.Keys(others)) {
			if !reaches(uses, name, other) {
				wrong = append(wrong, fmt.Sprintf("%s/%s includes headers of %s, which it does not use: see %s/%s/meson.build", engine, name, other, engine, name))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// drawEngine is a table of the libraries, from below to above.
func drawEngine(list []library) string {
	graph := includes(list)
	var b strings.Builder
	fmt.Fprint(&b, "| library | includes headers of |\n| --- | --- |\n")
	for _, l := range list {
		fmt.Fprintf(&b, "| `%s` | %s |\n", l.Name, direct(graph, l.Name))
	}
	return b.String()
}
