// Package engine runs the engine's processes for the command line.
package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Find is the path of one of the engine's programs: in the given folder, or in SINTER_ENGINE_DIR,
// beside this program, in the source tree that this program was built in, or in PATH.
func Find(program, dir string) (string, error) {
	if dir == "" {
		dir = os.Getenv("SINTER_ENGINE_DIR")
	}
	if dir != "" {
		path := filepath.Join(dir, program)
		if !executable(path) {
			return "", fmt.Errorf("no program %s in %s", program, dir)
		}
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		here := filepath.Dir(self)
		for _, d := range []string{here, filepath.Join(here, "..", "dataplane", "engine", "build")} {
			if path := filepath.Join(d, program); executable(path) {
				return path, nil
			}
		}
	}
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("no program %s found: build it with `make engine`, or name its folder with --engine-dir", program)
	}
	return path, err
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
