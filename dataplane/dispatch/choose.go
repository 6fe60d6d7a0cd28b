package dispatch

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Choice is how packets of a chain's ports get to their cores.
type Choice struct {
	Shards Shards // the one function for all ports
	Ports  []PortChoice
}

// PortChoice is the dispatcher of one port.
type PortChoice struct {
	Interface  string
	Dispatcher Dispatcher
	// Why nothing stronger; empty for Flow.
	Why string
}

// Choose chooses the dispatcher of each port, the strongest that the device can do with the given number of workers and
// 1<<shardBits shards: flow rules, then RSS, then the engine itself. All ports need one function from flows to shards: where some can only do the
// one and some only the other, the one that serves more ports is taken. caps are by interface.
func Choose(p *programpb.Program, caps []Capabilities, workers, shardBits int) Choice {
	shards := Shards{Bits: shardBits}
	r := refusalsOf(p, caps, workers, shards)
	switch flow, rss := r.able(Flow), r.able(RSS); {
	case flow > 0 && flow >= rss:
		shards.Dispatcher = Flow
	case rss > 0:
		shards.Dispatcher = RSS
	}
	return r.choice(p, shards, fmt.Sprintf("the chain's ports share one function from flows to shards, and more of them can do %v", shards.Dispatcher))
}

// ChooseUnder is Choose where the function from flows to shards is settled, as there are flows already.
func ChooseUnder(shards Shards, p *programpb.Program, caps []Capabilities, workers int) Choice {
	r := refusalsOf(p, caps, workers, shards)
	return r.choice(p, shards, fmt.Sprintf("the engine's first program divided flows for %v dispatch, and that stays", shards.Dispatcher))
}

// refusals are why a dispatcher cannot be had, by port; empty if it can.
type refusals map[Dispatcher][]string

func refusalsOf(p *programpb.Program, caps []Capabilities, workers int, shards Shards) refusals {
	r := refusals{Flow: make([]string, len(caps)), RSS: make([]string, len(caps))}
	for i := range caps {
		r[Flow][i] = flowRefusal(p, uint32(i), &caps[i], workers, shards)
		r[RSS][i] = rssRefusal(&caps[i], workers, shards.Bits)
	}
	return r
}

// able is the number of ports that can do a dispatcher.
func (r refusals) able(d Dispatcher) (n int) {
	for _, refusal := range r[d] {
		if refusal == "" {
			n++
		}
	}
	return n
}

// choice is what ports do whose flows are divided for a dispatcher; other says why not for another one.
func (r refusals) choice(p *programpb.Program, shards Shards, other string) Choice {
	out := Choice{Shards: shards}
	for i := range r[Flow] {
		c := PortChoice{Interface: p.GetInterfaces()[i].GetName()}
		if by := shards.Dispatcher; by != Software && r[by][i] == "" {
			c.Dispatcher = by
		}
		c.Why = why(c.Dispatcher, other, r[Flow][i], r[RSS][i])
		out.Ports = append(out.Ports, c)
	}
	return out
}

// why tells why a port has no stronger dispatcher.
func why(is Dispatcher, other, flow, rss string) string {
	var parts []string
	for _, d := range [...]struct {
		Dispatcher
		refusal string
	}{{Flow, flow}, {RSS, rss}} {
		if d.Dispatcher <= is {
			continue
		}
		if d.refusal == "" {
			d.refusal = other
		}
		parts = append(parts, fmt.Sprintf("no %v: %s", d.Dispatcher, d.refusal))
	}
	return strings.Join(parts, "; ")
}

// flowRefusal is why flow rules cannot give each of several workers its shards; empty if they can.
func flowRefusal(p *programpb.Program, iface uint32, caps *Capabilities, workers int, shards Shards) string {
	if caps.Distrusted != "" {
		return caps.Distrusted
	}
	if caps.Rules == 0 {
		if caps.Refused != "" {
			return "the device takes no flow rules: " + caps.Refused
		}
		return "the device takes no flow rules"
	}
	in := Input{
		Program: p, Interface: iface, Capabilities: *caps, Shards: shards,
		Groups: []Group{{Queues: Spread(max(workers, 2), shards.Bits)}},
	}
	if in.wire() {
		return "the interface is a wire: where a packet goes on, its source MAC address tells"
	}
	rules, _, err := in.steering()
	switch {
	case err != nil:
		return err.Error()
	case len(rules) > caps.Rules:
		return fmt.Sprintf("queues need %d rules, the device has room for %d", len(rules), caps.Rules)
	}
	return ""
}

// Spread gives each worker its share of 1<<shardBits shards.
func Spread(workers, shardBits int) []uint16 {
	out := make([]uint16, 1<<shardBits)
	for i := range out {
		out[i] = uint16(i * workers >> shardBits)
	}
	return out
}

func rssRefusal(caps *Capabilities, workers, shardBits int) string {
	workers = max(workers, 2)
	switch r := caps.RSS; {
	case r.Refused != "":
		return r.Refused
	case r.Buckets == 0:
		return "the device has no RSS"
	case !r.Key:
		return "its hash key cannot be set, and both directions of a flow have to hash to one core"
	case !r.Ports:
		return "it does not hash ports, and NAPTs choose them so that returning packets come to the core that owns the flow"
	case r.Buckets < 1<<shardBits:
		return fmt.Sprintf("its indirection table has %d entries for %d shards", r.Buckets, 1<<shardBits)
	case caps.Queues < workers:
		return fmt.Sprintf("it has %d receive queues for %d workers", caps.Queues, workers)
	}
	return ""
}
