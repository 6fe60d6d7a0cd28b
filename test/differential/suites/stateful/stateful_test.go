package stateful

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	firewall "github.com/sinter-nfv/sinter/dataplane/module/firewall/oracle"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestStatefulFirewallsDoWhatTheUnmergedChainDoes runs random chains, each with a stateful firewall at least, while time goes on between
// packets. A seed by itself:
//
//	SINTER_SEED=17 go test ./test/differential/suites/stateful -run 'TestStateful.*/^17$' -v
func TestStatefulFirewallsDoWhatTheUnmergedChainDoes(t *testing.T) {
	rig.NeedHarness(t)
	compared, states := 0, map[string]int{}
	for seed := range rig.Seeds(t, "SINTER_STATEFUL", rig.Scale(12, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig.Rig {
				r, err := rig.New(draw.Chain(rt, draw.Shape{Name: "stateful firewalls", Draw: (*draw.Drawer).Statefuls}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.Drive(t.Context(), seed, 45_000, true); err != nil {
				t.Fatalf("%v\n%s", err, rig.Dump(r.Graph))
			}
			compared += r.Stats.Packets
			for _, f := range firewall.FlowsOf(r.Oracle.Chain, 0) {
				states[f.State]++
			}
		})
	}
	t.Logf("%d packets; flows at the end: %v", compared, states)
}

// TestAFloodOfOpeningsLeavesWhatIsEstablishedAndNoMoreThanItsBound has a firewall see many SYNs that nobody answers.
func TestAFloodOfOpeningsLeavesWhatIsEstablishedAndNoMoreThanItsBound(t *testing.T) {
	const bound, flood = 2048, 6000
	p := rig.NewPair(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - name: fw
    firewall: {default: Accept, stateful: true, tracking: {maxHalfOpen: 2048}}
  path: [inside, fw, outside]
`)
	p.Send("inside", draw.TCPTo("10.0.0.2", "8.8.8.8", packets.SYN, ""))
	answer := draw.IP("8.8.8.8", "10.0.0.2")
	answer.Proto, answer.Payload = packets.ProtoTCP, packets.TCP(answer.Src, answer.Dst, 80, 40000, packets.SYN|packets.ACK, 5000, nil, nil)
	p.Send("outside", answer)
	p.Send("inside", draw.TCPTo("10.0.0.2", "8.8.8.8", packets.ACK, ""))
	for i := range uint32(flood) {
		syn := draw.TCPTo("10.0.0.2", "8.8.8.8", packets.SYN, "")
		syn.Src += 1 + i/250
		syn.Payload = packets.TCP(syn.Src, syn.Dst, uint16(2000+i%250), 80, packets.SYN, i, nil, nil)
		p.Send("inside", syn)
	}
	states := map[string]int{}
	for _, f := range firewall.FlowsOf(p.Rig.Oracle.Chain, p.Now) {
		states[f.State]++
	}
	if states["established"] != 1 || states["opening"] > bound || states["opening"] < bound*9/10 {
		t.Errorf("%v, want the one that is established, and about %d that are opening", states, bound)
	}
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}
