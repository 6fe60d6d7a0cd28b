package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheRepositoryUsesPlainWords(t *testing.T) {
	if err := run("."); err != nil {
		t.Error(err)
	}
}

// plants are texts and what is found in them; empty: nothing.
var plants = map[string]struct{ path, text, want string }{
	"a word":                      {"docs/a.md", "one\nYou shall not.\n", `docs/a.md:2: "shall": write must, should or will`},
	"a word at a sentence's head": {"docs/a.md", "Anew it goes.\n", `docs/a.md:1: "Anew": write again; restarted, rewritten …`},
	"a phrase":                    {"a.go", "// It stands in the status.\n", `a.go:1: "stands in": write is shown in, is in, or replaces`},
	"a phrase over two lines":     {"a.c", "/*\n * Chunks are passed\n * over.\n */\n", `a.c:2: "passed\n * over": write ignored or skipped`},
	"who and what":                {"docs/a.md", "Who wants it deletes it.\n", `docs/a.md:1: "Who wants": write name the goal first: "to do …, …"`},
	"an apostrophe":               {"docs/a.md", "reasons of the chain’s own\n", `docs/a.md:1: "chain’s own": write of the chain, or that the chain defines`},
	"a question":                  {"docs/a.md", "Who decides that a shard moves?\n", ""},
	"part of a word":              {"a.go", "var shallow, recommended, availability int\n", ""},
	"a riddle":                    {"a.go", "// What comes back is dropped.\n", `a.go:1: a comment begins with "What": begin with the name of the thing`},
	"a riddle in C":               {"a.c", "int a; /* one */\n/* Of one worker. */\n", `a.c:2: a comment begins with "Of": begin with the name of the thing`},
	"amid a comment":              {"a.go", "// A packet may begin a flow.\n// What comes back is of it.\n", ""},
	"the name of a function":      {"a.go", "// Of are all.\n// Really.\nfunc (s set) Of(n int) {}\n", ""},
	"texts of others":             {"test/data/routes/LICENSE.txt", "You shall.\n", ""},
}

func TestAPlantedWordIsFound(t *testing.T) {
	for name, c := range plants {
		t.Run(name, func(t *testing.T) {
			found, err := search(fstest.MapFS{c.path: &fstest.MapFile{Data: []byte(c.text)}}, []string{c.path, "deleted.go"})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(found, "\n"); got != c.want {
				t.Errorf("found\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// messages are those of commits, and how what is wrong with them begins; empty: nothing is.
var messages = map[string]struct{ message, want string }{
	"an imperative and a reason": {"Engine: count dropped fragments\n\nThey were in no counter.\n", ""},
	"without a room":             {"Pass fragments to the router\n\nThey need no ports.\n", ""},
	"an imperative in -eed":      {"Worker: exceed no burst\n\nIt did.\n", ""},
	"no body":                    {"Engine: count dropped fragments\n", "there is no body"},
	"a long subject":             {"Engine: count " + strings.Repeat("dropped ", 9) + "fragments\n\nThey were not.\n", "the subject has 95 characters"},
	"the past":                   {"Engine: counted dropped fragments\n\nThey were not.\n", `"Engine: counted dropped fragments" begins with "counted"`},
	"the third person":           {"Engine: counts dropped fragments\n\nThey were not.\n", `"Engine: counts dropped fragments" begins with "counts"`},
	"a noun":                     {"Docs: the counters of fragments\n\nThey had none.\n", `"Docs: the counters of fragments" begins with "the"`},
	"a gerund":                   {"counting fragments\n\nThey were not.\n", `"counting fragments" begins with "counting"`},
}

func TestAWrongCommitMessageIsFound(t *testing.T) {
	for name, c := range messages {
		t.Run(name, func(t *testing.T) {
			wrong := wrongMessage(c.message)
			if got := strings.Join(wrong, "; "); len(wrong) > 1 || (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestCommitsButImportsAreRead(t *testing.T) {
	folder := t.TempDir()
	commit := func(message string) {
		t.Helper()
		for _, args := range [][]string{
			{"init", "-q"},
			{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", message},
		} {
			if _, err := git(folder, args...); err != nil {
				t.Fatal(err)
			}
		}
	}
	wrong := func() string {
		t.Helper()
		lines, err := commits(folder)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	commit("import")
	commit("Engine: count dropped fragments\n\nThey were in no counter.")
	if got := wrong(); got != "" {
		t.Errorf("found %q, want nothing", got)
	}
	commit("Engine: count more\n\nThey shall be counted.")
	if got := wrong(); !strings.HasSuffix(got, `:3: "shall": write must, should or will`) {
		t.Errorf("found %q, want the word of the last commit", got)
	}
}
