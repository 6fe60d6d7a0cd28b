// Command imports checks that imports of Go go one way, from the rooms above to the rooms
// below, that the engine's libraries include headers of those that they use, and that the
// graphs of both in docs/architecture.md are as the code is. With -write it writes the graphs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

const page = "docs/architecture.md"

func main() {
	write := flag.Bool("write", false, "write the graphs into "+page)
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(write bool) error {
	module, err := moduleOf(".")
	if err != nil {
		return err
	}
	packages, err := list(module, "")
	if err != nil {
		return err
	}
	engine, err := libraries(module, nil)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range append(check(packages), checkEngine(engine)...) {
		errs = append(errs, errors.New(e))
	}
	path := filepath.Join(module, page)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	want := string(text)
	for _, g := range []struct{ name, graph string }{{"import graph", draw(packages)}, {"graph of the engine", drawEngine(engine)}} {
		if want, err = withGraph(want, g.name, g.graph); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	switch {
	case write:
		errs = append(errs, os.WriteFile(path, []byte(want), 0o644))
	case want != string(text):
		errs = append(errs, errors.New(page+": its graphs are not as the code is; run `go run ./hack/imports -write`"))
	}
	return errors.Join(errs...)
}
