package explain

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
)

// explainer compiles the spec of a chain.
func explainer(t *testing.T, spec string) *Explainer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chain.yaml")
	text := "apiVersion: nfv.sinter.dev/v1alpha1\nkind: ServiceChain\nmetadata: {name: c}\nspec:\n" + spec
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := compile.Files(compile.Input{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	return New(c.Graph, c.Result)
}

// sends explains a packet that enters by the interface of a name.
func (e *Explainer) sends(t *testing.T, in, proto, src, dst string) Story {
	t.Helper()
	return e.follows(t, in, proto, src, dst)[0]
}

// follows explains such a packet, and what comes of it behind functions outside of the chain.
func (e *Explainer) follows(t *testing.T, in, proto, src, dst string) []Story {
	t.Helper()
	i, err := e.Interface(in)
	if err != nil {
		t.Fatal(err)
	}
	s := Spec{Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst), Proto: proto, SPort: 4000, DPort: 80, TTL: 64, VLAN: -1, ICMPType: 8}
	frame, err := s.Frame(e.MAC(i))
	if err != nil {
		t.Fatal(err)
	}
	return e.Follow(i, frame)
}

func TestAFurtherAddressAnswersPingsAndLeavesTheRestToWhatTranslatesToIt(t *testing.T) {
	e := explainer(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - name: outside
    address: 203.0.113.1/24
    gateway: 203.0.113.254
    addresses: [203.0.113.5, 198.51.100.7, 203.0.113.6]
  functions:
  - {name: nat, napt: {pool: [203.0.113.6]}}
  path: [inside, nat, outside]
`)
	for _, c := range []struct{ what, proto, dst, want string }{
		{"a ping to an address within the prefix", "icmp", "203.0.113.5", "leaves by outside to next hop 203.0.113.254"},
		{"a ping to an address outside of it", "icmp", "198.51.100.7", "leaves by outside to next hop 203.0.113.254"},
		{"a ping to an address that a pool holds", "icmp", "203.0.113.6", "leaves by outside to next hop 203.0.113.254"},
		{"TCP to an address that a pool holds", "tcp", "203.0.113.6", "dropped as nat-no-binding: it belongs to no binding of the NAT"},
	} {
		s := e.sends(t, "outside", c.proto, "192.0.2.9", c.dst)
		if got := strings.Join(s.Fate, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	bound := e.sends(t, "inside", "tcp", "10.0.0.7", "192.0.2.9")
	if len(bound.Out) != 1 {
		t.Fatalf("a packet from inside does not leave: %v", bound.Fate)
	}
	s, err := e.Reply([]Story{bound})
	if err != nil {
		t.Fatal(err)
	}
	if len(s) != 1 || strings.Join(s[0].Fate, ", ") != "leaves by inside to next hop 10.0.0.7" {
		t.Errorf("a reply to an address of the interface's that the NAT uses: %+v", s)
	}
	if p := e.result.Program.GetInterfaces()[1].GetProxy(); len(p) != 3 {
		t.Errorf("ARP is answered for %d further addresses, want 3: %v", len(p), p)
	}
}

func TestTheOutsideAddressAnswersPingsFromBehindTheRouterAndTheNAPT(t *testing.T) {
	e := explainer(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - name: rt
    router: {routes: [{prefix: 0.0.0.0/0, port: outside}, {prefix: 203.0.0.0/16, port: outside}, {prefix: 172.16.0.0/12, port: inside, via: 10.0.0.2}]}
  - {name: fw, firewall: {default: Accept}}
  - {name: nat, napt: {pool: [203.0.113.6]}}
  path: [inside, rt, fw, nat, outside]
`)
	for in, dst := range map[string]string{"inside": "203.0.113.1", "outside": "203.0.113.1"} {
		src := map[string]string{"inside": "10.0.0.7", "outside": "203.0.113.9"}[in]
		if s := e.sends(t, in, "icmp", src, dst); !strings.HasPrefix(strings.Join(s.Fate, ", "), "leaves by "+in+" to next hop "+src) {
			t.Errorf("a ping from %s to %s by %s: %v", src, dst, in, s.Fate)
		}
	}
}

