package dispatch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// ShardBits is the usual: 128 shards. The engine has fewer where a pool is too small for so many, and says so.
const ShardBits = 7

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
	refusals := map[Dispatcher][]string{Flow: make([]string, len(caps)), RSS: make([]string, len(caps))}
	count := map[Dispatcher]int{}
	for i := range caps {
		refusals[Flow][i] = flowRefusal(p, uint32(i), &caps[i], workers, shardBits)
		refusals[RSS][i] = rssRefusal(&caps[i], workers, shardBits)
		for _, d := range [...]Dispatcher{Flow, RSS} {
			if refusals[d][i] == "" {
				count[d]++
			}
		}
	}
	best := Software
	switch {
	case count[Flow] > 0 && count[Flow] >= count[RSS]:
		best = Flow
	case count[RSS] > 0:
		best = RSS
	}
	out := Choice{Shards: Shards{Dispatcher: best, Bits: shardBits}}
	if best == RSS {
		out.Shards.Key = SymmetricKey(keyBytes)
	}
	for i := range caps {
		c := PortChoice{Interface: p.GetInterfaces()[i].GetName()}
		if best != Software && refusals[best][i] == "" {
			c.Dispatcher = best
		}
		c.Why = why(c.Dispatcher, best, refusals[Flow][i], refusals[RSS][i])
		out.Ports = append(out.Ports, c)
	}
	return out
}

// Hardware tells whether no port needs the engine to hand packets over.
func (c *Choice) Hardware() bool {
	return !slices.ContainsFunc(c.Ports, func(p PortChoice) bool { return p.Dispatcher == Software })
}

// Message is a line for each port, for the condition HardwareDispatch.
func (c *Choice) Message() string {
	var lines []string
	for _, p := range c.Ports {
		line := p.Interface + ": " + p.Dispatcher.String()
		if p.Why != "" {
			line += " (" + p.Why + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// keyBytes is the usual length of RSS keys; devices with longer ones repeat it.
const keyBytes = 40

// why tells why a port has no stronger dispatcher.
func why(is, shards Dispatcher, flow, rss string) string {
	var parts []string
	for _, d := range [...]struct {
		Dispatcher
		refusal string
	}{{Flow, flow}, {RSS, rss}} {
		if d.Dispatcher <= is {
			continue
		}
		if d.refusal == "" {
			d.refusal = fmt.Sprintf("the chain's ports share one function from flows to shards, and more of them can do %v", shards)
		}
		parts = append(parts, fmt.Sprintf("no %v: %s", d.Dispatcher, d.refusal))
	}
	return strings.Join(parts, "; ")
}

// flowRefusal is why flow rules cannot give each of several workers its shards; empty if they can.
func flowRefusal(p *programpb.Program, iface uint32, caps *Capabilities, workers, shardBits int) string {
	if caps.Rules == 0 {
		if caps.Refused != "" {
			return "the device takes no flow rules: " + caps.Refused
		}
		return "the device takes no flow rules"
	}
	in := Input{
		Program: p, Interface: iface, Capabilities: *caps, Shards: Shards{Bits: shardBits},
		Groups: []Group{{Queues: spread(max(workers, 2), shardBits)}},
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

// spread gives each worker its share of the shards.
func spread(workers, shardBits int) []uint16 {
	out := make([]uint16, 1<<shardBits)
	for i := range out {
		out[i] = uint16(i * workers >> shardBits)
	}
	return out
}

func rssRefusal(caps *Capabilities, workers, shardBits int) string {
	workers = max(workers, 2)
	switch r := caps.RSS; {
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
