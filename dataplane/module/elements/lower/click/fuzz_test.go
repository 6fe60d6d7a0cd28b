package click_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/elements/lower/click"
)

// FuzzLower: whatever a stranger writes, links lead to elements that are there, and what is built from it has a bound.
func FuzzLower(f *testing.F) {
	files, err := filepath.Glob("testdata/*.click")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := click.Lower(text)
		if len(l.Spec.Elements) > 4096 || len(l.Problems) > 101 {
			t.Errorf("%d elements, %d problems", len(l.Spec.Elements), len(l.Problems))
		}
		if l.HasErrors() {
			return
		}
		for _, e := range l.Spec.Elements {
			m, ok := l.Made[string(e.Name)]
			if !ok || m.Make == nil && e.NAPT == nil && e.Meter == nil {
				t.Errorf("element %s has no meaning", e.Name)
			}
			if m.Make != nil {
				if _, outs := m.Make("f/" + string(e.Name)).Ports(); outs != len(m.Outs) {
					t.Errorf("element %s has %d outputs, %d are named", e.Name, outs, len(m.Outs))
				}
			}
		}
	})
}
