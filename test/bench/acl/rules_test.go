package acl

import (
	"net/netip"
	"strings"
	"testing"
)

func TestALineBecomesARule(t *testing.T) {
	rules, err := Parse("@167.175.12.2/32\t56.35.0.0/16\t0 : 65535\t1521 : 1525\t0x06/0xFF\t0x1000/0x1200\n@0.0.0.0/0\t0.0.0.0/0\t0 : 65535\t0 : 65535\t0x00/0x00\t0x1000/0x1000\n")
	if err != nil || len(rules) != 2 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	want := []Rule{
		{netip.MustParsePrefix("167.175.12.2/32"), netip.MustParsePrefix("56.35.0.0/16"), Ports{0, 65535}, Ports{1521, 1525}, "tcp", 0x10, 0x12, true},
		{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("0.0.0.0/0"), Ports{0, 65535}, Ports{0, 65535}, "", 0, 0, false}, // flags are TCP's
	}
	for i := range want {
		if rules[i] != want[i] {
			t.Errorf("rule %d is %+v, want %+v", i, rules[i], want[i])
		}
	}
}

func TestALineThatIsNoFilterIsNamed(t *testing.T) {
	for _, line := range []string{"10.0.0.0/8 x", "@10.0.0.0/40 0.0.0.0/0 0 : 1 0 : 1 0x06/0xFF 0x0/0x0"} {
		if _, err := Parse("@10.0.0.0/8 0.0.0.0/0 0 : 1 0 : 1 0x06/0xFF 0x0/0x0\n" + line); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v, want an error with line 2", line, err)
		}
	}
}
