package walk_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

// TestTheFrameworkNamesNoFunction reads the code of this package and of package synth. They still have translation: runs of NAPTs are in how units
// are walked, where segments begin and end, and what is written of them (see dataplane/module/README.md).
func TestTheFrameworkNamesNoFunction(t *testing.T) {
	moduletest.NamesNoFunctionBut(t, []string{"nat", "napt"}, ".", "..")
}
