package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	rowsWithTests = regexp.MustCompile(`(?m)^\| .* \|$`)
	testName      = regexp.MustCompile("`(Test\\w+|[a-z]+(?:_[a-z]+){3,})`")
	testFunction  = regexp.MustCompile(`(?m)^(?:func (Test\w+)\(|static void (\w+)\(void \*\*state\))`)
)

// TestTheTableOfNATRequirementsNamesTestsThatExist looks up each test that docs/nat.md names, of Go and of the engine.
func TestTheTableOfNATRequirementsNamesTestsThatExist(t *testing.T) {
	known := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), "build") || d.Name() == ".deps" || d.Name() == ".git") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(d.Name(), "test_") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			known[string(m[1])+string(m[2])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/nat.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, row := range rowsWithTests.FindAllString(string(page), -1) {
		for _, m := range testName.FindAllStringSubmatch(row, -1) {
			named++
			if !known[m[1]] {
				t.Errorf("there is no test %s, which this row names:\n%s", m[1], row)
			}
		}
	}
	if named < 40 {
		t.Errorf("%d tests are named, want 40 and more: is the table still read?", named)
	}
}
