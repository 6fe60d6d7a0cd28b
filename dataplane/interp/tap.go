package interp

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(c *pass.Chain, _ string, e element.Tap) pass.Element {
		return tap{c.Owner.(*Chain).linkNamed(e.Interface)}
	})
}

// tap is a function that gets copies, by a link.
type tap struct{ link int }

// Pass sends the packet out of the link. It is a copy: state that was made before is kept only if another one leaves.
func (t tap) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, _ int) (int, bool) {
	l := &runOf(r).c.links[t.link]
	if len(p.IP) > l.mtu {
		r.Discard(n, p, "too-big")
		return pass.Ended, false
	}
	r.Note("to the function behind interface %s", l.name)
	r.Step(n, -1, p)
	r.Result.Out = append(r.Result.Out, pass.Out{Interface: t.link, Frame: frame(p, element.TapDestination[:], l.mac)})
	return pass.Ended, false
}
