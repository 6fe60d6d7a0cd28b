// Package docs tests what the documentation says.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/config/crd"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// block is a fenced block: its language, the file that it is if it is named, its
// text, and the text block right behind it.
type block struct {
	line           int
	language, name string
	text, says     string
}

var fence = regexp.MustCompile("(?ms)^```(\\w+) ?(\\S*)\n(.*?)^```$(?:\\s*?\n\n```text\n(.*?)^```$)?")

func blocks(t *testing.T, file string) []block {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, m := range fence.FindAllSubmatchIndex(data, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return string(data[m[2*i]:m[2*i+1]])
		}
		out = append(out, block{
			line:     1 + strings.Count(string(data[:m[0]]), "\n"),
			language: group(1), name: group(2), text: group(3), says: group(4),
		})
	}
	return out
}

// around makes a chain of a function that stands alone.
func around(function string) string {
	indented := "    " + strings.ReplaceAll(strings.TrimSuffix(function, "\n"), "\n", "\n    ")
	return `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: example}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - name: f
` + indented + "\n  path: [inside, f, outside]\n"
}

// say compiles a file and tells all that there is to say about it.
func say(text string, read func(string) ([]byte, error)) string {
	b, found := manifest.Parse("chain.yaml", []byte(text), read)
	var out strings.Builder
	for _, c := range b.Chains {
		g, more := graph.Build(c, graph.Inputs{Functions: b.Functions, Files: b.Files})
		found = append(found, b.Locate(more)...)
		if g == nil {
			continue
		}
		r, err := synth.Synthesize(g, synth.Options{})
		if err != nil {
			out.WriteString(err.Error() + "\n")
			continue
		}
		for _, w := range r.Warnings {
			out.WriteString("warning: " + w.String() + "\n")
		}
	}
	return found.String() + out.String()
}

func TestEveryExampleOfTheLanguageCompilesAndSaysWhatThePageSays(t *testing.T) {
	list := blocks(t, "../../docs/language.md")
	read := func(name string) ([]byte, error) {
		for _, b := range list {
			if b.name == name {
				return []byte(b.text), nil
			}
		}
		return nil, fs.ErrNotExist
	}
	n := 0
	for _, b := range list {
		if b.language != "yaml" {
			continue
		}
		n++
		text := b.text
		if !strings.HasPrefix(text, "apiVersion:") {
			text = around(text)
		}
		if got := say(text, read); got != b.says {
			t.Errorf("docs/language.md:%d: the example says\n%s\nthe page says\n%s", b.line, got, b.says)
		}
	}
	if n < 10 {
		t.Errorf("only %d examples were found", n)
	}
}

func TestTheChainsOfOtherPagesAndOfExamplesCompile(t *testing.T) {
	chains := map[string]string{}
	for _, b := range blocks(t, "../../docs/blackbox.md") {
		if b.language == "yaml" {
			chains[fmt.Sprintf("docs/blackbox.md:%d", b.line)] = b.text
		}
	}
	files, err := filepath.Glob("../../examples/*/chain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		chains[f] = string(text)
	}
	if len(files) < 1 || len(chains) < 3 {
		t.Errorf("only %d chains were found, %d of them examples", len(chains), len(files))
	}
	for where, text := range chains {
		if got := say(text, os.ReadFile); got != "" {
			t.Errorf("%s: %s", where, got)
		}
	}
}

// kinds are the elements that the schema of NetworkFunctions lets users write.
func kinds(t *testing.T) []string {
	t.Helper()
	data, err := crd.Files.ReadFile("nfv.sinter.dev_networkfunctions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "- Classifier\n")
	if !ok {
		t.Fatal("the schema has no enum of kinds that starts with Classifier")
	}
	out := []string{"Classifier"}
	for line := range strings.Lines(rest) {
		kind, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !ok {
			break
		}
		out = append(out, kind)
	}
	return out
}

func TestEveryKindOfElementIsInTheTableOfTheLanguageAndInThatOfTheElements(t *testing.T) {
	list := kinds(t)
	if len(list) < 13 {
		t.Fatalf("only %v are known as kinds", list)
	}
	asWritten := func(text string) string { return text }
	asListed := func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "-", "")) } // dec-ttl for DecTTL
	for page, as := range map[string]func(string) string{"language.md": asWritten, "elements.md": asListed} {
		data, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range list {
			if !strings.Contains(as(string(data)), as("\n| `"+kind+"` |")) {
				t.Errorf("docs/%s has no row for %s", page, kind)
			}
		}
	}
}
