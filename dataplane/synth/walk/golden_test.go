package walk_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

var update = flag.Bool("update", false, "regenerate the golden files")

// load builds the graph of a file's first chain.
func load(tb testing.TB, path string) *graph.Graph {
	tb.Helper()
	bundle, findings := manifest.Load(path)
	if err := findings.Err(); err != nil {
		tb.Fatal(err)
	}
	g, findings := graph.Build(bundle.Chains[0], graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
	if err := findings.Err(); err != nil {
		tb.Fatal(err)
	}
	return g
}

// text is everything that a synthesized chain says.
func text(r *synth.Result) string {
	var b bytes.Buffer
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "run %s: state in %s\n", run.Name, run.Table)
	}
	for i, s := range r.Segments {
		p := r.Program.Segments[i]
		fmt.Fprintf(&b, "segment %d, %s: TTL floor %d, %d classes, %d boxes\n",
			i, s.Name, p.TtlFloor, len(s.Classes), len(p.Table.Classes))
		for c, class := range s.Classes {
			fmt.Fprintf(&b, "  class %d:", c)
			for _, leg := range class.Legs {
				fmt.Fprintf(&b, " %s", leg)
				if len(leg.Counters) > 0 {
					fmt.Fprintf(&b, " (count %s)", strings.Join(leg.Counters, ", "))
				}
				fmt.Fprint(&b, ";")
			}
			fmt.Fprintln(&b)
		}
		for l := range s.Leaves() {
			fmt.Fprintf(&b, "  %s → class %d\n", l.Filter, l.Class)
			if l := &l; s.NumLeaves() < 100 {
				fmt.Fprint(&b, "     ")
				for _, step := range r.Trace(l) {
					fmt.Fprintf(&b, " %s", step)
				}
				fmt.Fprintln(&b)
			}
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func TestEachSampleChainSynthesizesToItsGoldenProgram(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no sample chains found", err)
	}
	extra, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range append(files, extra...) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			r, err := synth.Synthesize(load(t, file), synth.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := text(r)
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s: the program is not the golden one; regenerate with -update if that is meant.\n got:\n%s\nwant:\n%s", name, got, want)
			}
		})
	}
}
