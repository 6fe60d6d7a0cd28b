package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	quotedName = regexp.MustCompile("`([^`]+)`")
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Z]\w*)?$`)
)

// sourceNamed is the path of a file or folder that an answer names: from the repository, from the engine's folder, or beside what the
// answer named before. Empty: there is none.
func sourceNamed(name string, before []string) string {
	places := []string{"../..", "../../dataplane/engine"}
	for _, b := range before {
		places = append(places, filepath.Dir(b))
	}
	for _, place := range places {
		if path := filepath.Join(place, name); isThere(path) {
			return path
		}
	}
	return ""
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// declares reports whether a file, or one in a folder, declares a name: a function, a method as Type.Method, or a type.
func declares(t *testing.T, path, name string) bool {
	t.Helper()
	pattern := `(?m)^(?:func (?:\([^)]*\) )?|type |\w[\w *]*\b)` + name + `[ ([{]`
	if owner, method, ok := strings.Cut(name, "."); ok {
		pattern = `(?m)^func \(\w+ \*?` + owner + `\) ` + method + `\(`
	}
	declaration := regexp.MustCompile(pattern)
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		files, _ = filepath.Glob(filepath.Join(path, "*.[gch]*"))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declaration.Match(text) {
			return true
		}
	}
	return false
}

// wrongNames are the files, folders and declarations that an answer names and that do not exist.
func wrongNames(t *testing.T, answer string) (wrong []string) {
	t.Helper()
	var named []string
	for _, span := range quotedName.FindAllStringSubmatch(answer, -1) {
		name := span[1]
		if identifier.MatchString(name) && !strings.HasSuffix(name, ".go") {
			continue
		}
		path := sourceNamed(name, named)
		if path == "" {
			wrong = append(wrong, name)
			continue
		}
		named = append(named, path)
	}
	places := append(named, "../../api/v1alpha1")
	for _, span := range quotedName.FindAllStringSubmatch(answer, -1) {
		name := span[1]
		if !identifier.MatchString(name) || strings.HasSuffix(name, ".go") {
			continue
		}
		found := false
		for _, path := range places {
			found = found || declares(t, path, name)
		}
		if !found {
			wrong = append(wrong, name)
		}
	}
	return wrong
}

func TestAnswersOfTheArchitectureNameFilesAndFunctionsThatExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| question | answer |\n| --- | --- |\n")
	table, _, ended := strings.Cut(table, "\n\n")
	if !found || !ended {
		t.Fatal("docs/architecture.md has no table of questions and answers")
	}
	rows := strings.Split(table, "\n")
	if len(rows) < 6 {
		t.Errorf("%d questions are answered, want 6 and more: is the table still read?", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		for _, name := range wrongNames(t, cells[len(cells)-1]) {
			t.Errorf("%s: the answer names `%s`, which does not exist", cells[0], name)
		}
	}
}

func TestAnAnswerThatNamesWhatDoesNotExistIsFound(t *testing.T) {
	for _, answer := range []string{
		"`worker/sn_gone.c` does it",
		"`fast/sn_view.h` has `lower_ttl`",
		"`Balancer.Gone` in `dataplane/balance`",
		"a `ChainGone` is written",
	} {
		if len(wrongNames(t, answer)) != 1 {
			t.Errorf("nothing wrong was found in: %s", answer)
		}
	}
}
