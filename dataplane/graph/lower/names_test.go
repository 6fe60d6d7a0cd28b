package lower

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

func TestTheFrameworkNamesNoFunction(t *testing.T) {
	moduletest.NamesNoFunction(t, ".", "../placement", "../wiring")
}
