package stages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestWhatTakesTwiceItsBudgetHasFailed has a list of limits, as hack/tests/budget.toml is one.
func TestWhatTakesTwiceItsBudgetHasFailed(t *testing.T) {
	t.Parallel()
	const limits = `
package_seconds = 60
test_seconds = 20
stage_mebibytes = 4096
package."test/large" = {seconds = 90, reason = "a million packets"}
test."large.TestAll/one" = {seconds = 30, reason = "no other has ten thousand routes"}
`
	const all = "package\texample.org/test/large\t\t89.5\n" +
		"package\texample.org/small\t\t59\n" +
		"pass\texample.org/test/large.TestAll\t\t19\n" +
		"pass\texample.org/test/large.TestAll/one\t\t29\n"
	for name, test := range map[string]struct {
		tally string
		says  []string
		want  string
	}{
		"all within":                {tally: all, want: "2 passed, 0 failed, 0 skipped"},
		"a package":                 {tally: all + "package\texample.org/slow\t\t121\n", says: []string{"FAIL  package example.org/slow took 121 s, may take 60: "}, want: "2 passed, 1 failed, 0 skipped"},
		"a listed package":          {tally: "package\texample.org/test/large\t\t181\npass\ta\t\t\n", says: []string{"took 181 s, may take 90: "}, want: "1 passed, 1 failed, 0 skipped"},
		"another of its ending":     {tally: "package\texample.org/latest/large\t\t121\npass\ta\t\t\n", says: []string{"took 121 s, may take 60: "}, want: "1 passed, 1 failed, 0 skipped"},
		"a test":                    {tally: all + "pass\texample.org/small.TestSlow\t\t40.6\n", says: []string{"FAIL  test example.org/small.TestSlow took 41 s, may take 20: "}, want: "3 passed, 1 failed, 0 skipped"},
		"a little slow":             {tally: all + "pass\texample.org/small.TestSlow\t\t40\n", says: []string{"\nslow: test example.org/small.TestSlow took 40 s, may take 20: "}, want: "3 passed, 0 failed, 0 skipped"},
		"a package a little slow":   {tally: all + "package\texample.org/slow\t\t120\n", says: []string{"\nslow: package example.org/slow took 120 s, may take 60: "}, want: "2 passed, 0 failed, 0 skipped"},
		"a slow machine":            {tally: all + "pass\texample.org/small.TestSlow\t\t29\npace\t1.00\npace\t1.50\n", want: "3 passed, 0 failed, 0 skipped"},
		"slow beside others":        {tally: all + "pass\texample.org/small.TestSlow\t\t29\nalone\texample.org/small.TestSlow\t\t7\n", want: "3 passed, 0 failed, 0 skipped"},
		"slow alone, too":           {tally: all + "pass\texample.org/small.TestSlow\t\t69\nalone\texample.org/small.TestSlow\t\t41\n", says: []string{"took 41 s, may take 20: "}, want: "3 passed, 1 failed, 0 skipped"},
		"a package slow beside all": {tally: all + "package\texample.org/slow\t\t61\nalone\texample.org/slow\t\t59\n", want: "2 passed, 0 failed, 0 skipped"},
		"memory within":             {tally: all + "memory\tlint\t3000\nmemory\tunit\t4096\nmemory\tall\t7000\n", says: []string{"MiB of memory that stages used at most: all 7000, unit 4096, lint 3000\n"}, want: "2 passed, 0 failed, 0 skipped"},
		"too much memory":           {tally: all + "memory\tlint\t4097\n", says: []string{"FAIL  stage lint used 4097 MiB of memory, may use 4096: "}, want: "2 passed, 1 failed, 0 skipped"},
		"slow even for it":          {tally: all + "pass\texample.org/small.TestSlow\t\t61\npace\t1.50\n", says: []string{"took 61 s, may take 30: "}, want: "3 passed, 1 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"budget.toml": limits, "tally": test.tally} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text, err := exec.Command(filepath.Join("..", "..", "hack", "tests", "tally.py"), "--budget", filepath.Join(dir, "budget.toml"), filepath.Join(dir, "tally")).CombinedOutput()
			out := string(text)
			if last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]; last != test.want+"\n" || (err == nil) != passes(test.want) {
				t.Errorf("it ends with %v and says\n%s\nwant %q", err, out, test.want)
			}
			compare(t, out, test.says, "")
		})
	}
}

