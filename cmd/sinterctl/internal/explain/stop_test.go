package explain

import (
	"slices"
	"strings"
	"testing"
)

// twoStops is a chain with two functions of someone else's, one behind the other, and a NAPT between them.
const twoStops = `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  - {name: a-in, wire: true}
  - {name: a-out, wire: true}
  - {name: b-in, wire: true}
  - {name: b-out, wire: true}
  functions:
  - {name: fw, firewall: {stateful: true, rules: [{from: Inside, protocol: udp, action: Accept}], default: Drop}}
  - {name: a, blackbox: {inside: a-in, outside: a-out}}
  - {name: nat, napt: {masquerade: true}}
  - {name: b, blackbox: {inside: b-in, outside: b-out, whenDown: Closed}}
  - {name: late, firewall: {rules: [{destinationPorts: [25], protocol: udp, action: Drop}], default: Accept}}
  path: [inside, fw, a, nat, b, late, outside]
`

// told is where a story begins, and its fate.
func told(stories []Story) []string {
	var all []string
	for _, s := range stories {
		from := s.Interface
		if s.Behind != "" {
			from = "behind " + s.Behind
		}
		all = append(all, from+": "+strings.Join(s.Fate, ", "))
	}
	return all
}

func TestAPacketIsFollowedThroughFunctionsOutsideOfTheChain(t *testing.T) {
	e := explainer(t, twoStops)
	out := e.follows(t, "inside", "udp", "10.0.0.7", "192.0.2.9")
	want := []string{"inside: leaves by a-in for a", "behind a: leaves by b-in for b", "behind b: leaves by outside to next hop 203.0.113.254"}
	if got := told(out); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	segments := []string{"from inside", "outside at a", "outside at b"}
	for i, s := range out {
		if len(s.Program) == 0 || !strings.Contains(s.Program[0].Segment, segments[i]) {
			t.Errorf("%s: looked up in %+v first, want %s", told(out)[i], s.Program, segments[i])
		}
		for _, l := range s.Program {
			if len(l.Does) == 0 || len(l.Merged) == 0 {
				t.Errorf("%s: a look-up says nothing: %+v", told(out)[i], l)
			}
		}
	}
	if p := "udp 10.0.0.7:4000"; !strings.HasPrefix(out[1].Packet, p) || !slices.Contains(out[1].Rewrite, "src 10.0.0.7 → 203.0.113.1") {
		t.Errorf("behind a: %s, rewritten by %q, want %s as it was at a, and its source written behind", out[1].Packet, out[1].Rewrite, p)
	}
	back, err := e.Reply(out)
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"outside: leaves by b-out for b", "behind b: leaves by a-out for a", "behind a: leaves by inside to next hop 10.0.0.7"}
	if got := told(back); !slices.Equal(got, want) {
		t.Errorf("the reply: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !back[0].Reply || back[1].Reply {
		t.Errorf("the first story of the reply says %v, the next one %v, want it of the first alone", back[0].Reply, back[1].Reply)
	}
}

func TestNoReplyIsExplainedToWhatEndsBehindAFunction(t *testing.T) {
	e := explainer(t, strings.Replace(twoStops, "destinationPorts: [25]", "destinationPorts: [80]", 1))
	out := e.follows(t, "inside", "udp", "10.0.0.7", "192.0.2.9")
	if got := told(out); len(got) != 3 || !strings.HasPrefix(got[2], "behind b: dropped as late/") {
		t.Errorf("got %q, want a packet that is dropped behind b", got)
	}
	if back, err := e.Reply(out); err == nil {
		t.Errorf("got %q, want an error: the packet does not leave the chain", told(back))
	}
}

// TestPassagesHaveABound has a packet pass a function again and again.
func TestPassagesHaveABound(t *testing.T) {
	e := explainer(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: a-in, wire: true}
  - {name: a-out, wire: true}
  functions:
  - {name: a, blackbox: {inside: a-in, outside: a-out}}
  - name: count
    elements:
      elements: [{name: one, kind: DecTTL}]
      links: [{from: inside, to: one}, {from: one.alive, to: outside}]
  links:
  - {from: inside, to: count.inside, direction: Forward}
  - {from: count.outside, to: a.inside, direction: Forward}
  - {from: a.outside, to: count.inside, direction: Forward}
`)
	if n := len(e.follows(t, "inside", "udp", "10.0.0.7", "192.0.2.9")); n != maxPassages {
		t.Errorf("%d passages of a loop are explained, want %d", n, maxPassages)
	}
}
