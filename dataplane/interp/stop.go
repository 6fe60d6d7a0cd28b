package interp

import (
	"bytes"
	"net"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/tag"
)

func init() {
	pass.Register(func(c *pass.Chain, name string, e element.Stop) pass.Element {
		if e.WhenDown == element.StopOpen {
			c.AddCounter(element.BypassCounter(name))
		}
		link := c.Owner.(*Chain).linkNamed
		return stop{[element.StopSides]int{link(e.Interfaces[element.StopInside]), link(e.Interfaces[element.StopOutside])}, e.WhenDown}
	})
}

// stop is a function outside of the chain: a frame that leaves for it is over, and its packet goes on when a frame comes back.
type stop struct {
	links    [element.StopSides]int
	whenDown element.WhenDown
}

// SetDown says whether the function of a stop is down, by the stop's node. None is until then. One that is not watched has packets either way.
func (c *Chain) SetDown(node string, down bool) { c.Down[node] = down }

// Pass sends the packet out of its side. Whatever becomes of it, state that it made stays: the packet has left. If the function is down and watched,
// the packet is dropped, or goes on as if the function had given it back at once.
func (s stop) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, in int) (int, bool) {
	c := runOf(r).c
	down := c.Down[n.Name]
	if down && s.whenDown == element.StopClosed {
		r.Discard(n, p, element.DownReason(n.Name))
		return pass.Ended, false
	}
	past := down && s.whenDown == element.StopOpen
	by, back := s.links[in], s.links[1-in]
	if l := &c.links[by]; len(p.IP) > l.mtu && !past {
		// The sender is told of an MTU of the path. A wire is within the chain, and as wide as its interfaces are.
		r.Discard(n, p, "too-big")
		return pass.Ended, false
	}
	o := onward{stop: n, out: 1 - in, back: back, entry: p.Entry, via: p.Via}
	if !c.known.Notes(o.via) {
		o.via = netip.Addr{} // that of a chain before
	}
	sent := frame(p, c.links[back].mac, c.number(o))
	if past {
		r.Note("past the function, which is down")
		r.Step(n, -1, p)
		r.Count(element.BypassCounter(n.Name), &pass.Packet{Size: len(sent)})
		c.past = append(c.past, arrival{back, sent})
		if !slices.Contains(c.ways, by) {
			c.ways = append(c.ways, by)
		}
		return pass.Ended, true
	}
	r.Note("to the function behind interface %s", c.links[by].name)
	r.Step(n, -1, p)
	r.Result.Out = append(r.Result.Out, pass.Out{Interface: by, Frame: sent, Tagged: true})
	return pass.Ended, true
}

// arrival is a frame that goes past a function which is down: it comes in by a link as if the function had sent it.
type arrival struct {
	link  int
	frame []byte
}

// onward is all that the chain keeps of packets at a stop.
type onward struct {
	stop  *graph.Node // nil: the chain has it no more
	out   int         // the stop's output by which they go on
	back  int         // the link by which they come back
	entry int
	via   netip.Addr
}

// nonce is that of the frames of all chains: each knows the numbers of those before.
const nonce = 0x7300

// number is what packets at stops go on by. There are as many numbers as the chain has next hops, links and stops.
func (c *Chain) number(o onward) net.HardwareAddr {
	n := slices.Index(c.away, o)
	if n < 0 {
		n = len(c.away)
		c.away = append(c.away, o)
	}
	mac := tag.Continuation{Nonce: nonce, Number: uint32(n)}.MAC()
	return mac[:]
}

// returned is how the packet of a frame goes on that came in by a link; false: nobody sent it out for that.
func (c *Chain) returned(link int, frame []byte) (onward, bool) {
	t, ok := continuation(frame)
	if !ok || t.Nonce != nonce || int(t.Number) >= len(c.away) {
		return onward{}, false
	}
	o := c.away[t.Number]
	return o, o.stop != nil && o.back == link
}

// carry is what packets go on by that are at a stop of the chain before.
func (c *Chain) carry(before *Chain, o onward) onward {
	if o.stop == nil {
		return o
	}
	was := o.stop.Element.(element.Stop)
	o.stop, o.back, o.entry = nil, c.linkNamed(before.links[o.back].name), c.linkNamed(before.links[o.entry].name)
	if o.entry < 0 || !c.known.Leaves(was.Interfaces[1-o.out]) {
		return o
	}
	for i := range c.Graph.Nodes {
		if now, ok := c.Graph.Nodes[i].Element.(element.Stop); ok && now.Interfaces == was.Interfaces {
			o.stop = &c.Graph.Nodes[i]
		}
	}
	return o
}

func continuation(frame []byte) (tag.Continuation, bool) {
	if len(frame) < 14 {
		return tag.Continuation{}, false
	}
	return tag.FromMAC([6]byte(frame[6:12]))
}

func isTagged(frame []byte) bool {
	return len(frame) >= 14 && tag.IsMark([6]byte(frame[6:12])) && [6]byte(frame) != element.TapDestination
}

// untagged is a frame as it is compared: which continuation it has is up to the engine.
func untagged(o pass.Out) []byte {
	if !o.Tagged {
		return o.Frame
	}
	return slices.Concat(o.Frame[:6], bytes.Repeat([]byte{0}, 6), o.Frame[12:])
}
