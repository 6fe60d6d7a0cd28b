package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// page is a Markdown file: its links, by line, and the anchors that links to it may name.
type page struct {
	links   []link
	anchors map[string]bool
}

type link struct {
	line         int
	path, anchor string // path relative to the repository; a folder, too
}

var (
	linkText  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	heading   = regexp.MustCompile(`^#{1,6} (.+)$`)
	namedHere = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
	otherSite = regexp.MustCompile(`^[a-z]+:`)
)

// readPage reads a file of the repository, but for what its code blocks hold.
func readPage(t *testing.T, file string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, file))
	if err != nil {
		t.Fatal(err)
	}
	p := page{anchors: map[string]bool{}}
	seen := map[string]int{}
	code := false
	for n, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			name := anchorOf(m[1])
			if seen[name]++; seen[name] > 1 {
				name = fmt.Sprintf("%s-%d", name, seen[name]-1)
			}
			p.anchors[name] = true
		}
		for _, m := range namedHere.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		for _, m := range linkText.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "code"), -1) {
			if otherSite.MatchString(m[1]) {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			if path == "" {
				path = filepath.Base(file)
			}
			p.links = append(p.links, link{line: n + 1, path: filepath.Join(filepath.Dir(file), path), anchor: anchor})
		}
	}
	return p
}

// anchorOf is the anchor that GitHub gives a heading.
func anchorOf(title string) string {
	title = linkText.ReplaceAllString(title, "]")
	var out strings.Builder
	for _, c := range strings.ToLower(title) {
		switch {
		case c == ' ':
			out.WriteRune('-')
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
			out.WriteRune(c)
		}
	}
	return out.String()
}

// pages are README.md and what lies below docs/.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all := map[string]page{"README.md": readPage(t, "README.md")}
	err := filepath.WalkDir(filepath.Join(repository, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
			path, err = filepath.Rel(repository, path)
			all[path] = readPage(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 25 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

func TestEveryLinkLeadsToAFileAndAHeading(t *testing.T) {
	all := pages(t)
	links, anchors := 0, 0
	for file, p := range all {
		for _, l := range p.links {
			links++
			if _, err := os.Stat(filepath.Join(repository, l.path)); err != nil {
				t.Errorf("%s:%d: there is no %s", file, l.line, l.path)
				continue
			}
			if l.anchor == "" || filepath.Ext(l.path) != ".md" {
				continue
			}
			anchors++
			target, known := all[l.path]
			if !known {
				target = readPage(t, l.path)
			}
			if !target.anchors[l.anchor] {
				t.Errorf("%s:%d: %s has no heading #%s", file, l.line, l.path, l.anchor)
			}
		}
	}
	if links < 300 || anchors < 150 {
		t.Errorf("%d links were found, %d of them to headings, want 300 and 150: are they still read?", links, anchors)
	}
}

func TestEveryPageIsReachedFromTheReadme(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{"README.md": true}
	for next := []string{"README.md"}; len(next) > 0; {
		from := next[0]
		next = next[1:]
		for _, l := range all[from].links {
			if _, known := all[l.path]; known && !reached[l.path] {
				reached[l.path] = true
				next = append(next, l.path)
			}
		}
	}
	index := map[string]bool{"README.md": true, "docs/README.md": true}
	for _, l := range all["docs/README.md"].links {
		index[l.path] = true
	}
	for file := range all {
		if !reached[file] {
			t.Errorf("no way of links leads from README.md to %s", file)
		}
		if !index[file] {
			t.Errorf("docs/README.md does not list %s", file)
		}
	}
}
