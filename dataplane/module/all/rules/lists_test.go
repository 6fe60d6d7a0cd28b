package rules

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/moduletest"
)

func TestTheListsHaveEveryModule(t *testing.T) {
	moduletest.ListHasAll(t, "rules.go", "../..", "rules")
	moduletest.ListHasAll(t, "examples/examples.go", "../..", "rules/examples")
}
