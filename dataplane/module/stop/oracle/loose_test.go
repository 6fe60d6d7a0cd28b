package oracle_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/stop/oracle"
)

// chosen is a chain behind a choice of the source of packets from a side.
func chosen(t *testing.T, side int) (s *passing, c *testbed.Choice) {
	t.Helper()
	c = &testbed.Choice{}
	b := chain(table(func(p *element.Passing) { p.Packets = 1 }))
	n := b.Add("choice", testbed.Choosing{Choice: c})
	b.Wire(n, 0, b.Graph.Nodes[b.In(side)].Out[0].To, 0)
	b.Wire(b.In(side), 0, n, 0)
	return &passing{T: t, c: interp.New(&b.Graph, interp.Options{}), went: map[string]uint64{}}, c
}

func TestAFlowMovesWithTheChoiceOfItsSource(t *testing.T) {
	s, c := chosen(t, testbed.Inside)
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	if got := oracle.FlowsOf(s.c.Chain, s.now); len(got) != 1 || !got[0].Loose {
		t.Errorf("%v, want one whose source nobody has seen", got)
	}
	c.Becomes("10.0.0.3", 77)
	if got := oracle.FlowsOf(s.c.Chain, s.now); len(got) != 1 || got[0].Loose || got[0].From != testbed.AddrPort("10.0.0.3:77") {
		t.Errorf("%v, want one from where it moved", got)
	}
	moved := testbed.Packet{Src: "10.0.0.3", Sport: 77, Dport: 53}
	s.sees(testbed.Inside, moved, past)
	s.sees(testbed.Outside, moved, past)
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
}

func TestAFlowFromOutsideMovesToo(t *testing.T) {
	s, c := chosen(t, testbed.Outside)
	s.sees(testbed.Outside, testbed.UDP(1, 53), through)
	c.Becomes("198.51.100.7", 77)
	moved := testbed.Packet{Dst: "198.51.100.7", Sport: 1, Dport: 77}
	s.sees(testbed.Inside, moved, past)
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
}

func TestAFlowThatEndedDoesNotMove(t *testing.T) {
	s, c := chosen(t, testbed.Inside)
	s.sees(testbed.Inside, segment("A"), through)
	s.sees(testbed.Inside, with(behindIt, segment("S")), through)
	c.Becomes("10.0.0.3", 77)
	s.has()
}

func TestAFlowThatIsTakenBackDependsOnNothing(t *testing.T) {
	s, c := chosen(t, testbed.Inside)
	s.sees(testbed.Inside, with(behindIt, testbed.UDP(1, 53)), through)
	if len(c.Flows) > 0 {
		t.Error("it follows the choice")
	}
}

func TestOfTwoFlowsInOnePlaceTheOneThatWasUsedLastStays(t *testing.T) {
	for _, later := range []bool{false, true} {
		s, c := chosen(t, testbed.Inside)
		s.sees(testbed.Inside, testbed.UDP(1, 53), through)
		first := c.Flows
		s.now++
		s.sees(testbed.Inside, testbed.UDP(2, 53), through)
		if c.Flows = first; later {
			s.now++
			s.sees(testbed.Inside, testbed.UDP(1, 53), past)
		}
		c.Becomes("10.0.0.2", 2)
		if got := oracle.FlowsOf(s.c.Chain, s.now); len(got) != 1 || got[0].Idle != 0 {
			t.Errorf("used later: %t: %v, want the one that was used now", later, got)
		}
	}
}
