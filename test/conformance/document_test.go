package conformance

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/conformance.md")

const document = "../../docs/conformance.md"

// TestTheDocumentListsTheDifferencesThatTheTestKnows holds the page and the list together.
func TestTheDocumentListsTheDifferencesThatTheTestKnows(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, table := range map[string]string{
		"differences": differenceTable(), "settings": settingTable(), "scenarios": scenarioTable(), "packets": kindTable(), "conversations": talkTable(),
	} {
		begin, end := fmt.Sprintf("<!-- %s: written by the test -->\n", name), fmt.Sprintf("<!-- end of %s -->\n", name)
		before, rest, ok1 := strings.Cut(text, begin)
		was, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no place for the %s: want the lines %q and %q", document, name, begin, end)
		}
		if was != table && !*update {
			t.Errorf("the %s of %s are not those of the test: run go test ./test/conformance -run Document -update", name, document)
		}
		text = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func differenceTable() string {
	var b strings.Builder
	b.WriteString("| difference | Linux | Sinter | reason |\n| --- | --- | --- | --- |\n")
	for _, d := range differences {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.name, d.linux, d.sinter, d.reason)
	}
	return b.String()
}

func settingTable() string {
	var b strings.Builder
	b.WriteString("| kernel parameter | value | why |\n| --- | --- | --- |\n")
	for _, s := range kernelSettings {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.key, s.value, s.why)
	}
	for _, c := range scenarios {
		for _, s := range c.settings {
			fmt.Fprintf(&b, "| `%s` | %s in `%s` | %s |\n", s.key, s.value, c.name, s.why)
		}
	}
	return b.String()
}

func scenarioTable() string {
	var b strings.Builder
	b.WriteString("| scenario | chain | on Linux |\n| --- | --- | --- |\n")
	for _, s := range scenarios {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.name, s.what, s.kernel)
	}
	return b.String()
}

func kindTable() string {
	var w []string
	for _, k := range slices.Concat(kinds, natKinds) {
		w = append(w, k.name)
	}
	return strings.Join(w, ", ") + ".\n"
}

func talkTable() string { return strings.Join(talkKinds, ", ") + ".\n" }

func TestEveryDifferenceHasAReason(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range differences {
		if d.name == "" || d.linux == "" || d.sinter == "" || !strings.Contains(d.reason, "RFC ") {
			t.Errorf("the difference %q does not say what Linux does, what Sinter does, and by which RFC", d.name)
		}
		if seen[d.name] {
			t.Errorf("the difference %q is listed twice", d.name)
		}
		seen[d.name] = true
	}
}
