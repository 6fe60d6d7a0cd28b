package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// privateFolders are where a copy of the replay device may lie, which DPDK loads.
var privateFolders = []string{"/run", "/var/lib", "/root"}

// loadable is a plugin that DPDK loads: itself, or a copy of it, which remove takes away. DPDK refuses plugins below folders that everybody may write, the
// system's temporary one among them.
func loadable(plugin string) (path string, remove func(), err error) {
	open, err := writableByAll(plugin)
	if err != nil {
		return "", nil, fmt.Errorf("no replay device: %w (hack/bench.sh builds it)", err)
	}
	if open == "" {
		return plugin, func() {}, nil
	}
	for _, parent := range privateFolders {
		if open, err := writableByAll(parent); err != nil || open != "" {
			continue
		}
		dir, e := os.MkdirTemp(parent, "sinter-bench-")
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		remove = func() { _ = os.RemoveAll(dir) }
		path = filepath.Join(dir, filepath.Base(plugin))
		if err := copyFile(plugin, path); err != nil {
			remove()
			return "", nil, err
		}
		return path, remove, nil
	}
	return "", nil, errors.Join(fmt.Errorf("DPDK loads no plugin below %s, which everybody may write, and the replay device could not be copied to one of %v", open, privateFolders), err)
}

// writableByAll is the folder that everybody may write among those that a path leads through; empty: there is none.
func writableByAll(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if info.IsDir() && info.Mode().Perm()&0o002 != 0 {
			return path, nil
		}
		up := filepath.Dir(path)
		if up == path {
			return "", nil
		}
		path = up
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
