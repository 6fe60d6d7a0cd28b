package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// pkg is a package of the module. All paths are those below the module, and of no other packages.
type pkg struct {
	Path        string
	Imports     []string
	TestImports []string // those of its tests, inside and outside
}

// moduleOf is the root folder of the module that has a folder.
func moduleOf(folder string) (string, error) {
	out, err := command(folder, "go", "list", "-m", "-f", "{{.Dir}}")
	return strings.TrimSpace(string(out)), err
}

func command(folder, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, &words)
	}
	return out, nil
}

// list reads the packages of a module, with files that an overlay has (go help build); empty: none.
func list(module, overlay string) ([]pkg, error) {
	out, err := command(module, "go", "list", "-overlay="+overlay, "-json=ImportPath,Module,Imports,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	var packages []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Module                             struct{ Path string }
			Imports, TestImports, XTestImports []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		own := func(paths ...string) (list []string) {
			for _, path := range paths {
				if rest, ok := strings.CutPrefix(path, p.Module.Path+"/"); ok {
					list = append(list, rest)
				}
			}
			slices.Sort(list)
			return slices.Compact(list)
		}
		packages = append(packages, pkg{
			Path:        strings.TrimPrefix(p.ImportPath, p.Module.Path+"/"),
			Imports:     own(p.Imports...),
			TestImports: own(append(p.TestImports, p.XTestImports...)...),
		})
	}
}
