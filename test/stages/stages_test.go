// Package stages tests hack/test.sh, by which everything else is tested: what did not run must not pass.
package stages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is a folder with hack/test.sh, what it calls, further programs by their paths, and a folder in which programs count their runs.
func checkout(t *testing.T, programs map[string]string) (root string) {
	root = t.TempDir()
	own := filepath.Join("..", "..", "hack")
	text, err := os.ReadFile(filepath.Join(own, "test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	// A script that cannot be run here must fail there: modes are copied, too.
	if err := os.CopyFS(filepath.Join(root, "hack", "tests"), os.DirFS(filepath.Join(own, "tests"))); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(runs(root), 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join("hack", "test.sh"), string(text))
	for path, text := range programs {
		write(path, text)
	}
	return root
}

// runs is where programs of a checkout count their runs.
func runs(root string) string { return filepath.Join(root, "runs") }

// run runs stages in a checkout; programs find the folder of their runs in $RUNS.
func run(root string, stages ...string) (out, last string, err error) {
	c := exec.Command(filepath.Join(root, "hack", "test.sh"), stages...)
	c.Env = append(os.Environ(), "RUNS="+runs(root))
	text, err := c.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return string(text), lines[len(lines)-1], err
}

// passes tells whether a run should, by its last line.
func passes(last string) bool {
	return strings.Contains(last, " 0 failed, ") && !strings.HasPrefix(last, "0 passed")
}

// expect runs stages in a checkout and compares the last line of what they print, and whether they passed.
func expect(t *testing.T, root, want string, stages ...string) (out string) {
	t.Helper()
	out, last, err := run(root, stages...)
	if last != want || (err == nil) != passes(want) {
		t.Errorf("it ends with %v and says %q, wanted %q; all of it:\n%s", err, last, want, out)
	}
	return out
}

// Programs that stand for go.
const (
	bash  = "#!/usr/bin/env bash\n"
	lists = "if [[ $1 == list ]]; then echo example/a; exit; fi\n"
	pass  = `echo '{"Action":"pass","Package":"example/a","Test":"TestA"}'; echo '{"Action":"pass","Package":"example/a"}'` + "\n"
	fails = `echo '{"Action":"fail","Package":"example/a","Test":"TestA"}'; echo '{"Action":"fail","Package":"example/a"}'; exit 1` + "\n"
)

// skips is a test that says why it skips itself.
func skips(test, why string) string {
	return fmt.Sprintf(`echo '{"Action":"output","Package":"example/a","Test":%q,"Output":"    a_test.go:7: %s\n"}';`+
		`echo '{"Action":"skip","Package":"example/a","Test":%q}'`+"\n", test, why, test)
}

func TestAStageThatDidNotRunToItsEndHasFailed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		golang string // what runs as go
		gotest string // what runs it; empty: hack/tests/gotest.py
		stage  string // empty: unit
		want   string
	}{
		"all tests pass":                    {golang: lists + pass, want: "1 passed, 0 failed, 0 skipped"},
		"a test fails":                      {golang: lists + fails, want: "0 passed, 1 failed, 0 skipped"},
		"go test is killed":                 {golang: lists + pass + "kill -KILL $$\n", want: "1 passed, 1 failed, 0 skipped"},
		"go test fails without a word":      {golang: lists + "exit 1\n", want: "0 passed, 1 failed, 0 skipped"},
		"go list fails":                     {golang: "[[ $1 != list ]] || exit 1\n" + pass, want: "0 passed, 1 failed, 0 skipped"},
		"the reader of its output breaks":   {golang: lists + pass, gotest: "raise OSError", want: "0 passed, 1 failed, 0 skipped"},
		"the output has JSON of others":     {golang: lists + "echo 7; echo '{}'\n" + pass, want: "1 passed, 0 failed, 0 skipped"},
		"another stage's go test is killed": {golang: lists + pass + "kill -KILL $$\n", stage: "suites", want: "1 passed, 1 failed, 0 skipped"},
		"a test is skipped":                 {golang: lists + pass + skips("TestB", "needs a cluster"), want: "1 passed, 0 failed, 1 skipped"},
		"a subtest is skipped":              {golang: lists + skips("TestA/one", "no") + pass, want: "1 passed, 0 failed, 1 skipped"},
		"another run has what was skipped":  {golang: lists + skips("TestA", "no") + pass, want: "1 passed, 0 failed, 0 skipped"},
		"everything is skipped":             {golang: lists + skips("TestA", "no"), want: "0 passed, 0 failed, 1 skipped"},
		"a stage's name is misspelt":        {stage: "unti", want: "0 passed, 1 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			programs := map[string]string{"bin/go": bash + test.golang}
			if test.gotest != "" {
				programs["hack/tests/gotest.py"] = "#!/usr/bin/env python3\n" + test.gotest + "\n"
			}
			stage := test.stage
			if stage == "" {
				stage = "unit"
			}
			expect(t, checkout(t, programs), test.want, stage)
		})
	}
}

// TestWhatIsSkippedIsListedWithItsReason names the tests below each reason, before the sum.
func TestWhatIsSkippedIsListedWithItsReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tally")
	lines := "skip\ta.TestA\tneeds root\nskip\ta.TestB\tneeds root\npass\ta.TestC\t\nskip\ta.TestD\tneeds a cluster\npass\ta.TestD\t\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join("..", "..", "hack", "tests", "tally.py"), file).CombinedOutput()
	if want := "skipped: needs root\n  a.TestA\n  a.TestB\nflaky: 0\n2 passed, 0 failed, 2 skipped\n"; err != nil || string(out) != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, out, want)
	}
}
