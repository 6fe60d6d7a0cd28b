package walk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// wide is a firewall of n rules that are wide in addresses and ports: most pairs of two such rules have packets in common.
func wide(name string, n int) string {
	r := rand.New(rand.NewPCG(1, uint64(name[len(name)-1])))
	prefix := func() string {
		length := r.IntN(9)
		return fmt.Sprintf("%d.0.0.0/%d", r.IntN(256)&(0xff00>>length), length)
	}
	ports := func() string {
		a, b := r.IntN(65536), r.IntN(65536)
		return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: %s\n    firewall:\n      default: Drop\n      rules:\n", name)
	for i := range n {
		fmt.Fprintf(&b, "      - {action: %s, source: [%s], destination: [%s], protocol: tcp, sourcePorts: [%s], destinationPorts: [%s]}\n",
			[]string{"Accept", "Drop"}[i%2], prefix(), prefix(), ports(), ports())
	}
	return b.String()
}

// The product of two lists of wide rules fits one look-up, but a packet would come by hundreds of boxes in it, and by a few in each list.
func TestLookupsStayApartWhoseProductTakesLongWalks(t *testing.T) {
	r := synthesized(t, parsed(t, rowOf(wide("fw1", 400)+wide("fw2", 400), ", fw1, fw2")), synth.Options{})
	i := slices.IndexFunc(r.Cuts, func(c synth.Cut) bool { return c.Function == "fw2" })
	if i < 0 {
		t.Fatalf("the cut before the second firewall is not among %v", r.Cuts)
	}
	c := r.Cuts[i]
	if c.Reason != walk.CutLongWalk || !slices.Equal(c.From, []string{"from inside"}) || !slices.Equal(c.Behind, []string{"fw1"}) || c.Units > 0 {
		t.Errorf("the cut is %+v", c)
	}
	if c.One.Steps < 1.25*c.Apart.Steps || c.Apart.Longest < 5 {
		t.Errorf("a walk through one takes %+v, and through both %+v", c.One, c.Apart)
	}
	says := fmt.Sprintf("a walk through one for all would take %.0f steps (at most %d), one after the other %.0f (%d); a packet takes one look-up more", c.One.Steps, c.One.Longest, c.Apart.Steps, c.Apart.Longest)
	if !strings.Contains(c.String(), says) {
		t.Errorf("%q does not say %q", c, says)
	}
	for _, s := range r.Program.GetSegments() {
		if w := trees.Of(s.GetTable(), false); w.Longest > c.Apart.Longest {
			t.Errorf("segment %s: a walk takes up to %d steps, through both lists %d", s.GetName(), w.Longest, c.Apart.Longest)
		}
	}
}

// Only the look-up that multiplies the walks stays apart. A list of few sources is one look-up with the wide list before it.
func TestOnlyLookupsThatMultiplyWalksStayApart(t *testing.T) {
	r := synthesized(t, parsed(t, rowOf(wide("fw1", 400)+wide("fw2", 400)+accepting("hosts", 30, ofSource), ", fw1, fw2, hosts")), synth.Options{})
	var there []synth.Cut
	for _, c := range r.Cuts {
		if slices.Contains(c.From, "from inside") || slices.Contains(c.From, "at fw2/inside") {
			there = append(there, c)
		}
	}
	if len(there) != 1 || there[0].Function != "fw2" || there[0].Reason != walk.CutLongWalk {
		t.Errorf("of packets from inside the cuts are %+v, want one before fw2", there)
	}
}

// Look-ups that were kept apart stay so in the next version of a chain, and its reason is told.
func TestASessionKeepsWhatTookLongWalksApart(t *testing.T) {
	var s synth.Session
	for _, last := range []string{"9.0.0.0/8", "11.0.0.0/8"} {
		rules := wide("fw1", 400) + wide("fw2", 400) + "      - {action: Accept, source: [" + last + "], protocol: udp}\n"
		r, err := s.Synthesize(parsed(t, rowOf(rules, ", fw1, fw2")), synth.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Cuts, func(c synth.Cut) bool { return c.Reason == walk.CutLongWalk && c.One.Steps > 0 }) {
			t.Errorf("with a rule on %s the cut for long walks is not among %v", last, r.Cuts)
		}
	}
	if s.Taken() == 0 {
		t.Error("the second version took nothing over")
	}
}

// A changed rule must be live soon. So a session judges a table again only if it has grown by a quarter.
func TestASessionJudgesWalksOnce(t *testing.T) {
	g := chainOf(t, "acl1_713", "fw1_713")
	at := slices.IndexFunc(g.Nodes, func(n graph.Node) bool { return n.Name == "f1/inside" })
	var s synth.Session
	versions := 0
	made := func(change func(rules []element.Rule) []element.Rule) int {
		next := *g
		next.Nodes = slices.Clone(g.Nodes)
		e := next.Nodes[at].Element.(element.Classifier)
		e.Rules = change(slices.Clone(e.Rules))
		next.Nodes[at].Element = e
		versions++
		return allocated(func() {
			if _, err := s.Synthesize(&next, synth.Options{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	turned := func(rules []element.Rule) []element.Rule {
		rules[20+versions].Out ^= 1
		return rules
	}
	first, second := made(turned), made(turned)
	t.Logf("the first version took %d KB, the second one %d KB", first>>10, second>>10)
	if second > first/2 {
		t.Errorf("the second version took %d KB, the first one %d: at most half is allowed, as judging takes a third of the first", second>>10, first>>10)
	}
}
