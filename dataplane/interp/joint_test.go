package interp

import (
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// answersBetween is nested, with timeouts for UDP. What comes from outside with a TTL of 1 is answered between the NAPTs.
func answersBetween(first, last time.Duration) *Chain {
	b := nested()
	for name, timeout := range map[string]time.Duration{"nat-a": first, "isp": last} {
		e, _ := b.g.Nodes[b.node(name)].Element.(element.NAPT)
		e.Timeouts.UDP = timeout
		b.g.Nodes[b.node(name)].Element = e
	}
	expired := b.add("expired", element.Classifier{Outs: 2, Default: 1, Rules: []element.Rule{{Name: "last", Filters: []headerspace.Filter{filter(headerspace.TTL, one(1))}}}})
	answer := b.add("answer", element.ICMPError{Type: 11, Source: ip("192.0.2.1")})
	b.wire(b.node("isp"), element.NAPTInside, expired, 0)
	b.wire(expired, 0, answer, 0)
	b.wire(answer, 0, b.node("isp"), element.NAPTInside)
	b.wire(expired, 1, b.node("split"), 0)
	return b.chain()
}

// stops sends a packet to an outside port that is answered between the NAPTs, or dropped there.
func stops(t *testing.T, c *Chain, at float64, port uint16, bound bool) {
	t.Helper()
	p := back(udp(53, port), "192.0.2.10")
	p.ttl = 1
	seen := Result{Drops: []Drop{{element.ReasonNATNoBinding}}}
	if bound {
		seen = c.Peek(seconds(at), outside, p.frame(), nil)
		only(t, seen)
	}
	if _, diff := c.ProcessAgainst(seconds(at), outside, p.frame(), Seen{Result: seen}); len(diff) != 0 {
		t.Error(diff)
	}
}

func TestAJointSessionEndsWithTheShortestTimeout(t *testing.T) {
	c := answersBetween(15*time.Second, 20*time.Second)
	p := udp(1, 53)
	chose(t, c, 0, p, shownAs(2001), bothNAPTs(p, 2001))
	stops(t, c, 15, 2001, true)
	stops(t, c, 31, 2001, false)
	chose(t, c, 32, p, shownAs(2002), bothNAPTs(p, 2002))
	comesBack(t, c, 33, 2002)
}

// TestAJointSessionIsThatOfTheFirstNAPTToo has packets use it which never come to the first NAPT.
func TestAJointSessionIsThatOfTheFirstNAPTToo(t *testing.T) {
	c := answersBetween(15*time.Second, 20*time.Second)
	p := udp(1, 53)
	chose(t, c, 0, p, shownAs(2001), bothNAPTs(p, 2001))
	stops(t, c, 10, 2001, true)
	stops(t, c, 20, 2001, true)
	comesBack(t, c, 30, 2001)
	stops(t, c, 40, 2001, true)
	chose(t, c, 50, p, shownAs(2001), nil)
	stops(t, c, 66, 2001, false)
}
