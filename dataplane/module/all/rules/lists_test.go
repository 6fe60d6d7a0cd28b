package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheListsHaveEveryModule(t *testing.T) {
	for list, room := range map[string]string{"rules.go": "rules", "examples/examples.go": "rules/examples"} {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		folders, err := filepath.Glob("../../*/" + room)
		if err != nil || len(folders) < 2 {
			t.Fatalf("modules with %s: %q (%v)", room, folders, err)
		}
		for _, folder := range folders {
			module := strings.TrimPrefix(folder, "../../")
			if module != "all/"+room && !strings.Contains(string(text), `dataplane/module/`+module+`"`) {
				t.Errorf("%s has no line for %s", list, module)
			}
		}
	}
}
