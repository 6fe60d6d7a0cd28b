package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// repository is the folder of the repository, and chartPath that of the chart in it.
const (
	repository = "../.."
	chartPath  = "charts/sinter"
)

// command is one simple command of a page's sh block.
type command struct {
	line  int
	words []string
}

var (
	comment     = regexp.MustCompile(`(^|\s)#.*`)
	quoted      = regexp.MustCompile(`'[^']*'`)   // one word, whatever is in it
	placeholder = regexp.MustCompile(`<[a-z-]+>`) // as in `kubectl delete pod <instance>`: no redirection
)

// commands are those of a page's blocks, with continued lines joined, assignments in front and redirections left out.
func commands(t *testing.T, file string) (list []command) {
	t.Helper()
	for _, b := range blocks(t, filepath.Join(repository, file)) {
		if b.language != "sh" {
			continue
		}
		text := strings.ReplaceAll(b.text, "\\\n", " \u0000")
		line := b.line
		for l := range strings.Lines(text) {
			line++
			l = placeholder.ReplaceAllString(quoted.ReplaceAllString(l, "quoted"), "placeholder")
			words := strings.Fields(strings.ReplaceAll(comment.ReplaceAllString(l, ""), "\u0000", " "))
			for _, part := range split(words) {
				list = append(list, command{line: line, words: part})
			}
			line += strings.Count(l, "\u0000")
		}
	}
	return list
}

// split divides words at the shell's operators.
func split(words []string) (parts [][]string) {
	var part []string
	for _, w := range append(words, ";") {
		switch {
		case slices.Contains([]string{"|", "&&", "||", ";"}, w):
			if len(part) > 0 {
				parts = append(parts, part)
			}
			part = nil
		case strings.HasPrefix(w, ">"), len(part) == 0 && strings.Contains(w, "="):
		default:
			part = append(part, w)
		}
	}
	return parts
}

// TestEveryCommandOfTheFirstPagesExists checks what a reader is told to type: targets, scripts, files, values, subcommands and flags.
func TestEveryCommandOfTheFirstPagesExists(t *testing.T) {
	checks := newChecker(t)
	for file, least := range map[string]int{"README.md": 12, "docs/install.md": 12, "docs/cluster.md": 6, "docs/cli.md": 6, "docs/click.md": 3} {
		list := commands(t, file)
		if len(list) < least {
			t.Errorf("%s: %d commands were found, want %d and more: are they still read?", file, len(list), least)
		}
		for _, c := range list {
			if err := checks.check(c.words); err != nil {
				t.Errorf("%s:%d: %s: %v", file, c.line, strings.Join(c.words, " "), err)
			}
		}
	}
}

// TestWorkflowsRunWhatExists checks targets and scripts that .github/workflows calls. No workflow has run yet.
func TestWorkflowsRunWhatExists(t *testing.T) {
	files, err := filepath.Glob(repository + "/.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	checks := checker{targets: makeTargets(t)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct{ Run, Uses string }
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, job := range workflow.Jobs {
			for _, step := range job.Steps {
				for line := range strings.Lines(step.Run) {
					for _, words := range split(strings.Fields(line)) {
						found++
						if err := checks.check(words); err != nil {
							t.Errorf("%s: %s: %v", file, strings.Join(words, " "), err)
						}
					}
				}
			}
		}
		if found < 3 {
			t.Errorf("%s: %d commands were found, want 3 and more: are they still read?", file, found)
		}
	}
}

// A check that finds no mistake would let all pass.
func TestWrongCommandsAreFound(t *testing.T) {
	checks := newChecker(t)
	for _, wrong := range []string{
		"make everything",
		"make push REGISTRY=r nothing",
		"hack/nothing.sh",
		"hack/images/dataplane.packages",
		"bin/nothing run",
		"sinterctl walk office.yaml",
		"sinterctl run office.yaml --wings 2",
		"sinterctl synth office.yaml -Z",
		"bin/sinterctl run config/samples/nothing.yaml",
		"kubectl sinter walk",
		"kubectl apply -f config/samples/networks -f config/samples/nothing.yaml",
		"helm install sinter charts/nothing",
		"helm install sinter charts/sinter --set image.registri=r",
		"helm install sinter charts/sinter --set image.registry=r,operator.image.tog=t",
		"helm upgrade sinter charts/sinter --set-string operator.replica=2",
		"frobnicate",
	} {
		if checks.check(strings.Fields(wrong)) == nil {
			t.Errorf("nothing is found wrong in: %s", wrong)
		}
	}
}

type checker struct {
	targets   map[string]bool
	values    map[string]any
	sinterctl string
	run       func(program string, args []string) string // its output
	help      map[string]string                          // of sinterctl's commands, by their words
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	return &checker{
		targets: makeTargets(t), values: chartValues(t), help: map[string]string{}, sinterctl: buildSinterctl(t),
		run: func(program string, args []string) string {
			out, _ := exec.CommandContext(t.Context(), program, args...).CombinedOutput() // an unknown command fails, and has no usage
			return string(out)
		},
	}
}

