package pass

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

// TestTheFrameworkNamesNoFunction reads the code of this package and of those that it stands on.
func TestTheFrameworkNamesNoFunction(t *testing.T) {
	moduletest.NamesNoFunction(t, ".", "../flow", "../header")
}
