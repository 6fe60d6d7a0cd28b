package stages

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// chance is the Go code of a module whose tests fail as often as they are told, each in its own way.
const chance = `package chance

import (
	"fmt"
	"os"
	"testing"
)

// run counts the runs of a test, from 1.
func run(t *testing.T) int {
	name := os.Getenv("RUNS") + "/" + fmt.Sprintf("%x", t.Name())
	text, _ := os.ReadFile(name)
	if err := os.WriteFile(name, append(text, '.'), 0o600); err != nil {
		t.Fatal(err)
	}
	return len(text) + 1
}

func failsFirst(t *testing.T, why string) {
	if run(t) == 1 {
		t.Error(why)
	}
}
`

// golang is a checkout whose unit tests are those of a package.
func golang(t *testing.T, tests string) (root string) {
	return checkout(t, map[string]string{
		"go.mod":         "module example.org/chance\n\ngo 1.26\n",
		"chance_test.go": chance + tests,
	})
}

// goCase is a package of unit tests, and what the summary says of it.
type goCase struct {
	tests string
	want  string
	says  []string
	never string
}

func runGoCases(t *testing.T, cases map[string]goCase) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, expect(t, golang(t, test.tests), test.want, "unit"), test.says, test.never)
		})
	}
}

func TestATestThatPassesAloneIsFlaky(t *testing.T) {
	t.Parallel()
	runGoCases(t, map[string]goCase{
		"once": {
			tests: `func TestA(t *testing.T) { failsFirst(t, "three packets were lost") }; func TestB(t *testing.T) {}`,
			want:  "2 passed, 0 failed, 0 skipped",
			says:  []string{"\nflaky: example.org/chance.TestA failed, then passed alone. What it printed first:\n", ": three packets were lost\n    --- FAIL: TestA", "\nflaky: 1\n"},
		},
		"no test": {
			tests: `func TestA(t *testing.T) {}`,
			want:  "1 passed, 0 failed, 0 skipped", says: []string{"\nflaky: 0\n"},
		},
		"it fails each time": {
			tests: `func TestA(t *testing.T) { t.Errorf("run %d", run(t)) }`,
			want:  "0 passed, 1 failed, 0 skipped", says: []string{"run 1", "run 2", "\nflaky: 0\n"}, never: "run 3",
		},
		"two": {
			tests: `func TestA(t *testing.T) { failsFirst(t, "a") }; func TestB(t *testing.T) { failsFirst(t, "b") }`,
			want:  "2 passed, 0 failed, 0 skipped", says: []string{"\nflaky: 2\n"},
		},
		"three are too many": {
			tests: `func TestA(t *testing.T) { for _, n := range "abc" { t.Run(string(n), func(t *testing.T) { failsFirst(t, "no") }) } }; func TestD(t *testing.T) {}`,
			want:  "1 passed, 3 failed, 0 skipped", says: []string{"flaky: 3, more than 2: they count as failed"},
		},
		"more than chance fails": {
			tests: `func TestA(t *testing.T) { for _, n := range "abcdefg" { t.Run(string(n), func(t *testing.T) { t.Errorf("run %d", run(t)) }) } }`,
			want:  "0 passed, 7 failed, 0 skipped", says: []string{"7 tests failed, more than 6: none is run again"}, never: "run 2",
		},
		"a subtest, run without its sisters": {
			tests: `func TestA(t *testing.T) {
	t.Run("a (b)/c", func(t *testing.T) { failsFirst(t, "no") })
	t.Run("a", func(t *testing.T) { if run(t) > 1 { t.Error("run again") } })
}`,
			want: "2 passed, 0 failed, 0 skipped", says: []string{"flaky: example.org/chance.TestA/a_(b)/c failed"}, never: "run again",
		},
		"a test that says something itself, with its subtests": {
			tests: `func TestA(t *testing.T) {
	t.Run("a", func(t *testing.T) { failsFirst(t, "no") })
	t.Run("b", func(t *testing.T) { run(t) })
	failsFirst(t, "neither")
}`,
			want: "2 passed, 0 failed, 0 skipped", says: []string{"flaky: example.org/chance.TestA failed", "neither"},
		},
	})
}

func TestWhatIsNotChanceIsNeverFlaky(t *testing.T) {
	t.Parallel()
	runGoCases(t, map[string]goCase{
		"a data race": {
			tests: `func TestA(t *testing.T) { failsFirst(t, "WARNING: DATA RACE") }; func TestB(t *testing.T) {}`,
			want:  "1 passed, 1 failed, 0 skipped", never: "again, alone",
		},
		"a program's fault under a sanitizer": {
			tests: `func TestA(t *testing.T) { failsFirst(t, "==7==ERROR: AddressSanitizer: heap-use-after-free") }; func TestB(t *testing.T) {}`,
			want:  "1 passed, 1 failed, 0 skipped", never: "again, alone",
		},
		"a fault that shows at the second run": {
			tests: `func TestA(t *testing.T) { failsFirst(t, "no"); t.Log("sn_a.c:7:3: runtime error: shift exponent 32 is too large") }; func TestB(t *testing.T) {}`,
			want:  "1 passed, 1 failed, 0 skipped", says: []string{"shift exponent"},
		},
		"a panic": {
			tests: `func TestA(t *testing.T) { if run(t) == 1 { panic("no") } }; func TestB(t *testing.T) {}`,
			want:  "0 passed, 1 failed, 0 skipped", says: []string{"panic: no"}, never: "again, alone",
		},
		"what ends the whole package": {
			tests: `func TestA(t *testing.T) {}; func TestB(t *testing.T) { if run(t) == 1 { os.Exit(1) } }; func TestC(t *testing.T) {}`,
			want:  "1 passed, 1 failed, 0 skipped", never: "again, alone",
		},
		"a package that fails without a test": {
			tests: `func TestA(t *testing.T) {}; func TestMain(m *testing.M) { m.Run(); os.Exit(1) }`,
			want:  "1 passed, 1 failed, 0 skipped", never: "again, alone",
		},
		"a package that does not compile": {
			tests: `func TestA(t *testing.T) { no }`,
			want:  "0 passed, 1 failed, 0 skipped", says: []string{"undefined: no"}, never: "again, alone",
		},
	})
}

