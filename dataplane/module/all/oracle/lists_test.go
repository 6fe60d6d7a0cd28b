package oracle

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

func TestTheListHasEveryModule(t *testing.T) {
	moduletest.ListHasAll(t, "oracle.go", "../..", "oracle")
}
