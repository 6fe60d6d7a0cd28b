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

const (
	lists  = "if [[ $1 == list ]]; then echo example/a; exit; fi\n"
	passes = `echo '{"Action":"pass","Package":"example/a","Test":"TestA"}'; echo '{"Action":"pass","Package":"example/a"}'` + "\n"
	fails  = `echo '{"Action":"fail","Package":"example/a","Test":"TestA"}'; echo '{"Action":"fail","Package":"example/a"}'; exit 1` + "\n"
)

// skips is a test that says why it skips itself.
func skips(test, why string) string {
	return fmt.Sprintf(`echo '{"Action":"output","Package":"example/a","Test":%q,"Output":"    a_test.go:7: %s\n"}';`+
		`echo '{"Action":"skip","Package":"example/a","Test":%q}'`+"\n", test, why, test)
}

func TestAStageThatDidNotRunToItsEndHasFailed(t *testing.T) {
	for name, test := range map[string]struct {
		golang string // what runs as go
		gotest string // what reads its output; empty: hack/gotest.py
		stage  string // empty: unit
		want   string
	}{
		"all tests pass":                    {golang: lists + passes, want: "1 passed, 0 failed, 0 skipped"},
		"a test fails":                      {golang: lists + fails, want: "0 passed, 1 failed, 0 skipped"},
		"go test is killed":                 {golang: lists + passes + "kill -KILL $$\n", want: "1 passed, 1 failed, 0 skipped"},
		"go test fails without a word":      {golang: lists + "exit 1\n", want: "0 passed, 1 failed, 0 skipped"},
		"go list fails":                     {golang: "[[ $1 != list ]] || exit 1\n" + passes, want: "0 passed, 1 failed, 0 skipped"},
		"the reader of its output breaks":   {golang: lists + passes, gotest: "raise OSError", want: "0 passed, 1 failed, 0 skipped"},
		"the output has JSON of others":     {golang: lists + "echo 7; echo '{}'\n" + passes, want: "1 passed, 0 failed, 0 skipped"},
		"another stage's go test is killed": {golang: passes + "kill -KILL $$\n", stage: "suites", want: "1 passed, 1 failed, 0 skipped"},
		"a test is skipped":                 {golang: lists + passes + skips("TestB", "needs a cluster"), want: "1 passed, 0 failed, 1 skipped"},
		"a subtest is skipped":              {golang: lists + skips("TestA/one", "no") + passes, want: "1 passed, 0 failed, 1 skipped"},
		"another run has what was skipped":  {golang: lists + skips("TestA", "no") + passes, want: "1 passed, 0 failed, 0 skipped"},
		"everything is skipped":             {golang: lists + skips("TestA", "no"), want: "0 passed, 0 failed, 1 skipped"},
		"a stage's name is misspelt":        {stage: "unti", want: "0 passed, 1 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write := func(path, text string) {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, script := range []string{"hack/test.sh", "hack/gotest.py", "hack/tally.py"} {
				text, err := os.ReadFile(filepath.Join("..", "..", script))
				if err != nil {
					t.Fatal(err)
				}
				write(script, string(text))
			}
			write("bin/go", "#!/usr/bin/env bash\n"+test.golang)
			if test.gotest != "" {
				write("hack/gotest.py", "#!/usr/bin/env python3\n"+test.gotest+"\n")
			}
			stage := test.stage
			if stage == "" {
				stage = "unit"
			}
			out, err := exec.Command(filepath.Join(root, "hack", "test.sh"), stage).CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; last != test.want || (err == nil) != (strings.Contains(test.want, " 0 failed, ") && test.want[0] != '0') {
				t.Errorf("it ends with %v and says %q, wanted %q; all of it:\n%s", err, last, test.want, out)
			}
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
	out, err := exec.Command(filepath.Join("..", "..", "hack", "tally.py"), file).CombinedOutput()
	if want := "skipped: needs root\n  a.TestA\n  a.TestB\n2 passed, 0 failed, 2 skipped\n"; err != nil || string(out) != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, out, want)
	}
}
