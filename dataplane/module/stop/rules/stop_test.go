package rules_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/stop/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestExamplesAreJudgedAsTheySay(t *testing.T) { ruletest.Judge(t, examples.Programs) }
