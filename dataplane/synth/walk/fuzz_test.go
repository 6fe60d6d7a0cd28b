package walk_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// FuzzSynthesize compiles any text: what is a chain ends in a program that the
// engine's rules of consistency accept, or in an error.
func FuzzSynthesize(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "../../graph/testdata/*.yaml", "../../../config/samples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _ := manifest.Parse("chain.yaml", data, none)
		for _, c := range b.Chains {
			g, _ := graph.Build(c, graph.Inputs{Functions: b.Functions, Files: b.Files})
			if g == nil {
				continue
			}
			r, err := synth.Synthesize(g, synth.Options{MaxBoxes: 1000})
			if err != nil {
				continue
			}
			if err := program.Validate(r.Program); err != nil {
				t.Errorf("the synthesizer makes a program that the engine refuses: %v", err)
			}
		}
	})
}
