// Command words finds words in texts, comments and messages that readers would have to guess at, and says what to write instead. It
// reads the messages of commits, too.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// kinds are the files that people read, or that have texts for people.
var kinds = []string{
	"*.md", "*.go", "*.c", "*.h", "*.proto", "*.yaml", "*.tmpl", "*.tpl", "*.txt", "*.sh", "*.py", "*.svg", "Makefile", "*.Dockerfile",
}

// elsewhere are texts of others, and the list itself.
var elsewhere = []string{"hack/words/", "test/data/"}

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
	list, err := git(root, append([]string{"ls-files", "-co", "--exclude-standard", "-z", "--"}, kinds...)...)
	if err != nil {
		return err
	}
	found, err := search(os.DirFS(root), strings.Split(strings.TrimSuffix(list, "\x00"), "\x00"))
	if err != nil {
		return err
	}
	wrong, err := commits(root)
	if err != nil {
		return err
	}
	var errs []error
	for _, line := range append(found, wrong...) {
		errs = append(errs, errors.New(line))
	}
	return errors.Join(errs...)
}

func git(folder string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, &stderr)
	}
	return string(out), nil
}

// search gives a line for each place of a file that has a word of the list.
func search(root fs.FS, paths []string) (lines []string, err error) {
	for _, path := range paths {
		if slices.ContainsFunc(elsewhere, func(folder string) bool { return strings.HasPrefix(path, folder) }) {
			continue
		}
		text, err := fs.ReadFile(root, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, searchText(path, text)...)
		lines = append(lines, beginnings(path, text)...)
	}
	return lines, nil
}

// all has a group for each word. Between words may be a line break, and what begins a line of a comment.
var all = func() *regexp.Regexp {
	var phrases []string
	for _, w := range words {
		phrases = append(phrases, "("+strings.ReplaceAll(strings.ReplaceAll(w.phrase, "(", "(?:"), " ", `[\s/*#]+`)+")")
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(phrases, "|") + `)\b`)
}()

func searchText(path string, text []byte) (lines []string) {
	for _, m := range all.FindAllSubmatchIndex(text, -1) {
		line := 1 + bytes.Count(text[:m[0]], []byte("\n"))
		for i, w := range words {
			if m[2*i+2] >= 0 {
				lines = append(lines, fmt.Sprintf("%s:%d: %q: write %s", path, line, text[m[0]:m[1]], w.instead))
			}
		}
	}
	return lines
}
