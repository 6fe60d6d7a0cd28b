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
	"github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e choosing) pass.Element { return e.choice })
}

// choosing is an element before a limiter that chooses the source of packets. No engine has made the choice yet.
type choosing struct{ choice *choice }

func (choosing) Kind() string           { return "choosing" }
func (choosing) Ports() (in, out int)   { return 1, 1 }
func (choosing) Traits() element.Traits { return element.Traits{} }
func (choosing) PortNames() []string    { return nil }

// choice is what is known of it, and the connections that follow from it.
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

// behind is a limiter behind a choice.
func behind(t *testing.T) (l *limited, c *choice) {
	t.Helper()
	c = &choice{}
	b := chain(limiter(nil))
	n := b.Add("choice", choosing{c})
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
	c.flows = c.flows[:1] // of the first alone
	c.becomes("10.0.0.3", 77)
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
	c.flows = c.flows[:2]
	c.becomes("10.0.0.2", 3)
	l.has("open")
	l.sees(testbed.Inside, testbed.UDP(3, 53), passes)
	l.has("open")
}

func TestAConnectionThatIsTakenBackDependsOnNothing(t *testing.T) {
	l, c := behind(t)
	l.sees(testbed.Inside, testbed.UDP(1, 9), "behind")
	if len(c.flows) > 0 {
		t.Error("it follows the choice")
	}
}
