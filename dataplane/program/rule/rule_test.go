package rule_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

func TestWhatIsRegisteredTwiceIsRefused(t *testing.T) {
	for name, register := range map[string]func(){
		"an operation":                func() { rule.RegisterOperation[*programpb.Op_Set](rule.Operation{}) },
		"an outcome":                  func() { rule.RegisterOutcome[*programpb.Leg_Output](rule.Outcome{}) },
		"a kind that claims no table": func() { rule.RegisterState(&rule.StateKind{Memory: rule.Flows}) },
	} {
		t.Run(name, func(t *testing.T) {
			register()
			defer func() {
				if recover() == nil {
					t.Error("the second is accepted")
				}
			}()
			register()
		})
	}
}

func TestAKindOfStateWithoutMemoryIsRefused(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the memory of its tables has no bound")
		}
	}()
	rule.RegisterState(&rule.StateKind{Name: "boundless", Claims: func(*programpb.StateTable) bool { return false }})
}
