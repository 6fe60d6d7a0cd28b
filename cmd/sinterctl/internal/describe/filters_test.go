package describe_test

import (
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func TestBoxesWithTheSameEndsTellOfThemAsAllBoxesDo(t *testing.T) {
	files, err := filepath.Glob("../../../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	all, kept := 0, 0
	for _, file := range files {
		names, err := compile.Names(compile.Input{Paths: []string{file}})
		if err != nil {
			continue // functions alone
		}
		for _, name := range names {
			c, err := compile.Files(compile.Input{Paths: []string{file}, Chain: name})
			if err != nil {
				t.Fatal(err)
			}
			p := c.Result.Program
			for i, s := range p.GetSegments() {
				some, every := describe.NewFilters(p, i), make([][]headerspace.Filter, len(s.GetClasses()))
				for _, table := range []*programpb.Table{s.GetTable(), s.GetLow()} {
					for box, class := range table.GetClasses() {
						some.Add(table, box)
						every[class] = append(every[class], describe.BoxFilter(table, box))
					}
				}
				for class, of := range s.GetClasses() {
					all, kept = all+len(every[class]), kept+len(some.Of(class))
					if got, want := describe.ClassOf(p, i, of, some.Of(class)), describe.ClassOf(p, i, of, every[class]); got != want {
						t.Errorf("%s, %s, class %d: %s, want %s", name, s.GetName(), class, got, want)
					}
				}
			}
		}
	}
	if kept >= all {
		t.Errorf("%d filters are kept of %d", kept, all)
	}
}
