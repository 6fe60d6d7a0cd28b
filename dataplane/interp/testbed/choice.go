package testbed

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e Choosing) pass.Element { return e.Choice })
}

// Choosing is an element that chooses the source of packets, as a NAPT does. No engine has made the choice yet.
type Choosing struct{ Choice *Choice }

// Kind implements element.Element.
func (Choosing) Kind() string { return "choosing" }

// Ports implements element.Element.
func (Choosing) Ports() (in, out int) { return 1, 1 }

// Traits implements element.Element.
func (Choosing) Traits() element.Traits { return element.Traits{} }

// Choice is what is known of it, and the flows that follow from it.
type Choice struct {
	Flows []pass.Dependent
	made  bool
}

// Pass implements pass.Element.
func (c *Choice) Pass(_ *pass.Run, _ *graph.Node, p *pass.Packet, _ int) (out int, left bool) {
	p.By.Src, p.By.Sport = c, c
	return 0, false
}

// Loose implements pass.Origin.
func (c *Choice) Loose() bool { return !c.made }

// Depend implements pass.Origin.
func (c *Choice) Depend(r *pass.Run, d pass.Dependent) {
	c.Flows = append(c.Flows, d)
	r.Undoable(func() { c.Flows = c.Flows[:len(c.Flows)-1] })
}

// Becomes makes the choice.
func (c *Choice) Becomes(addr string, port uint16) {
	c.made = true
	for _, d := range c.Flows {
		d.Take()
	}
	for _, d := range c.Flows {
		d.Put(flow.Endpoint{Proto: header.UDP, Addr: header.Number(Addr(addr)), Port: port})
	}
}
