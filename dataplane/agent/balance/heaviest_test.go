package balance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
	"github.com/sinter-nfv/sinter/test/packets"
)

// traced are so many packets of a flow that was seen in a shard.
func traced(n, shard int, src uint32, tags ...packets.Tag) (out []*controlpb.TracedPacket) {
	ip := packets.IPv4{Src: src, Dst: 0xc0000201, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, 0xc0000201, 4500, 443, nil)}
	frame := packets.Ethernet(packets.MAC{2}, packets.MAC{4}, tags, packets.EtherIPv4, ip.Bytes(), nil)
	for range n {
		out = append(out, &controlpb.TracedPacket{Shard: uint32(shard + 1), Frames: []*controlpb.TracedFrame{{Data: frame}}})
	}
	return out
}

const (
	elephant = 0x0a000007
	mouse    = 0x0a000008
)

// TestTheHeaviestFlowOfAShardThatIsTooHeavyIsNamed as long as it is that, and only if it is to blame.
func TestTheHeaviestFlowOfAShardThatIsTooHeavyIsNamed(t *testing.T) {
	for name, k := range map[string]struct {
		packets []*controlpb.TracedPacket
		denies  error
		want    string // in what the cluster is told; empty: no flow
	}{
		"one flow has most": {
			append(traced(80, 5, elephant), traced(20, 5, mouse)...), nil,
			". Most of it is the flow udp 10.0.0.7:4500 > 192.0.2.1:443 (shard 5), which cannot be divided",
		},
		"in a VLAN":                     {traced(80, 5, elephant, packets.Tag{TPID: 0x8100, TCI: 7}), nil, "udp 10.0.0.7:4500 > 192.0.2.1:443 (shard 5)"},
		"a unit of state is two shards": {traced(80, 13, elephant), nil, "udp 10.0.0.7:4500 > 192.0.2.1:443 (shard 5)"},
		"many flows":                    {append(append(traced(30, 5, elephant), traced(30, 5, mouse)...), traced(30, 5, 0x0a000009)...), nil, ""},
		"too few packets":               {traced(19, 5, elephant), nil, ""},
		"of other shards":               {traced(80, 4, elephant), nil, ""},
		"somebody else traces":          {nil, errors.New("a trace is under way"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newSimulated(2, 8, 0.01)
			e.work[5] = 0.95
			b := balancer(e)
			e.run(t, b, 0, 500*time.Millisecond)
			e.packets, e.denies = k.packets, k.denies
			if e.sampled != 0 {
				t.Fatalf("packets were sampled %d times while no shard was too heavy", e.sampled)
			}
			e.run(t, b, 0, 2500*time.Millisecond)
			state := b.State()
			if state.Heavy != shard.Of(5) {
				t.Fatalf("too heavy are %v, want shard 5", state.Heavy)
			}
			switch got := state.TooHeavy(); {
			case k.want == "" && len(state.Flows) > 0, !strings.Contains(got, k.want):
				t.Errorf("the cluster is told %q, want %q in it", got, k.want)
			}
			if e.sampled != 1 {
				t.Errorf("packets were sampled %d times, want once a minute at most", e.sampled)
			}
			e.work[5] = 0.1
			e.run(t, b, 0, 3*time.Second)
			if got := b.State(); len(got.Flows) != 0 {
				t.Errorf("named is %v, want none any more", got.Flows)
			}
		})
	}
}
