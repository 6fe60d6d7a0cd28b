package oracle_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/stop/oracle"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e choosing) pass.Element { return e.choice })
}

// choosing is an element before a function that chooses the source of packets. No engine has made the choice yet.
type choosing struct{ choice *choice }

func (choosing) Kind() string           { return "choosing" }
func (choosing) Ports() (in, out int)   { return 1, 1 }
func (choosing) Traits() element.Traits { return element.Traits{} }
func (choosing) PortNames() []string    { return nil }

// choice is what is known of it, and the flows that follow from it.
type choice struct {
	made  bool
	flows []pass.Dependent
}

func (c *choice) Pass(_ *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (int, bool) {
	p.By.Src, p.By.Sport = c, c
	return 0, false
}

func (c *choice) Loose() bool { return !c.made }

func (c *choice) Depend(r *pass.Run, d pass.Dependent) {
	c.flows = append(c.flows, d)
	r.Undoable(func() { c.flows = c.flows[:len(c.flows)-1] })
}

// becomes makes the choice.
func (c *choice) becomes(addr string, port uint16) {
	c.made = true
	for _, d := range c.flows {
		d.Take()
	}
	for _, d := range c.flows {
		d.Put(flow.Endpoint{Proto: header.UDP, Addr: header.Number(testbed.Addr(addr)), Port: port})
	}
}

// chosen is a chain behind a choice of the source of packets from a side.
func chosen(t *testing.T, side int) (s *passing, c *choice) {
	t.Helper()
	c = &choice{}
	b := chain(table(func(p *element.Passing) { p.Packets = 1 }))
	n := b.Add("choice", choosing{c})
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
	c.becomes("10.0.0.3", 77)
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
	c.becomes("198.51.100.7", 77)
	moved := testbed.Packet{Dst: "198.51.100.7", Sport: 1, Dport: 77}
	s.sees(testbed.Inside, moved, past)
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
}

func TestAFlowThatEndedDoesNotMove(t *testing.T) {
	s, c := chosen(t, testbed.Inside)
	s.sees(testbed.Inside, segment("A"), through)
	s.sees(testbed.Inside, with(behindIt, segment("S")), through)
	c.becomes("10.0.0.3", 77)
	s.has()
}

func TestAFlowThatIsTakenBackDependsOnNothing(t *testing.T) {
	s, c := chosen(t, testbed.Inside)
	s.sees(testbed.Inside, with(behindIt, testbed.UDP(1, 53)), through)
	if len(c.flows) > 0 {
		t.Error("it follows the choice")
	}
}

func TestOfTwoFlowsInOnePlaceTheOneThatWasUsedLastStays(t *testing.T) {
	for _, later := range []bool{false, true} {
		s, c := chosen(t, testbed.Inside)
		s.sees(testbed.Inside, testbed.UDP(1, 53), through)
		first := c.flows
		s.now++
		s.sees(testbed.Inside, testbed.UDP(2, 53), through)
		if c.flows = first; later {
			s.now++
			s.sees(testbed.Inside, testbed.UDP(1, 53), past)
		}
		c.becomes("10.0.0.2", 2)
		if got := oracle.FlowsOf(s.c.Chain, s.now); len(got) != 1 || got[0].Idle != 0 {
			t.Errorf("used later: %t: %v, want the one that was used now", later, got)
		}
	}
}
