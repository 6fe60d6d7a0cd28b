// Package repository finds the repository's files for tests, in whichever folder they run.
package repository

import (
	"fmt"
	"os"
	"path/filepath"
)

// Path is the path of a file or folder, whose names it takes from the module's folder on. There need be no such file.
func Path(names ...string) (string, error) {
	from, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, names...)...), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above %s has a go.mod", from)
		}
	}
}
