package explain

import (
	"slices"
	"strings"
	"testing"
)

func TestACopyForAFunctionIsNamedAndNotFollowed(t *testing.T) {
	e := explainer(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  - {name: probe, wire: true}
  functions:
  - {name: fw, firewall: {rules: [{protocol: udp, action: Accept}], default: Drop}}
  - {name: ids, blackbox: {attachment: Tap, inside: probe}}
  - {name: nat, napt: {masquerade: true}}
  path: [inside, fw, ids, nat, outside]
`)
	out := e.follows(t, "inside", "udp", "10.0.0.7", "192.0.2.9")
	want := []string{"inside: leaves by outside to next hop 203.0.113.254, a copy leaves by probe for ids"}
	if got := told(out); !slices.Equal(got, want) {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Contains(out[0].Rewrite, "src 10.0.0.7 → 203.0.113.1") {
		t.Errorf("the packet is rewritten by %q, want its source written, whatever its copy has", out[0].Rewrite)
	}
	back, err := e.Reply(out)
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"outside: leaves by inside to next hop 10.0.0.7, a copy leaves by probe for ids"}
	if got := told(back); !slices.Equal(got, want) {
		t.Errorf("the reply: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
