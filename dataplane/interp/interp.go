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
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Options are what a chain leaves to whoever runs it.
type Options struct {
	// MACs are the devices' addresses, by interface index, for interfaces that
	// the chain gives none. Missing ones are 02:73:6e:00:00:<index>.
	MACs []net.HardwareAddr
	// Trace, if set, is told every element that a packet passes, in order; the
	// copies of a tee one after the other.
	Trace func(Step)
	// PortOverlapping lets NAPTs give one outside address and port to several flows of a protocol at the same
	// time, as long as their remotes differ (RFC 7857 section 3). Without, none does.
	PortOverlapping bool
}

// Step is a packet's passage through one element.
type Step struct {
	Node string
	// Port is the output port that the packet left by; -1: it ended here.
	Port int
	// Packet is the packet as it left the element.
	Packet headerspace.Packet
	// Note says why, in words: the rule, the route, the binding.
	Note string
}

// Result is the fate of one frame: every copy of the packet and every answer
// to it is in exactly one of the lists, except packets that an answer replaced.
type Result struct {
	Out   []Out
	Drops []Drop
}

// Out is a frame that leaves.
type Out struct {
	Interface int
	Frame     []byte
	// Unresolved frames wait for NextHop to answer ARP; their destination MAC is zero.
	Unresolved bool
	NextHop    netip.Addr
}

// Drop is a packet that ended, and why.
type Drop struct{ Reason string }

// Count is a counter's value.
type Count struct{ Packets, Bytes uint64 }

// Binding is what a NAPT makes an entry for.
type Binding struct {
	Node   string
	Proto  uint8
	Inside netip.AddrPort // source; for ICMP echo the port is the identifier
	Remote netip.AddrPort // destination; port 0 for ICMP echo
	// FromOutside says of a flow that a firewall follows that its first packet came from there.
	FromOutside bool
}

// Chooser makes the run-time choice of a NAPT that needs a new binding: an
// outside address and port. allowed tells whether the NAPT may choose it now.
// ok is false if the chooser finds none; a choice that is not allowed counts as none.
type Chooser func(b Binding, allowed func(netip.AddrPort) bool) (outside netip.AddrPort, ok bool)

// Chain is a chain with its state. It is not safe for concurrent use.
type Chain struct {
	graph  *graph.Graph
	trace  func(Step)
	links  []link
	means  []meaning // by node
	counts map[string]Count
	// First fragments of pings to own addresses, the oldest is overwritten next.
	echoes   [maxEchoes]firstEcho
	nextEcho int
	overlaps bool              // Options.PortOverlapping
	tracked  map[string]*flows // by the table's name
	maxSteps int               // of a packet; no valid chain reaches it
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
	c := &Chain{graph: g, trace: opts.Trace, counts: map[string]Count{}, means: make([]meaning, len(g.Nodes)), overlaps: opts.PortOverlapping, tracked: map[string]*flows{}}
	for i, f := range g.Interfaces {
		l := link{
			name: f.Name, mac: f.MAC, addr: num(f.Prefix.Addr()), prefix: f.Prefix.Masked(),
			mtu: f.MTU, gateway: f.Gateway, refused: f.Refused, tiny: f.TinyFragments, in: f.In, vlans: f.VLANs, neighbors: map[neighbor]net.HardwareAddr{},
			answerTTL: cmp.Or(f.AnswerTTL, answerTTL),
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
	for i, n := range g.Nodes {
		inputs, _ := n.Element.Ports()
		c.maxSteps += max(inputs, 1) * maxTTLs
		c.means[i] = c.meaningOf(&n)
	}
	return c
}

// linkNamed is the index of an interface.
func (c *Chain) linkNamed(name string) int {
	return slices.IndexFunc(c.links, func(l link) bool { return l.name == name })
}

// Process runs one frame that arrives on an interface; time must not go backwards. A nil Chooser lets
// every NAPT take its next free port.
func (c *Chain) Process(now time.Duration, iface int, frame []byte, choose Chooser) Result {
	r := c.newRun(now, choose)
	r.start(iface, frame)
	r.accept()
	return r.res
}

// Peek tells what would become of a frame now, and each step that it would take; nothing is changed.
func (c *Chain) Peek(now time.Duration, iface int, frame []byte, trace func(Step)) Result {
	was := c.trace
	c.trace = trace
	defer func() { c.trace = was }()
	r := c.newRun(now, nil)
	r.start(iface, frame)
	r.abandon()
	return r.res
}

// Counters are the values of the chain's counters: of every Counter by its
// node's name, of every counting rule by the rule's.
func (c *Chain) Counters() map[string]Count { return maps.Clone(c.counts) }

// Session is a live entry of a NAPT, or of a load balancer: as if its backends were inside, with the virtual address as outside
// address.
type Session struct {
	Binding
	Outside netip.AddrPort // invalid if it is loose and the pool had no free one
	Idle    time.Duration
	Loose   bool // an engine has not chosen it; of a balancer: its client's end
}

// Sessions are the live entries of all NAPTs and load balancers, in no order.
func (c *Chain) Sessions(now time.Duration) []Session {
	var out []Session
	for _, n := range c.nats() {
		for _, e := range n.inside {
			for to, of := range e.sessions {
				if !of.lives(e.flow.proto, now) {
					continue
				}
				f := e.flow
				f.dst, f.dport = to.addr, to.port
				s := Session{Binding: n.binding(f), Idle: now - of.last, Loose: e.loose}
				if n.owns(e.out) {
					s.Outside = e.out.addrPort()
				}
				out = append(out, s)
			}
		}
	}
	for _, b := range c.balancers() {
		out = append(out, b.all(now)...)
	}
	return out
}

func (s Session) String() string {
	return fmt.Sprintf("%s: proto %d %v → %v for %v", s.Node, s.Proto, s.Inside, s.Outside, s.Remote)
}

// Continue is a changed chain with the state of this one, which ends: a NAPT that is in both, by name and as it was, keeps its
// bindings, and counters keep their values. So an engine goes on that gets another program.
func (c *Chain) Continue(g *graph.Graph, opts Options) *Chain {
	next := New(g, opts)
	before := map[string]meaning{}
	for i, n := range c.graph.Nodes {
		before[n.Name] = c.means[i]
	}
	for i, n := range g.Nodes {
		if k, ok := next.means[i].(keeping); ok {
			next.means[i] = k.resume(before[n.Name])
		}
	}
	maps.Copy(next.counts, c.counts)
	return next
}