func TestRoutesThatLeadNowhereAreSilentOrAnswerWithTheirICMPCodes(t *testing.T) {
	e := explainer(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside}
      - {prefix: 10.0.0.0/8, type: Discard}
      - {prefix: 172.16.0.0/12, type: Unreachable}
      - {prefix: 192.168.0.0/16, type: Prohibit}
      - {prefix: 192.168.7.0/24, port: outside}
  path: [inside, rt, outside]
`)
	for dst, want := range map[string]string{
		"10.9.0.1":    "dropped as rt/discard",
		"172.16.0.1":  "icmp 10.0.0.1 → 10.0.0.7, icmp-type 3, icmp-code 1,",
		"192.168.0.1": "icmp 10.0.0.1 → 10.0.0.7, icmp-type 3, icmp-code 13,",
		"192.168.7.1": "leaves by outside to next hop 203.0.113.254",
		"8.8.8.8":     "leaves by outside to next hop 203.0.113.254",
	} {
		s := e.sends(t, "inside", "udp", "10.0.0.7", dst)
		got := s.Answer
		if got == "" {
			got = strings.Join(s.Fate, ", ")
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("to %s: %s, want %s", dst, got, want)
		}
	}
}

func TestAPacketThatNeverArrivesIsToldWhy(t *testing.T) {
	e := explainer(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24}
  functions:
  - name: elsewhere
    elements:
      elements: [{name: write, kind: SetField, setField: {field: Destination, value: 203.0.113.255}}]
      links: [{from: inside, to: write}, {from: write, to: outside}, {from: outside, to: inside}]
  - name: split
    elements:
      elements: [{name: ours, kind: Filter, filter: {match: [{destination: [192.0.2.0/24]}]}}]
      ports: [inside, outside, written]
      links: [{from: inside, to: ours}, {from: ours.pass, to: written}, {from: ours.drop, to: outside}, {from: outside, to: inside}, {from: written, to: inside}]
  links:
  - {from: inside, to: split.inside}
  - {from: split.written, to: elsewhere.inside}
  - {from: elsewhere.outside, to: outside, direction: Forward}
  - {from: split.outside, to: outside}
`)
	for _, c := range []struct{ src, dst, want string }{
		{"10.0.0.7", "203.0.113.9", "leaves by outside to next hop 203.0.113.9"},
		{"10.0.0.7", "198.51.100.9", "dropped as no-next-hop: its destination is not on-link"},
		{"10.0.0.7", "192.0.2.9", "leaves by outside to next hop 203.0.113.255, and never arrives: that is the broadcast address of 203.0.113.0/24"},
		{"127.0.0.1", "203.0.113.9", "dropped as martian: no packet may come from its source"},
	} {
		if s := e.sends(t, "inside", "udp", c.src, c.dst); !strings.HasPrefix(strings.Join(s.Fate, ", "), c.want) {
			t.Errorf("from %s to %s: %v, want %s", c.src, c.dst, s.Fate, c.want)
		}
	}
}

func TestAReplyThatNeverArrivesIsToldWhy(t *testing.T) {
	const spec = `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254%s}
  functions:
  - name: one-to-one
    elements:
      elements:
      - {name: out, kind: SetField, setField: {field: Source, value: 203.0.113.7}}
      - {name: in, kind: SetField, setField: {field: Destination, value: 10.0.0.7}}
      links: [{from: inside, to: out}, {from: out, to: outside}, {from: outside, to: in}, {from: in, to: inside}]
  path: [inside, one-to-one, outside]
`
	const why = "outside does not answer ARP requests for 203.0.113.7, which is in its prefix"
	for addresses, want := range map[string][2]string{
		"": {
			"leaves by outside to next hop 203.0.113.254; a reply would never arrive: " + why,
			"never arrives: " + why + "; if it came all the same:, leaves by inside to next hop 10.0.0.7",
		},
		", addresses: [203.0.113.7]": {"leaves by outside to next hop 203.0.113.254", "leaves by inside to next hop 10.0.0.7"},
	} {
		e := explainer(t, fmt.Sprintf(spec, addresses))
		s := e.sends(t, "inside", "udp", "10.0.0.7", "8.8.8.8")
		if got := strings.Join(s.Fate, ", "); got != want[0] {
			t.Errorf("with %q: %s, want %s", addresses, got, want[0])
		}
		r, err := e.Reply([]Story{s})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r[0].Fate, ", "); got != want[1] {
			t.Errorf("with %q, the reply: %s, want %s", addresses, got, want[1])
		}
	}
}

func TestALoopingPacketIsSummedUp(t *testing.T) {
	e := explainer(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  functions:
  - {name: r1, router: {routes: [{prefix: 0.0.0.0/0, port: outside}, {prefix: 10.0.0.0/24, port: inside}]}}
  - {name: r2, router: {routes: [{prefix: 0.0.0.0/0, port: outside}, {prefix: 10.0.0.0/8, port: inside}]}}
  path: [inside, r1, r2, outside]
`)
	s := e.sends(t, "inside", "udp", "10.0.0.7", "10.9.0.1")
	if len(s.Chain) > 40 || len(s.Program) > 12 {
		t.Errorf("the way has %d steps and %d look-ups", len(s.Chain), len(s.Program))
	}
	var b strings.Builder
	if err := s.Text(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "more rounds (elements of a round: 4)") || !strings.Contains(text, "icmp-type 11") {
		t.Errorf("the story does not sum up the rounds, or does not tell of their end:\n%s", text)
	}
}
