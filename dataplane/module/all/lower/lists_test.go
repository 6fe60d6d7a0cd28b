package lower

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

func TestTheListHasEveryModule(t *testing.T) {
	moduletest.ListHasAll(t, "lower.go", "../..", "lower")
}