// TestEachEntryOfTheBudgetHasAReason reads the list itself.
func TestEachEntryOfTheBudgetHasAReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "hack", "tests", "budget.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(text), "\n[") {
		if strings.HasPrefix(entry, "#") {
			continue // what holds for all
		}
		if !strings.Contains(entry, "\nseconds = ") || !strings.Contains(entry, "\nreason = \"") {
			t.Errorf("this entry lacks its seconds or its reason:\n[%s", entry)
		}
	}
}

// TestTheSlowestTestsAreNamed has eleven, of which ten are.
func TestTheSlowestTestsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tally")
	lines := "stage\tunit\t\t70\nstage\tsuites\t\t7\n"
	for _, name := range strings.Split("abcdefghijk", "") {
		lines += "pass\t" + name + "\t\t1" + string('9'-name[0]%10) + ".5\n"
	}
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(filepath.Join("..", "..", "hack", "tests", "tally.py"), file).CombinedOutput()
	want := "seconds of stages: unit 70, suites 7\nslowest tests:\n"
	if err != nil || !strings.HasPrefix(string(text), want) || strings.Count(string(text), ".5 s  ") != 10 {
		t.Errorf("it ends with %v and says\n%s\nwant it to begin with\n%s and ten tests", err, text, want)
	}
}

