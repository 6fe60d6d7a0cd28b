package click

import (
	"os"
	"strings"
	"testing"
)

func TestThePageListsAllClasses(t *testing.T) {
	page, err := os.ReadFile("../../../../../docs/click.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range classes {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/click.md does not have %s", name)
		}
		if refused[name] != "" {
			t.Errorf("%s is known, and refused", name)
		}
	}
}
