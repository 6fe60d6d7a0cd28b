// Package stages tests hack/test.sh, by which everything else is tested: what did not run must not pass.
package stages

import (
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

func TestAStageThatDidNotRunToItsEndHasFailed(t *testing.T) {
	for name, test := range map[string]struct {
		golang string // what runs as go
		gotest string // what reads its output; empty: hack/gotest.py
		stage  string // empty: unit
		want   string
	}{
		"all tests pass":                    {golang: lists + passes, want: "1 passed, 0 failed"},
		"a test fails":                      {golang: lists + fails, want: "0 passed, 1 failed"},
		"go test is killed":                 {golang: lists + passes + "kill -KILL $$\n", want: "1 passed, 1 failed"},
		"go test fails without a word":      {golang: lists + "exit 1\n", want: "0 passed, 1 failed"},
		"go list fails":                     {golang: "[[ $1 != list ]] || exit 1\n" + passes, want: "0 passed, 1 failed"},
		"the reader of its output breaks":   {golang: lists + passes, gotest: "raise OSError", want: "0 passed, 1 failed"},
		"the output has JSON of others":     {golang: lists + "echo 7; echo '{}'\n" + passes, want: "1 passed, 0 failed"},
		"another stage's go test is killed": {golang: passes + "kill -KILL $$\n", stage: "suites", want: "1 passed, 1 failed"},
		"a stage's name is misspelt":        {stage: "unti", want: "0 passed, 1 failed"},
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
			for _, script := range []string{"hack/test.sh", "hack/gotest.py"} {
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
			if last := lines[len(lines)-1]; last != test.want || (err == nil) != strings.HasSuffix(test.want, " 0 failed") {
				t.Errorf("it ends with %v and says %q, wanted %q; all of it:\n%s", err, last, test.want, out)
			}
		})
	}
}
