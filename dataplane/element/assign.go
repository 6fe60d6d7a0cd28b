package element

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// MaxReplicas is how many replicas of a function outside of the chain there may be.
const MaxReplicas = 8

// Replica is one of several functions outside of the chain that do the same. Packets of the flows in its table go through it.
type Replica struct {
	Flows Passing
	// Interfaces are the wires of its Stop.
	Interfaces [StopSides]string
	// Draining tells that no new flow is to be its own.
	Draining bool
}

// Key is what the replica is chosen by for new flows: it depends on the name of its table alone, so others may come and go.
func (r Replica) Key() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(r.Flows.Table)) // never fails
	return h.Sum64()
}

// Assign stands before replicas of a function. A packet of a flow that one of them has leaves by that replica's output; another one by that of the replica
// which Pick says. docs/elements.md, "assign".
type Assign struct {
	Replicas []Replica
	// FromOutside tells from which side packets come here, as Bypass's.
	FromOutside bool
}

// Pick is the replica of a new flow between two hosts, in any order, and of packets that tell no flow: by rendezvous hashing (Thaler and Ravishankar, 1998)
// among those that are up and not draining. If there are none: among those that are up, else among those that are not draining, else among all.
func (a Assign) Pick(first, second uint32, up func(replica int) bool) int {
	willing := func(i int) bool { return !a.Replicas[i].Draining }
	for _, fits := range []func(int) bool{func(i int) bool { return up(i) && willing(i) }, up, willing, func(int) bool { return true }} {
		if i := a.highest(first, second, fits); i >= 0 {
			return i
		}
	}
	return -1
}

// highest is the replica with the highest weight among those that fit; of equal ones the first. -1: none fits.
func (a Assign) highest(first, second uint32, fits func(int) bool) int {
	hosts := Mix(uint64(min(first, second))<<32 | uint64(max(first, second)))
	best, most := -1, uint64(0)
	for i, r := range a.Replicas {
		if weight := Mix(hosts ^ r.Key()); fits(i) && (best < 0 || weight > most) {
			best, most = i, weight
		}
	}
	return best
}

// Mix is MurmurHash3's finalizer: the same for everyone.
func Mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Kind implements Element.
func (Assign) Kind() string { return "assign" }

// Ports implements Element.
func (a Assign) Ports() (in, out int) { return 1, len(a.Replicas) }

// Traits implements Element. Errors go where the flow does whose packet they quote.
func (a Assign) Traits() Traits { return Traits{Reads: Passing{}.reads(), Stateful: true} }

// PortNames implements Named.
func (a Assign) PortNames() (names []string) {
	for _, r := range a.Replicas {
		names = append(names, r.Flows.Table)
	}
	return names
}

// String is the element as a dump shows it.
func (a Assign) String() string {
	var to []string
	for _, r := range a.Replicas {
		name := r.Flows.Table
		if r.Draining {
			name += " (draining)"
		}
		to = append(to, name)
	}
	return a.Kind() + " to " + strings.Join(to, ", ")
}

// Assigned stands before a replica: a flow whose packet comes here is the replica's.
type Assigned struct {
	Flows       Passing
	FromOutside bool // as Assign's
}

// Kind implements Element.
func (Assigned) Kind() string { return "assigned" }

// Ports implements Element.
func (Assigned) Ports() (in, out int) { return 1, 1 }

// Traits implements Element.
func (a Assigned) Traits() Traits { return Traits{Reads: a.Flows.reads(), Stateful: true} }

// String is the element as a dump shows it.
func (a Assigned) String() string {
	t := a.Flows.Timeouts
	return fmt.Sprintf("%s %s, at most %d flows, tcp %s/%s/%s udp %s icmp %s", a.Kind(), a.Flows.Table, a.Flows.Max, t.TCP, t.TCPTransitory, t.TCPClosing, t.UDP, t.ICMP)
}
