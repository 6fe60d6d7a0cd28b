package kernel

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/bench/acl"
)

func TestPlainRulesAreTheFilesLines(t *testing.T) {
	rules, err := acl.Parse("@10.0.0.0/8\t192.0.2.0/24\t0 : 65535\t80 : 90\t0x06/0xFF\t0x1000/0x1000\n@0.0.0.0/0\t192.0.2.1/32\t0 : 65535\t53 : 53\t0x11/0xFF\t0x0/0x0\n" +
		"@0.0.0.0/0\t0.0.0.0/0\t0 : 65535\t0 : 65535\t0x06/0xFF\t0x0/0x0\n@0.0.0.0/0\t0.0.0.0/0\t0 : 65535\t7 : 7\t0x01/0xFF\t0x0/0x0\n")
	if err != nil {
		t.Fatal(err)
	}
	text := Plain(rules)
	for _, want := range []string{
		"  ip saddr 10.0.0.0/8 ip daddr 192.0.2.0/24 tcp dport 80-90 tcp flags & 0x10 == 0x10 accept\n",
		"  ip daddr 192.0.2.1/32 udp dport 53 drop\n",
		"  meta l4proto tcp accept\n",
		"  meta l4proto 1 th dport 7 drop\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
}

// An address's chain has to have the rules that may match it, in their order, and no others: then both forms decide alike.
func TestAMapLeadsEachAddressToTheRulesThatMayMatch(t *testing.T) {
	text, err := os.ReadFile("../../data/classbench/acl1_713")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := acl.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []side{bySource, byDestination} {
		list := split(rules, by)
		covered := uint64(0)
		for k, in := range list {
			if k > 0 && in.low <= list[k-1].high {
				t.Fatalf("intervals overlap: %s", address(in.low))
			}
			covered += uint64(in.high-in.low) + 1
			for _, a := range []uint32{in.low, in.high, in.low + (in.high-in.low)/2} {
				var want []int32
				for i := range rules {
					if p := by.of(&rules[i]); p.Contains(netip.MustParseAddr(address(a))) {
						want = append(want, int32(i))
					}
				}
				if len(want) != len(in.rules) {
					t.Fatalf("%s has %d rules, want %d", address(a), len(in.rules), len(want))
				}
				for i := range want {
					if want[i] != in.rules[i] {
						t.Fatalf("%s has rule %d, want %d", address(a), in.rules[i], want[i])
					}
				}
			}
		}
		if covered == 0 {
			t.Error("no address is covered")
		}
	}
	chains := len(regexp.MustCompile(`(?m)^ chain c\d+ `).FindAllString(Mapped(rules), -1))
	if chains < 10 {
		t.Errorf("%d chains, want many", chains)
	}
}

func TestRoutesComeWithShorterPrefixesFirst(t *testing.T) {
	got := batch([]Route{{netip.MustParsePrefix("10.1.0.0/16"), "203.0.113.1"}, {netip.MustParsePrefix("0.0.0.0/0"), "203.0.113.2"}})
	if want := "route replace 0.0.0.0/0 via 203.0.113.2 dev outside\nroute replace 10.1.0.0/16 via 203.0.113.1 dev outside\n"; got != want {
		t.Errorf("batch is\n%swant\n%s", got, want)
	}
}
