package balance

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/load"
)

// Bounds of the samples by which the heaviest flow of a shard is found. They cost a busy core a few packets, so they are rare.
const (
	sampleAgain   = time.Minute
	sampleFor     = 200 * time.Millisecond
	sampleOneIn   = 64
	samplePackets = 4000
	sampleBytes   = 96 // up to the ports
	fewest        = 20 // packets of a shard by which its heaviest flow is told
	mostNamed     = 3  // flows in a status
)

// name gives shards the flows that were found to be their heaviest.
func (b *Balance) name(shards []load.Shard) {
	for i := range shards {
		shards[i].Heaviest = b.heaviest[shards[i].ID.Number]
	}
}

// blame looks for the heaviest flows of shards that are too heavy: they show among some of the packets. shards is how many there are.
func (b *Balance) blame(ctx context.Context, heavy []load.Elephant, shards int) {
	if len(heavy) == 0 {
		b.heaviest = nil
		return
	}
	now := b.clock.Now()
	unnamed := slices.ContainsFunc(heavy, func(e load.Elephant) bool { return e.Flow == "" })
	if !unnamed || now.Sub(b.sampled) < sampleAgain {
		return
	}
	b.sampled = now
	packets, err := b.engine.Sample(ctx, &controlpb.StartTrace{
		OneIn: sampleOneIn, SnapLen: sampleBytes, MaxPackets: samplePackets, DurationNs: uint64(sampleFor),
	})
	if err != nil {
		b.log.V(1).Info("the heaviest flow of a shard is not known", "error", err.Error(), "again in", sampleAgain)
		return
	}
	b.heaviest = heaviestOf(packets, shards)
}

// heaviestOf are the flows with most packets of each shard, with their shares of these.
func heaviestOf(packets []*controlpb.TracedPacket, shards int) map[int]load.Flow {
	all, of := map[int]int{}, map[int]map[string]int{}
	for _, p := range packets {
		if p.GetShard() == 0 || len(p.GetFrames()) == 0 {
			continue
		}
		s := int(p.GetShard()-1) % shards // a unit of state may be several shards of the engine's
		flow, ok := flowIn(p.GetFrames()[0].GetData())
		if !ok {
			continue
		}
		if of[s] == nil {
			of[s] = map[string]int{}
		}
		all[s]++
		of[s][flow]++
	}
	out := map[int]load.Flow{}
	for s, flows := range of {
		if all[s] < fewest {
			continue
		}
		for flow, n := range flows {
			share := float64(n) / float64(all[s])
			if is := out[s]; share > is.Share || share == is.Share && flow < is.Name {
				out[s] = load.Flow{Name: flow, Share: share}
			}
		}
	}
	return out
}

const (
	etherIPv4 = 0x0800
	etherVLAN = 0x8100
	protoICMP = 1
	protoTCP  = 6
	protoUDP  = 17
)

// flowIn is the flow of a frame: "tcp 10.0.0.7:443 > 192.0.2.1:50123".
func flowIn(frame []byte) (string, bool) {
	at := 14
	if len(frame) >= 18 && binary.BigEndian.Uint16(frame[12:]) == etherVLAN {
		at = 18
	}
	if len(frame) < at+20 || binary.BigEndian.Uint16(frame[at-2:]) != etherIPv4 {
		return "", false
	}
	ip := frame[at:]
	src, dst := netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
	l4 := int(ip[0]&15) * 4
	whole := binary.BigEndian.Uint16(ip[6:])&0x3fff == 0
	proto := map[byte]string{protoTCP: "tcp", protoUDP: "udp"}[ip[9]]
	if proto != "" && whole && len(ip) >= l4+4 {
		return fmt.Sprintf("%s %s > %s", proto, netip.AddrPortFrom(src, binary.BigEndian.Uint16(ip[l4:])),
			netip.AddrPortFrom(dst, binary.BigEndian.Uint16(ip[l4+2:]))), true
	}
	if ip[9] == protoICMP {
		return fmt.Sprintf("icmp %s > %s", src, dst), true
	}
	return fmt.Sprintf("protocol %d %s > %s", ip[9], src, dst), true
}

// flowsOf names the flows that most of the work of heavy shards is for, the heaviest first.
func flowsOf(heavy []load.Elephant) []string {
	heavy = slices.Clone(heavy)
	slices.SortStableFunc(heavy, func(a, b load.Elephant) int { return cmp.Compare(b.FlowWork, a.FlowWork) })
	var out []string
	for _, e := range heavy {
		if e.Flow != "" && len(out) < mostNamed {
			out = append(out, fmt.Sprintf("the flow %s (shard %d), which cannot be divided", e.Flow, e.Shard.Number))
		}
	}
	return out
}