// everything is a checkout in which every stage passes, and which is committed.
func everything(t *testing.T) (root string) {
	stub := bash + "exit 0\n"
	root = checkout(t, map[string]string{
		".gitignore":               "/bin/\n/ran\n/dataplane/engine/build*/\n",
		"bin/go":                   bash + "echo go $* >>ran\n" + lists + pass,
		"bin/make":                 bash + "[[ $* != *demo* ]] || { echo '── Summary'; echo '  ok    a ping crosses'; }\n",
		"bin/meson":                bash + "mkdir -p $3/meson-logs; echo '{\"name\": \"a\", \"result\": \"OK\", \"duration\": 1}' >$3/meson-logs/testlog.json\n",
		"bin/golangci-lint":        stub,
		"bin/gofumpt":              stub,
		"bin/clang-format":         stub,
		"hack/envtest.sh":          bash + "echo /nowhere\n",
		"controllers/a/a_test.go":  "package a // KUBEBUILDER_ASSETS\n",
		"dataplane/engine/.ignore": "",
	})
	for _, args := range []string{"init -q", "add -A", "-c user.name=a -c user.email=a@example.org commit -q -m all"} {
		if out, err := exec.Command("git", append([]string{"-C", root}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	return root
}

// TestATreeThatPassedIsNoted runs all stages.
func TestATreeThatPassedIsNoted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edit func(t *testing.T, root string)
		want string
		note bool
	}{
		"all committed": {want: "", note: true},
		"a file is not committed": {edit: func(t *testing.T, root string) {
			if err := os.WriteFile(filepath.Join(root, "a.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"a stage fails": {want: "failed", edit: func(t *testing.T, root string) {
			if err := os.WriteFile(filepath.Join(root, "bin", "golangci-lint"), []byte(bash+"exit 1\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := everything(t)
			if test.edit != nil {
				test.edit(t, root)
			}
			out, _, err := run(root)
			if (err != nil) != (test.want == "failed") {
				t.Errorf("it ends with %v:\n%s", err, out)
			}
			tree, err := exec.Command("git", "-C", root, "rev-parse", "HEAD^{tree}").Output()
			if err != nil {
				t.Fatal(err)
			}
			noted, _ := os.ReadFile(filepath.Join(root, "bin", ".green"))
			if want := map[bool]string{true: string(tree)}[test.note]; string(noted) != want {
				t.Errorf("bin/.green says %q, want %q; the run:\n%s", noted, want, out)
			}
			for _, stage := range strings.Fields("build format generate lint unit suites envtest engine engine-asan demo netns") {
				if strings.Count(out, "=== "+stage+"\n") != 1 {
					t.Errorf("stage %s did not run once:\n%s", stage, out)
				}
			}
			ran, _ := os.ReadFile(filepath.Join(root, "ran"))
			if n := strings.Count(string(ran), " ./controllers/a\n"); n != 1 {
				t.Errorf("tests that want an API server ran %d times:\n%s", n, ran)
			}
		})
	}
}

// TestTheStageOldestHasTheOldestAPIServer runs what wants an API server, and nothing else.
func TestTheStageOldestHasTheOldestAPIServer(t *testing.T) {
	root := everything(t)
	for file, text := range map[string]string{
		"bin/go":          bash + "echo $KUBEBUILDER_ASSETS $* >>ran\n" + lists + pass,
		"hack/envtest.sh": bash + "echo /assets$*\n",
	} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, root, "1 passed, 0 failed, 0 skipped", "oldest")
	ran, _ := os.ReadFile(filepath.Join(root, "ran"))
	if text := string(ran); !strings.HasPrefix(text, "/assets--oldest test ") || !strings.HasSuffix(text, " ./controllers/a\n") || strings.Count(text, "\n") != 1 {
		t.Errorf("ran, each with its API server:\n%s\nwant the tests of ./controllers/a with that of --oldest", ran)
	}
}

// TestWhatIsSlowRunsOnceMoreAlone has a test and a suite that take longer than any may, beside others.
func TestWhatIsSlowRunsOnceMoreAlone(t *testing.T) {
	const golang = bash + lists + "s=45\n[[ $* != *'-short -timeout 40m -run ^TestA$ example/a' ]] || { echo again; s=%d; }\n" +
		`echo '{"Action":"pass","Package":"example/a","Test":"TestA","Elapsed":'$s'}'; echo '{"Action":"pass","Package":"example/a","Elapsed":'$s'}'` + "\n"
	const meson = bash + "s=25\n[[ $* != *build*' suite' ]] || s=3\n" +
		`mkdir -p $3/meson-logs; echo '{"name": "suite", "result": "OK", "duration": '$s'}' >$3/meson-logs/testlog.json` + "\n"
	for name, test := range map[string]struct {
		seconds int // of TestA alone
		want    string
	}{
		"fast alone":          {seconds: 3},
		"a little slow alone": {seconds: 24},
		"slow alone":          {seconds: 44, want: "FAIL  test example/a.TestA took 44 s, may take 20: make it faster, or list it in hack/tests/budget.toml with a reason\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := everything(t)
			for file, text := range map[string]string{
				"bin/go":             fmt.Sprintf(golang, test.seconds),
				"bin/meson":          meson,
				"hack/tests/pace.py": "#!/usr/bin/env python3\ndef pace(): return 1\nprint(1)\n",
			} {
				if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			out, last, err := run(root)
			if (err == nil) != (test.want == "") || passes(last) != (test.want == "") || !strings.Contains(out, test.want) || strings.Count(out, "FAIL") > 1 {
				t.Errorf("it ends with %v, want %q:\n%s", err, test.want, out)
			}
			for _, slow := range []string{"example/a.TestA", "dataplane/engine/build suite", "dataplane/engine/build-asan suite"} {
				if n := strings.Count(out, "beyond its budget, again, alone: "+slow+"\n"); n != 1 {
					t.Errorf("%s ran again %d times:\n%s", slow, n, out)
				}
			}
		})
	}
}

// TestTheSummarySaysHowMuchMemoryAStageUsed has a stage whose test holds 300 MiB for two seconds.
func TestTheSummarySaysHowMuchMemoryAStageUsed(t *testing.T) {
	root := checkout(t, map[string]string{"bin/go": bash + lists + `python3 -c 'import time; a = b"x" * (300 << 20); time.sleep(2)'` + "\n" + pass})
	out := expect(t, root, "1 passed, 0 failed, 0 skipped", "unit")
	m := regexp.MustCompile(`(?m)^MiB of memory that stages used at most: all (\d+), unit (\d+)$`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("it does not say the memory of stage unit:\n%s", out)
	}
	if mib, _ := strconv.Atoi(m[2]); m[1] != m[2] || mib < 300 || mib > 500 {
		t.Errorf("stage unit used %s MiB, all %s, want 300 and little more", m[2], m[1])
	}
}
