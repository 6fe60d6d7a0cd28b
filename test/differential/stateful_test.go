package differential

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	firewall "github.com/sinter-nfv/sinter/dataplane/module/firewall/oracle"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestStatefulFirewallsDoWhatTheUnmergedChainDoes runs random chains, each with a stateful firewall at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential -run 'TestStateful.*/^17$' -v
func TestStatefulFirewallsDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared, states := 0, map[string]int{}
	for seed := range seeds(t, "SINTER_STATEFUL", scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "stateful firewalls", draw: (*drawer).statefuls}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
			for _, f := range firewall.FlowsOf(r.oracle.Chain, 0) {
				states[f.State]++
			}
		})
	}
	t.Logf("%d packets; flows at the end: %v", compared, states)
}

// statefuls is a line with one to three stateful firewalls among other functions.
func (d *drawer) statefuls() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("stateful firewalls", 1, 3) {
		left, right := drawStateful(d, ends)
		d.link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.link(a, b)
}

// TestAFloodOfOpeningsLeavesWhatIsEstablishedAndNoMoreThanItsBound has a firewall see many SYNs that nobody answers.
func TestAFloodOfOpeningsLeavesWhatIsEstablishedAndNoMoreThanItsBound(t *testing.T) {
	const bound, flood = 2048, 6000
	p := newPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - name: fw
    firewall: {default: Accept, stateful: true, tracking: {maxHalfOpen: 2048}}
  path: [inside, fw, outside]
`)
	p.send("inside", tcpTo("10.0.0.2", "8.8.8.8", packets.SYN, ""))
	answer := ipFrom("8.8.8.8", "10.0.0.2")
	answer.Proto, answer.Payload = packets.ProtoTCP, packets.TCP(answer.Src, answer.Dst, 80, 40000, packets.SYN|packets.ACK, 5000, nil, nil)
	p.send("outside", answer)
	p.send("inside", tcpTo("10.0.0.2", "8.8.8.8", packets.ACK, ""))
	for i := range uint32(flood) {
		syn := tcpTo("10.0.0.2", "8.8.8.8", packets.SYN, "")
		syn.Src += 1 + i/250
		syn.Payload = packets.TCP(syn.Src, syn.Dst, uint16(2000+i%250), 80, packets.SYN, i, nil, nil)
		p.send("inside", syn)
	}
	states := map[string]int{}
	for _, f := range firewall.FlowsOf(p.r.oracle.Chain, p.now) {
		states[f.State]++
	}
	if states["established"] != 1 || states["opening"] > bound || states["opening"] < bound*9/10 {
		t.Errorf("%v, want the one that is established, and about %d that are opening", states, bound)
	}
	if err := p.r.finish(t.Context(), p.now); err != nil {
		t.Error(err)
	}
}
