package oracle_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
)

// behind is a limiter behind a choice.
func behind(t *testing.T) (l *limited, c *testbed.Choice) {
	t.Helper()
	c = &testbed.Choice{}
	b := chain(limiter(nil))
	n := b.Add("choice", testbed.Choosing{Choice: c})
	b.Wire(b.In(testbed.Inside), 0, n, 0)
	b.Wire(n, 0, b.Node("cl/connections"), element.ConnLimitInside)
	return &limited{T: t, c: interp.New(&b.Graph, interp.Options{})}, c
}

func TestAConnectionMovesWithTheChoiceOfItsSource(t *testing.T) {
	l, c := behind(t)
	p := testbed.UDP(1, 53)
	l.sees(testbed.Inside, p, passes)
	if got := oracle.ConnectionsOf(l.c.Chain, l.now); len(got) != 1 || !got[0].Loose {
		t.Errorf("%v, want one whose source nobody has seen", got)
	}
	l.sees(testbed.Inside, testbed.UDP(2, 53), passes)
	c.Flows = c.Flows[:1] // of the first alone
	c.Becomes("10.0.0.3", 77)
	l.sees(testbed.Inside, p, passes) // another one now, of a host that has one left
	l.sees(testbed.Inside, testbed.UDP(3, 53), "limit")
	moved := from("10.0.0.3", 77)
	l.sees(testbed.Inside, moved, passes)
	l.has("open", "open", "open") // that is known
	l.now += countedTimeouts.UDP
	l.sees(testbed.Outside, moved, passes)
	l.now++
	l.has("open")
}

func TestAConnectionThatIsForgottenDoesNotMove(t *testing.T) {
	l, c := behind(t)
	l.sees(testbed.Inside, testbed.UDP(1, 53), passes)
	l.sees(testbed.Inside, testbed.UDP(2, 53), passes)
	l.now += countedTimeouts.UDP + 1
	l.sees(testbed.Inside, testbed.UDP(3, 53), passes)
	c.Flows = c.Flows[:2]
	c.Becomes("10.0.0.2", 3)
	l.has("open")
	l.sees(testbed.Inside, testbed.UDP(3, 53), passes)
	l.has("open")
}

func TestAConnectionThatIsTakenBackDependsOnNothing(t *testing.T) {
	l, c := behind(t)
	l.sees(testbed.Inside, testbed.UDP(1, 9), "behind")
	if len(c.Flows) > 0 {
		t.Error("it follows the choice")
	}
}
