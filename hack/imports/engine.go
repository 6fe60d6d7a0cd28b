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

// engine is the folder whose folders are the engine's libraries.
const engine = "dataplane/engine"

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
	Headers  []string            // that it has
	Rooms    map[string]string   // the folder in the library that a header is in, by its name
	Includes map[string][]string // headers, by file: its path in the library
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
		l := library{Name: string(name[1]), Rooms: map[string]string{}, Includes: map[string][]string{}}
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
	folder := filepath.Join(module, engine, l.Name)
	build, err := os.ReadFile(filepath.Join(folder, "meson.build"))
	if err != nil {
		return err
	}
	for _, d := range dependency.FindAllSubmatch(build, -1) {
		l.Uses = append(l.Uses, string(d[1]))
	}
	for _, pattern := range []string{"*.[ch]", "*/*.[ch]"} {
		if err := l.readFiles(folder, pattern); err != nil {
			return err
		}
	}
	for path, text := range planted {
		if in, ok := strings.CutPrefix(path, engine+"/"+l.Name+"/"); ok {
			l.add(in, text)
		}
	}
	if made, ok := generated[l.Name]; ok {
		l.Headers = append(l.Headers, made)
	}
	return nil
}

func (l *library) readFiles(folder, pattern string) error {
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		in, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		l.add(in, string(text))
	}
	return nil
}

func (l *library) add(file, text string) {
	if name := filepath.Base(file); strings.HasSuffix(file, ".h") {
		l.Headers = append(l.Headers, name)
		l.Rooms[name] = filepath.Dir(file)
	}
	for _, i := range include.FindAllStringSubmatch(text, -1) {
		l.Includes[file] = append(l.Includes[file], i[1])
	}
}

// includes are the libraries of whose headers each library includes one.
func includes(list []library) map[string]map[string]bool {
	owner := map[string]string{}
	for _, l := range list {
		for _, h := range l.Headers {
			owner[h] = l.Name
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

// beside gives a line for each folder in a library that includes a header of another folder there: each is a library of its own.
func (l *library) beside() (wrong []string) {
	for file, headers := range l.Includes {
		room := filepath.Dir(file)
		for _, h := range headers {
			if other, ok := l.Rooms[h]; ok && other != room && other != "." {
				wrong = append(wrong, fmt.Sprintf("%s/%s/%s includes headers of %s, which lies beside it", engine, l.Name, room, other))
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
	var wrong []string
	for i := range list {
		wrong = append(wrong, list[i].beside()...)
	}
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
