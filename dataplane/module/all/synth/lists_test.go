package synth

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

func TestTheListHasEveryModule(t *testing.T) {
	moduletest.ListHasAll(t, "synth.go", "../..", "synth")
}