// compare looks for texts in what was printed, and for one that must not be there.
func compare(t *testing.T, out string, says []string, never string) {
	t.Helper()
	for _, want := range says {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if never != "" && strings.Contains(out, never) {
		t.Errorf("it says %q:\n%s", never, out)
	}
}

// TestASuiteOfTheEngineIsRunAgain has a project whose suites are lines of shell, with $1 the number of the run.
func TestASuiteOfTheEngineIsRunAgain(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("meson"); err != nil {
		t.Skip("no meson")
	}
	const failsFirst = "echo slow; exit $(($1 == 1))"
	for name, test := range map[string]struct {
		suites map[string]string
		want   string
		says   []string
		never  string
	}{
		"none fails": {
			suites: map[string]string{"a": "true", "b": `echo "[  SKIPPED ] no_root"`},
			want:   "2 passed, 0 failed, 1 skipped", says: []string{"\n  dataplane/engine/build no_root\nflaky: 0\n"},
		},
		"one passes alone": {
			suites: map[string]string{"a": failsFirst, "b": "true"},
			want:   "2 passed, 0 failed, 0 skipped", says: []string{"flaky: dataplane/engine/build a failed, then passed alone", "\n    slow\nflaky: 1\n"},
		},
		"one fails each time": {suites: map[string]string{"a": "echo run $1; false", "b": "true"}, want: "1 passed, 1 failed, 0 skipped", says: []string{"run 2"}, never: "run 3"},
		"one has no end in time": {
			suites: map[string]string{"a": "[ $1 -gt 1 ] || exec sleep 60"},
			want:   "1 passed, 0 failed, 0 skipped", says: []string{"flaky: 1"},
		},
		"a sanitizer speaks":   {suites: map[string]string{"a": "echo 'WARNING: ThreadSanitizer: data race' >&2; exit $(($1 == 1))"}, want: "0 passed, 1 failed, 0 skipped", never: "again, alone"},
		"one is killed":        {suites: map[string]string{"a": "[ $1 -gt 1 ] || kill -SEGV $$"}, want: "0 passed, 1 failed, 0 skipped", never: "again, alone"},
		"cmocka sees a signal": {suites: map[string]string{"a": "echo 'Test failed with exception: Segmentation fault(11)'; exit $(($1 == 1))"}, want: "0 passed, 1 failed, 0 skipped", never: "again, alone"},
		"there is none":        {want: "0 passed, 1 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			project := "project('suites')\n"
			programs := map[string]string{"Makefile": "engine:\n\tmeson setup dataplane/engine/build dataplane/engine\n"}
			for suite, line := range test.suites {
				project += fmt.Sprintf("test('%s', find_program('%s.sh'), timeout: 1)\n", suite, suite)
				programs["dataplane/engine/"+suite+".sh"] = "#!/bin/sh\necho . >>$RUNS/" + suite + "\nset -- $(wc -l <$RUNS/" + suite + ")\n" + line + "\n"
			}
			programs["dataplane/engine/meson.build"] = project
			compare(t, expect(t, checkout(t, programs), test.want, "engine"), test.says, test.never)
		})
	}
}

func TestTheDemoIsRunAgain(t *testing.T) {
	t.Parallel()
	// demo has a check that fails in the runs that match a pattern.
	demo := func(pattern, end string) string {
		return bash + "echo . >>$RUNS/demo; n=$(wc -l <$RUNS/demo)\n" +
			"echo; echo '── Summary'; echo '  ok    a ping crosses  (3 of 3)'\n" +
			"case $n in " + pattern + ") echo '  FAIL  the web answers  (curl: 7)'; exit 2 ;; *) echo '  ok    the web answers'; " + end + " ;; esac\n"
	}
	for name, test := range map[string]struct{ pattern, end, want, says string }{
		"all checks pass":       {"none", "true", "2 passed, 0 failed, 0 skipped", "flaky: 0"},
		"a check fails once":    {"1", "true", "2 passed, 0 failed, 0 skipped", "flaky: demo: the web answers failed, then passed alone"},
		"a check fails twice":   {"1|2", "true", "1 passed, 1 failed, 0 skipped", "flaky: 0"},
		"it ends badly at last": {"none", "exit 1", "2 passed, 1 failed, 0 skipped", "FAIL  make demo"},
	} {
		t.Run(name, func(t *testing.T) {
			root := checkout(t, map[string]string{filepath.Join("bin", "make"): demo(test.pattern, test.end)})
			compare(t, expect(t, root, test.want, "demo"), []string{test.says}, "")
		})
	}
}
