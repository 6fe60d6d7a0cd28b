package stages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEachMutantFindsItsPlace runs no mutant: `make mutants` does.
func TestEachMutantFindsItsPlace(t *testing.T) {
	if out, err := exec.Command(filepath.Join("..", "..", "hack", "mutants", "run.py"), "--check").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAMutantThatNoTestFindsSurvives has a package of one function, whose test asks it for 1 alone.
func TestAMutantThatNoTestFindsSurvives(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		find, replace string // of the mutant
		returns       string // of the function
		want          string
		fails         bool
	}{
		"a test finds it":             {find: "return n", replace: "return 2", returns: "n", want: "killed by ., N s: a mutant\n1 killed, 0 survived\n"},
		"no test finds it":            {find: "return n", replace: "return n * n", returns: "n", want: "SURVIVED, N s: a mutant\n0 killed, 1 survived\n", fails: true},
		"it does not compile":         {find: "return n", replace: "return m", returns: "n", want: "a mutant: it does not build, see ", fails: true},
		"two places are like its own": {find: "int", replace: "uint", returns: "n", want: "a mutant: a.go has 2 places like 'int', want one\n", fails: true},
		"its test fails without it":   {find: "return n", replace: "return 2", returns: "n + 2", want: ". fails without any mutant, see ", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := os.ReadFile(filepath.Join("..", "..", "hack", "mutants", "run.py"))
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			for file, text := range map[string]string{
				"hack/mutants/run.py": string(run),
				"hack/mutants/list.toml": fmt.Sprintf("[[mutant]]\nname = \"a mutant\"\nfile = \"a.go\"\nfind = %q\nreplace = %q\npackages = [\".\"]\n",
					test.find, test.replace),
				"hack/envtest.sh": bash + "echo /nowhere\n",
				"bin/.keep":       "",
				"Makefile":        "build:\n\t@go build ./...\n",
				"go.mod":          "module example.org/a\n\ngo 1.26\n",
				"a.go":            "package a\n\nfunc a(n int) int { return " + test.returns + " }\n",
				"a_test.go":       "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif a(1) != 1 {\n\t\tt.Fail()\n\t}\n}\n",
			} {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("git init: %v\n%s", err, out)
			}
			out, err := exec.Command(filepath.Join(root, "hack", "mutants", "run.py")).CombinedOutput()
			said := regexp.MustCompile(`\d+ s:`).ReplaceAllString(string(out), "N s:")
			if (err != nil) != test.fails || !strings.HasPrefix(said, test.want) {
				t.Errorf("it ends with %v and says\n%s\nwant\n%s", err, said, test.want)
			}
		})
	}
}
