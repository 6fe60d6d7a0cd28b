// Package interp is the oracle: it runs a service chain unmerged, element by
// element, on the bytes of real packets, with plain tables for state. What it
// does defines what is correct (docs/elements.md); it is written to be
// obviously right and shares no code with the synthesizer or the engine.
package interp

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// Options are what a chain leaves to whoever runs it.
type Options struct {
	// MACs are the devices' addresses, by interface index, for interfaces that
	// the chain gives none. Missing ones are 02:73:6e:00:00:<index>.
	MACs []net.HardwareAddr
	// Trace, if set, is told every element that a packet passes, in order; the
	// copies of a tee one after the other.
	Trace func(pass.Step)
	// PortOverlapping lets NAPTs give one outside address and port to several flows of a protocol at the same
	// time, as long as their remotes differ (RFC 7857 section 3). Without, none does.
	PortOverlapping bool
	// Known is what an engine's program has that goes on with packets which are at stops; nil: all that the chain has.
	Known *Known
}

// Known is what a program has of a chain: what no packet needs is left out.
type Known struct {
	// Leaves tells whether packets leave for a stop by an interface.
	Leaves func(wire string) bool
	// Notes tells whether packets have a next hop on their way to a stop.
	Notes func(hop netip.Addr) bool
}

// Chain is a chain with its state. It is not safe for concurrent use.
type Chain struct {
	*pass.Chain
	links []link
	// First fragments of pings to own addresses, the oldest is overwritten next.
	echoes   [maxEchoes]firstEcho
	nextEcho int
	away     []onward // packets at stops
	known    *Known
	past     []arrival // frames that go past functions
	ways     []int     // by whose links those of the last frame would have left
}

// link is a chain interface made ready.
type link struct {
	name      string
	mac       net.HardwareAddr
	addr      uint32
	prefix    netip.Prefix
	mtu       int
	gateway   netip.Addr
	vlans     []uint16
	neighbors map[neighbor]net.HardwareAddr
	refused   []graph.Refused
	tiny      bool // first fragments that end within their transport header come in
	wire      bool // a side of a stop
	in        int
	answerTTL byte
}

// neighbor names a host on a link; vlan 0: untagged.
type neighbor struct {
	vlan uint16
	addr netip.Addr
}

// New makes a chain ready to run, with empty state.
func New(g *graph.Graph, opts Options) *Chain {
	c := &Chain{known: cmp.Or(opts.Known, &Known{func(string) bool { return true }, func(netip.Addr) bool { return true }})}
	for i, f := range g.Interfaces {
		l := link{
			name: f.Name, mac: f.MAC, addr: header.Number(f.Prefix.Addr()), prefix: f.Prefix.Masked(),
			mtu: f.MTU, gateway: f.Gateway, refused: f.Refused, tiny: f.TinyFragments, in: f.In, vlans: f.VLANs, neighbors: map[neighbor]net.HardwareAddr{},
			answerTTL: cmp.Or(f.AnswerTTL, answerTTL), wire: f.Wire,
		}
		if l.mac == nil && i < len(opts.MACs) {
			l.mac = opts.MACs[i]
		}
		if l.mac == nil {
			l.mac = net.HardwareAddr{0x02, 0x73, 0x6e, 0, 0, byte(i)}
		}
		for _, n := range f.Neighbors {
			l.neighbors[neighbor{n.VLAN, n.Addr}] = n.MAC
		}
		c.links = append(c.links, l)
	}
	c.Chain = pass.New(g, c, pass.Options{Trace: opts.Trace, PortOverlapping: opts.PortOverlapping})
	return c
}

// linkNamed is the index of an interface.
func (c *Chain) linkNamed(name string) int {
	return slices.IndexFunc(c.links, func(l link) bool { return l.name == name })
}

// Process runs one frame that arrives on an interface; time must not go backwards. A nil Chooser lets
// every NAPT take its next free port.
func (c *Chain) Process(now time.Duration, iface int, frame []byte, choose Chooser) pass.Result {
	r := c.newRun(now)
	r.Choose = choose
	r.start(iface, frame)
	r.Accept()
	return r.Result
}

// Peek tells what would become of a frame now, and each step that it would take; nothing is changed.
func (c *Chain) Peek(now time.Duration, iface int, frame []byte, trace func(pass.Step)) pass.Result {
	was := c.Trace
	c.Trace = trace
	defer func() { c.Trace = was }()
	r := c.newRun(now)
	r.start(iface, frame)
	r.Abandon()
	return r.Result
}

// Sessions are the live sessions of all elements that write addresses, in no order. Those of a load balancer are as if its backends were
// inside, with the virtual address as outside address.
func (c *Chain) Sessions(now time.Duration) (out []pass.Session) {
	for _, e := range pass.All[pass.Holding](c.Chain) {
		out = append(out, e.Sessions(now)...)
	}
	return out
}

// Evict ends the session of a flow, as its element may for another one that finds no port or no room. Anything else is an error.
func (c *Chain) Evict(now time.Duration, b pass.Binding) error {
	for _, e := range pass.All[pass.Evicting](c.Chain) {
		if mine, err := e.Evict(now, b); mine {
			return err
		}
	}
	return fmt.Errorf("there is no NAPT %q", b.Node)
}

// Continue is a changed chain with the state of this one, which ends: a NAPT that is in both, by name and as it was, keeps its
// bindings, and counters keep their values. What a stop has of the chain before goes on behind it in this one, with the next hop that it had, if the
// stop and the interface by which it came are still there; else it comes in as if nobody knew it. So an engine goes on that gets another program.
func (c *Chain) Continue(g *graph.Graph, opts Options) *Chain {
	next := New(g, opts)
	next.Resume(c.Chain)
	for _, o := range c.away {
		next.away = append(next.away, next.carry(c, o))
	}
	next.Down = maps.Clone(c.Down)
	return next
}
