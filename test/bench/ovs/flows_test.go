package ovs

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/bench/acl"
)

func TestPortsBecomeValuesWithMasksThatHaveNoOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	cases := []acl.Ports{{Low: 0, High: 0}, {Low: 65535, High: 65535}, {Low: 1, High: 65534}, {Low: 1024, High: 65535}, {Low: 80, High: 80}}
	for range 50 {
		low := r.IntN(65536)
		cases = append(cases, acl.Ports{Low: low, High: low + r.IntN(65536-low)})
	}
	for _, p := range cases {
		var count [65536]int
		for _, m := range masks(p) {
			var value, mask int
			if m == "" {
				continue // all ports
			}
			if _, err := fmt.Sscanf(m, "0x%x/0x%x", &value, &mask); err != nil {
				t.Fatal(err)
			}
			for port := range count {
				if port&mask == value {
					count[port]++
				}
			}
		}
		for port, n := range count {
			if want := map[bool]int{true: 1}[port >= p.Low && port <= p.High]; n != want && !p.Any() {
				t.Fatalf("%v: %d values have port %d, want %d", p, n, port, want)
			}
		}
	}
}

func TestTheFirstRuleHasTheHighestPriority(t *testing.T) {
	rules, err := acl.Parse("@10.0.0.0/8\t192.0.2.0/24\t0 : 65535\t80 : 81\t0x06/0xFF\t0x1000/0x1000\n@0.0.0.0/0\t192.0.2.1/32\t0 : 65535\t53 : 53\t0x00/0x00\t0x0/0x0\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"priority=65535,tcp,nw_src=10.0.0.0/8,nw_dst=192.0.2.0/24,tp_dst=0x50/0xfffe,tcp_flags=0x10/0x10,actions=in_port",
		"priority=65534,tcp,nw_src=0.0.0.0/0,nw_dst=192.0.2.1/32,tp_dst=0x35/0xffff,actions=drop",
		"priority=65534,udp,nw_src=0.0.0.0/0,nw_dst=192.0.2.1/32,tp_dst=0x35/0xffff,actions=drop",
		"priority=0,actions=drop",
	}
	if got := ACL(rules, "in_port"); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("flows\n%swant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestTheLongestPrefixHasTheHighestPriority(t *testing.T) {
	for bits, want := range map[int]string{0: "priority=100,ip,nw_dst=10.0.0.0/0", 8: "priority=108,ip,nw_dst=10.0.0.0/8"} {
		if got := Route(netip.PrefixFrom(netip.MustParseAddr("10.0.0.0"), bits), "in_port"); got != want+",actions=in_port\n" {
			t.Errorf("/%d: %q, want %q", bits, got, want)
		}
	}
}
