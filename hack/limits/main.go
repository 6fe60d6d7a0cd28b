// Command limits checks how long functions and files are, as far as Go and C are written by hand.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// Limits of what a reader has to take in at once.
const (
	functionLines = 60
	fileLines     = 600
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks the repository that has a folder.
func run(folder string) error {
	root, err := git(folder, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	root = strings.TrimSpace(root)
	list, err := git(root, "ls-files", "-co", "--exclude-standard", "-z", "--", "*.go", "*.c", "*.h")
	if err != nil {
		return err
	}
	found, err := measure(os.DirFS(root), strings.Split(strings.TrimSuffix(list, "\x00"), "\x00"))
	if err != nil {
		return err
	}
	var errs []error
	for _, line := range judge(found, exceptions) {
		errs = append(errs, errors.New(line))
	}
	return errors.Join(errs...)
}

func git(folder string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, &words)
	}
	return string(out), nil
}

// measure finds what is beyond a limit in files.
func measure(root fs.FS, paths []string) ([]violation, error) {
	var found []violation
	for _, path := range paths {
		text, err := fs.ReadFile(root, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		violations, err := measureFile(path, text)
		if err != nil {
			return nil, err
		}
		found = append(found, violations...)
	}
	return found, nil
}
