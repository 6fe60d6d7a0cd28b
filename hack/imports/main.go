// Command imports checks that imports go one way, from the rooms above to the rooms
// below, and that the import graph in docs/architecture.md is as the code is. With -write
// it writes the graph.
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
	write := flag.Bool("write", false, "write the import graph into "+page)
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
	var errs []error
	for _, e := range check(packages) {
		errs = append(errs, errors.New(e))
	}
	path := filepath.Join(module, page)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	want, err := withGraph(string(text), draw(packages))
	switch {
	case err != nil:
		errs = append(errs, err)
	case write:
		errs = append(errs, os.WriteFile(path, []byte(want), 0o644))
	case want != string(text):
		errs = append(errs, errors.New(page+": the import graph is not as the code is; run `go run ./hack/imports -write`"))
	}
	return errors.Join(errs...)
}
