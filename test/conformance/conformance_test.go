package conformance

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

var (
	packetCount = flag.Int("packets", 40_000, "how many packets to send, over all scenarios")
	shown       = flag.Int("shown", 5, "how many unexplained packets of a scenario to tell in full")
	seed        = flag.Uint64("seed", 1, "what the packets are drawn from")
)

const batchSize = 64

func TestSinterForwardsAsLinuxDoesButForTheListedDifferences(t *testing.T) {
	lab.Require(t, "nft")
	used := map[string]int{}
	shares := 0
	for _, s := range scenarios {
		shares += s.share()
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			c := newComparison(newRig(t, s, nil), used)
			c.send(t, *packetCount*s.share()/shares)
			t.Logf("%d packets, %d of them of conversations, %d also alone", c.sent, c.spoken, c.alone)
			if len(c.unexplained) > 0 {
				t.Error(c.report())
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, d := range differences {
		t.Logf("%6d packets: %s", used[d.name], d.name)
	}
	for _, name := range stale(used) {
		t.Errorf("no packet showed the difference %q any more: take it out of the list, and out of docs/conformance.md", name)
	}
}

func TestADifferenceThatIsNotListedFailsTheComparison(t *testing.T) {
	lab.Require(t, "nft")
	for name, c := range map[string]struct{ linux, sinter, want string }{
		"router":   {"via: 10.3.0.2}", "via: 10.3.0.6}", "forwarded, destination MAC"},
		"stateful": {"strict: false", "maxFlows: 1", "SYN: only Linux sent (forwarded)"},
		"strict": {
			"{from: Outside, destination: [10.1.0.0/28], protocol: esp, action: Accept}",
			"{from: Outside, state: [Established], tcpFlags: {set: [FIN]}, action: Drop}", "FIN: only Linux sent (forwarded)",
		},
	} {
		s := scenarios[slices.IndexFunc(scenarios, func(s *scenario) bool { return s.name == name })]
		other := *s
		other.functions = strings.Replace(s.functions, c.linux, c.sinter, 1)
		_, program := other.chain(t)
		k := newComparison(newRig(t, s, program), map[string]int{})
		k.send(t, 1500)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(k.unexplained)), func(k string) bool { return strings.HasSuffix(k, c.want) }) {
			t.Errorf("%s: Sinter did %q where Linux did %q, and that is all that the comparison said:\n%s", name, c.sinter, c.linux, k.report())
		}
	}
}

func TestADifferenceThatNoPacketShowsIsStale(t *testing.T) {
	used := map[string]int{}
	for _, d := range differences[1:] {
		used[d.name] = 1
	}
	if got := stale(used); len(got) != 1 || got[0] != differences[0].name {
		t.Errorf("the stale differences are %q, want that which no packet showed, %q", got, differences[0].name)
	}
}

// stale are the differences that no packet showed.
func stale(used map[string]int) (names []string) {
	for _, d := range differences {
		if used[d.name] == 0 {
			names = append(names, d.name)
		}
	}
	return names
}

// comparison sends batches through a rig, and judges what comes out.
type comparison struct {
	*rig
	used        map[string]int       // packets by difference
	refused     map[uint32]int       // packets that Linux did not forward, by source
	only        [sides]map[flow]bool // flows, in both directions, of packets that one side alone sent on or answered
	sent, alone int
	spoken      int            // packets of conversations
	unexplained map[string]int // by what was different
	shown       []string
}

func newComparison(r *rig, used map[string]int) *comparison {
	return &comparison{rig: r, used: used, refused: map[uint32]int{}, only: [sides]map[flow]bool{{}, {}}, unexplained: map[string]int{}}
}

// send draws packets and compares them.
func (c *comparison) send(t *testing.T, n int) {
	t.Helper()
	g := newGenerator(*seed, c.scenario, c.nat)
	for c.sent < n {
		c.run(t, g.batch(batchSize))
	}
}

// run compares a batch. A packet with which something is different that no listed difference explains is sent again alone,
// so that neither a lost frame nor a misleading tag fails the test.
func (c *comparison) run(t *testing.T, batch []*probe) {
	t.Helper()
	together := slices.DeleteFunc(slices.Clone(batch), func(p *probe) bool { return p.solo })
	outs := c.exchange(t, together)
	by, ok := owners(together, outs)
	c.sent += len(batch)
	for _, p := range batch {
		if p.talk != nil {
			c.spoken++
		}
		if !p.solo {
			if !ok {
				by[p] = new([sides][]output)
			}
			c.note(p, by[p])
			if ok && c.judge(p, by[p], false) {
				c.settle(p, by[p])
				continue
			}
		}
		c.alone++
		before := c.drops(t)
		outs := c.exchange(t, []*probe{p})
		c.note(p, &outs)
		p.dropped = since(c.drops(t), before)
		c.judge(p, &outs, true)
		c.settle(p, &outs)
	}
}

// judge looks for each mismatch among the listed differences, and notes the packet unless something is
// left that may be looked at once more.
func (c *comparison) judge(p *probe, outs *[sides][]output, final bool) bool {
	e := newEvidence(c, p, outs)
	explained := map[string]bool{}
	var left []*mismatch
	for _, m := range e.mismatches {
		i := slices.IndexFunc(differences, func(d *difference) bool { return d.explains(e, m) })
		if i < 0 {
			left = append(left, m)
			continue
		}
		explained[differences[i].name] = true
	}
	if len(left) > 0 && !final {
		return false
	}
	for name := range explained {
		c.used[name]++
	}
	if len(left) > 0 {
		c.fail(p, left)
	}
	return true
}

func (c *comparison) fail(p *probe, left []*mismatch) {
	for _, m := range left {
		c.unexplained[p.kind+": "+m.short()]++
	}
	if len(c.shown) < *shown {
		c.shown = append(c.shown, p.describe(left))
	}
}

func (c *comparison) report() string {
	var b strings.Builder
	for _, k := range slices.SortedFunc(maps.Keys(c.unexplained), func(x, y string) int { return c.unexplained[y] - c.unexplained[x] }) {
		fmt.Fprintf(&b, "\n%6d %s", c.unexplained[k], k)
	}
	return fmt.Sprintf("differences that are not listed (-seed %d):%s\n\nthe first of them:\n\n%s", *seed, b.String(), strings.Join(c.shown, "\n"))
}

// drops are Sinter's counts of dropped packets by reason, for messages.
func (c *comparison) drops(t *testing.T) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for _, d := range c.engine.Counters(t).GetDrops() {
		counts[d.GetReason()] = d.GetPackets()
	}
	return counts
}

// since names the reasons whose counts have risen.
func since(now, before map[string]uint64) (reasons []string) {
	for reason, n := range now {
		if n > before[reason] {
			reasons = append(reasons, reason)
		}
	}
	slices.Sort(reasons)
	return reasons
}