// others are programs of others, whose arguments are not looked at.
var others = []string{"apt-get", "bin/helm", "cosign", "ctr", "echo", "export", "gh", "git", "jq", "ln", "skopeo", "tcpdump"}

func (c *checker) check(words []string) error {
	program, args := words[0], words[1:]
	switch {
	case program == "make":
		return c.make(args)
	case strings.HasPrefix(program, "hack/"), strings.HasPrefix(program, ".ci/"):
		return executable(program)
	case program == "sinterctl" || program == "bin/sinterctl":
		return c.subcommand(c.sinterctl, args)
	case program == "kubectl" && len(args) > 0 && args[0] == "sinter":
		return c.subcommand(filepath.Join(filepath.Dir(c.sinterctl), "kubectl-sinter"), args[1:])
	case program == "kubectl":
		return c.kubectl(args)
	case program == "helm":
		return c.helm(args)
	case slices.Contains(others, program):
		return nil
	}
	return fmt.Errorf("%q is no program that this test knows", program)
}

func executable(path string) error {
	info, err := os.Stat(filepath.Join(repository, path))
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		err = fmt.Errorf("%s is not executable", path)
	}
	return err
}

func exists(path string) error {
	_, err := os.Stat(filepath.Join(repository, path))
	return err
}

func (c *checker) make(args []string) error {
	for _, a := range args {
		if !strings.Contains(a, "=") && !c.targets[a] {
			return fmt.Errorf("the Makefile has no target %s", a)
		}
	}
	return nil
}

// kubectl looks at files alone; "-" is standard input.
func (c *checker) kubectl(args []string) error {
	for i, a := range args {
		if (a == "-f" || a == "-k") && i+1 < len(args) && args[i+1] != "-" {
			if err := exists(args[i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// helm looks at the chart's path and at the values that are set.
func (c *checker) helm(args []string) error {
	for i, a := range args {
		if strings.HasPrefix(a, "charts/") {
			if err := exists(filepath.Join(a, "Chart.yaml")); err != nil {
				return err
			}
		}
		if a != "--set" && a != "--set-string" || i+1 == len(args) {
			continue
		}
		for _, pair := range strings.Split(args[i+1], ",") {
			name, _, _ := strings.Cut(pair, "=")
			if !has(c.values, strings.Split(name, ".")) {
				return fmt.Errorf("%s/values.yaml has no %s", chartPath, name)
			}
		}
	}
	return nil
}

// has tells whether values have a path. Below an empty map or list, anything may be set.
func has(values any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	m, ok := values.(map[string]any)
	if ok && len(m) == 0 {
		return true
	}
	inner, ok := m[path[0]]
	return ok && has(inner, path[1:])
}

var (
	flagWord  = regexp.MustCompile(`^-{1,2}[A-Za-z][-a-z]*`)
	flagNames = regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--[a-z][-a-z]*)`)
)

// subcommand looks at what is called, at its flags, and at files of the repository; those of the reader are not here.
func (c *checker) subcommand(program string, args []string) error {
	path, args := c.command(program, args)
	if len(path) == 0 {
		return fmt.Errorf("no such command of %s", filepath.Base(program))
	}
	known := map[string]bool{}
	for _, m := range flagNames.FindAllStringSubmatch(c.helpOf(program, path), -1) {
		known[m[1]], known[m[2]] = true, true
	}
	for _, a := range args {
		if a == "--" { // what follows is DPDK's
			return nil
		}
		if name := flagWord.FindString(a); name != "" && !known[name] {
			return fmt.Errorf("%s has no flag %s", strings.Join(path, " "), name)
		}
		if strings.HasPrefix(a, "config/") {
			if err := exists(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// command is the longest row of words that names a command, and the words behind it.
func (c *checker) command(program string, args []string) (path, rest []string) {
	for len(path) < len(args) {
		longer := args[:len(path)+1]
		usage, _, _ := strings.Cut(c.helpOf(program, longer), "\n")
		if !strings.Contains(usage, " "+strings.Join(longer, " ")+" ") {
			break
		}
		path = longer
	}
	return path, args[len(path):]
}

// helpOf is a command's help, from its usage on. For a word that is no command, cobra prints the help of the command above.
func (c *checker) helpOf(program string, path []string) string {
	if len(path) > 0 && strings.HasPrefix(path[len(path)-1], "-") {
		return ""
	}
	key := filepath.Base(program) + " " + strings.Join(path, " ")
	if text, ok := c.help[key]; ok {
		return text
	}
	_, c.help[key], _ = strings.Cut(c.run(program, append(slices.Clone(path), "--help")), "Usage:\n")
	return c.help[key]
}

// buildSinterctl builds it under both of its names.
func buildSinterctl(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sinterctl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, repository+"/cmd/sinterctl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Symlink("sinterctl", filepath.Join(filepath.Dir(path), "kubectl-sinter")); err != nil {
		t.Fatal(err)
	}
	return path
}

func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][-a-z0-9]*):`).FindAllStringSubmatch(string(text), -1) {
		targets[m[1]] = true
	}
	return targets
}

func chartValues(t *testing.T) (values map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, chartPath, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}
