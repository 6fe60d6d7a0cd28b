package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the report's figures into the pages that name them")

// figure is a number in a page, which a report of `make bench` must have. Its place is a regular expression with one group: the number.
type figure struct {
	page, place string
	of          func(map[string]result) string
}

func cycles(row string) func(map[string]result) string {
	return func(r map[string]result) string { return fmt.Sprintf("%.0f", r[row].Cycles) }
}

func apart(row string) func(map[string]result) string {
	return func(r map[string]result) string { return fmt.Sprintf("%.0f", r[row].Apart) }
}

// times is how many times the cycles of another row one takes.
func times(row, other string) func(map[string]result) string {
	return func(r map[string]result) string { return fmt.Sprintf("%.1f", r[row].Cycles/r[other].Cycles) }
}

var figures = []figure{
	{"README.md", `ten NATs in a row cost (\S+)\s+cycles per packet, as one does`, cycles("napts-10-10k")},
	{"README.md", `as one does \((\S+) when run`, apart("napts-10-10k")},
	{"docs/language.md", `with two lists take (\S+) times the cycles that they take`, times("monitor-isp-acl1-8550-10k", "isp-acl1-8550-10k")},
	{"docs/language.md", `without it; (\S+) times with 100,000 flows`, times("monitor-isp-acl1-8550-100k", "isp-acl1-8550-100k")},
	{"docs/language.md", `on a core, and (\S+) times with a million`, times("monitor-isp-acl1-8550-1m", "isp-acl1-8550-1m")},
}

// TestPagesHaveTheFiguresOfTheReport compares them; with -update it writes them.
func TestPagesHaveTheFiguresOfTheReport(t *testing.T) {
	const root = "../.."
	stored, err := readStored(filepath.Join(root, "docs/bench/results.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		path := filepath.Join(root, f.page)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := regexp.MustCompile(f.place).FindSubmatchIndex(text)
		if at == nil {
			t.Errorf("%s: no figure at %q", f.page, f.place)
			continue
		}
		has, want := string(text[at[2]:at[3]]), f.of(stored)
		if has == want {
			continue
		}
		if !*update {
			t.Errorf("%s says %s at %q, the report %s; run go test ./test/bench -update", f.page, has, f.place, want)
			continue
		}
		out := string(text[:at[2]]) + want + string(text[at[3]:])
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A row that is gone or renamed must not leave a figure of nothing.
func TestFiguresAreOfRowsThatAreMeasured(t *testing.T) {
	known := map[string]result{}
	for _, r := range rows(dataFolder) {
		known[r.Name] = result{Cycles: 1}
		if r.apart {
			known[r.Name] = result{Cycles: 1, Apart: 1}
		}
	}
	for _, f := range figures {
		if got := f.of(known); got != "1" && got != "1.0" {
			t.Errorf("%s, %q: its row is not measured", f.page, f.place)
		}
	}
}
