package element

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Ports of Balancer. Input and output of the same side carry the same number.
const (
	BalancerBackends = 0
	BalancerClients  = 1
)

// Balancer spreads flows to virtual addresses over backends. TCP and UDP packets from clients (input 1, output 0) that go to a
// virtual address get the backend of their flow's session as destination; a new flow gets one by the Maglev table (Eisenbud et
// al., NSDI 2016). What backends send back (input 0, output 1) gets the virtual address as source. ICMP errors that quote a
// packet of a session are translated, quoted header included. All other packets leave as they came.
type Balancer struct {
	// Virtual addresses, ascending.
	Virtual []netip.Addr
	// Backends, ascending by address and port.
	Backends []Backend
	// ByClient says that the client's address alone tells the backend of a new flow.
	ByClient bool
	// Direct leaves packets as they are: the next hop of clients' packets becomes the backend. Nothing comes back from backends.
	Direct bool
	// Stateless, which is Direct, keeps no sessions: the table tells the backend of each packet.
	Stateless bool
	// Timeouts of sessions; ICMP's is not used.
	Timeouts    Timeouts
	MaxSessions int
	// Check and SlowStart are for whoever looks after the backends; no packet is treated otherwise for them.
	Check     *HealthCheck // nil: nobody checks them
	SlowStart time.Duration
	// Reasons to drop what clients send: no backend takes new flows; no room for another session; an ICMP error that quotes
	// no packet of a session.
	NoBackend, Full, NoSession string
}

// Backend is a server. Port 0 is the one that the client sends to; weight 0 gets no new flow.
type Backend struct {
	Addr   netip.Addr
	Port   uint16
	Weight int
}

// HealthCheck is how backends are checked.
type HealthCheck struct {
	HTTP               string // the path; empty: a connection is opened
	Port               uint16 // 0: the backend's
	Interval, Timeout  time.Duration
	Unhealthy, Healthy int // checks in a row
}

func (h HealthCheck) String() string {
	s := "tcp"
	if h.HTTP != "" {
		s = "http " + h.HTTP
	}
	if h.Port != 0 {
		s += fmt.Sprintf(" port %d", h.Port)
	}
	return fmt.Sprintf("%s every %s, timeout %s, %d down, %d up", s, h.Interval, h.Timeout, h.Unhealthy, h.Healthy)
}

// Kind implements Element.
func (Balancer) Kind() string { return "balancer" }

// Ports implements Element.
func (Balancer) Ports() (in, out int) { return 2, 2 }

// Traits implements Element.
func (b Balancer) Traits() Traits {
	return Traits{
		Reads: []headerspace.Field{
			headerspace.Src, headerspace.Dst, headerspace.Proto, headerspace.Frag,
			headerspace.SPort, headerspace.DPort, headerspace.ICMPType,
		},
		Writes:   append(b.WritesFrom(BalancerBackends), b.WritesFrom(BalancerClients)...),
		Stateful: true,
		TwoSided: true,
	}
}

// WritesFrom implements SidedWriter.
func (b Balancer) WritesFrom(in int) []headerspace.Field {
	if b.Direct {
		return nil
	}
	fields := []headerspace.Field{headerspace.Dst, headerspace.DPort}
	if in == BalancerBackends {
		fields = []headerspace.Field{headerspace.Src, headerspace.SPort}
	}
	if b.WritesPorts() {
		return fields
	}
	return fields[:1]
}

// WritesPorts tells whether packets get a backend's own port.
func (b Balancer) WritesPorts() bool {
	if b.Direct {
		return false
	}
	for _, s := range b.Backends {
		if s.Port != 0 {
			return true
		}
	}
	return false
}

// PortNames implements Named.
func (Balancer) PortNames() []string { return []string{"inside", "outside"} }

// VirtualSet is the virtual addresses.
func (b Balancer) VirtualSet() headerspace.Set {
	iv := make([]headerspace.Interval, len(b.Virtual))
	for i, a := range b.Virtual {
		iv[i] = headerspace.Interval{Lo: headerspace.Addr(a), Hi: headerspace.Addr(a)}
	}
	return headerspace.NewSet(iv...)
}

// BackendSet is the backends' addresses.
func (b Balancer) BackendSet() headerspace.Set {
	iv := make([]headerspace.Interval, len(b.Backends))
	for i, s := range b.Backends {
		iv[i] = headerspace.Interval{Lo: headerspace.Addr(s.Addr), Hi: headerspace.Addr(s.Addr)}
	}
	return headerspace.NewSet(iv...)
}

// String is the element as a dump shows it.
func (b Balancer) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s virtual %s, backends", b.Kind(), b.VirtualSet().Format(headerspace.Dst))
	for _, k := range b.Backends {
		fmt.Fprintf(&s, " %s", k.Addr)
		if k.Port != 0 {
			fmt.Fprintf(&s, ":%d", k.Port)
		}
		if k.Weight != 1 {
			fmt.Fprintf(&s, " weight %d", k.Weight)
		}
	}
	if b.ByClient {
		s.WriteString(", by client")
	}
	if b.Check != nil {
		fmt.Fprintf(&s, ", checked by %s", b.Check)
	}
	if b.SlowStart > 0 {
		fmt.Fprintf(&s, ", slow start %s", b.SlowStart)
	}
	if b.Stateless {
		s.WriteString(", direct, stateless")
		return s.String()
	}
	if b.Direct {
		s.WriteString(", direct")
	}
	fmt.Fprintf(&s, ", sessions %d, tcp %s/%s udp %s", b.MaxSessions, b.Timeouts.TCP, b.Timeouts.TCPTransitory, b.Timeouts.UDP)
	return s.String()
}
