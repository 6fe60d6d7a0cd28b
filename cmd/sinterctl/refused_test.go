package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// badInput is a sample with a text in it replaced.
type badInput struct{ line, text string }

// badInputs reads testdata/refused.txt, whose first lines say how it is written.
func badInputs(t *testing.T) (list []badInput) {
	t.Helper()
	content, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	var sample string
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		old, other, ok := strings.Cut(line, " =>")
		switch {
		case strings.HasPrefix(line, "#") || line == "":
		case !ok:
			text, err := os.ReadFile(filepath.Join("../../config/samples", line))
			if err != nil {
				t.Fatal(err)
			}
			sample = string(text)
		default:
			unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace
			old, other := unescape(old), unescape(strings.TrimPrefix(other, " "))
			if !strings.Contains(sample, old) {
				t.Fatalf("the sample has no text %q", old)
			}
			list = append(list, badInput{line, strings.Replace(sample, old, other, 1)})
		}
	}
	return list
}

// insides are texts of libraries and of Go, which users should not see.
var insides = regexp.MustCompile(`\^\[|\$\)|strconv\.|parsing |unmarshal|json:|yaml: |invalid syntax|reflect|interface \{|%!|<nil>|scheme|panic|runtime error|must have at least 1 char`)

// Each of many bad inputs is refused with one message, which names the field and what would be right.
func TestBadInputsAreRefusedWithWhatWouldBeRight(t *testing.T) {
	var out strings.Builder
	dir, list := t.TempDir(), badInputs(t)
	file := filepath.Join(dir, "chain.yaml")
	if len(list) < 90 {
		t.Errorf("%d bad inputs, want 90 at least", len(list))
	}
	for _, in := range list {
		if err := os.WriteFile(file, []byte(in.text), 0o644); err != nil {
			t.Fatal(err)
		}
		stdout, _, err := sinterctl(t, "validate", file)
		if err == nil {
			t.Errorf("%s\nis accepted: %s", in.line, stdout)
			continue
		}
		said := strings.ReplaceAll(err.Error(), dir+"/", "")
		out.WriteString(in.line + "\n    " + strings.ReplaceAll(said, "\n", "\n    ") + "\n")
		if n := strings.Count(said, "\n") + 1; n > 1 {
			t.Errorf("%s\nhas %d messages, want one:\n%v", in.line, n, said)
		}
		if !strings.HasPrefix(said, "chain.yaml:") {
			t.Errorf("%s\nhas a message without file and line:\n%v", in.line, said)
		}
		if bad := insides.FindString(said); bad != "" {
			t.Errorf("%s\nshows %q, which is no word for users:\n%v", in.line, bad, said)
		}
	}
	golden(t, "refused.golden", out.String())
}
