package walk_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

// TestTheFrameworkNamesNoFunction reads the code of this package and of package synth.
func TestTheFrameworkNamesNoFunction(t *testing.T) {
	moduletest.NamesNoFunction(t, ".", "..")
}
