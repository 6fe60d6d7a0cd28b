package rig

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/interp"
	napt "github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/packets"
)

// foundNoPort tells whether a difference is a NAPT that found no port where the oracle did.
func foundNoPort(d interp.Mismatch) bool { return d.Kind == interp.MismatchExhausted }

// shardFull tells whether some shard of the engine has all its ports in use, or resting.
func (r *Rig) shardFull(ctx context.Context) bool {
	for table, t := range r.Result.Program.GetTables() {
		if len(t.GetPool()) == 0 {
			continue
		}
		sessions, err := r.Engine.Sessions(ctx, uint32(table), 1<<20)
		if err != nil {
			return false
		}
		type shard struct{ proto, shard uint32 }
		used, ends := map[shard]int{}, map[netip.AddrPort]map[shard]bool{}
		shards, ports := shardsOf(t)
		for _, s := range napt.Resting(r.Oracle.Chain, r.History[len(r.History)-1].Now, r.noticed) {
			if s.Node == t.GetName() {
				shards, _ := shardsOf(t)
				used[shard{uint32(s.Proto), uint32(s.Outside.Port()) % uint32(shards)}]++
			}
		}
		for _, s := range sessions {
			k, room := shard{s.GetProto(), s.GetShard() % uint32(shards)}, ports
			if t.GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT && model.Ported(uint8(k.proto)) {
				at := netip.AddrPortFrom(packets.Addr(s.GetOutsideAddress()), uint16(s.GetOutsidePort()))
				if ends[at] == nil {
					ends[at] = map[shard]bool{}
				}
				if ends[at][k] {
					continue // another flow has it, too
				}
				ends[at][k] = true
			}
			if !model.Ported(uint8(k.proto)) {
				k.proto, room = 0, ports/8
			}
			if used[k]++; used[k] >= room {
				return true
			}
		}
	}
	return false
}

// noticed is when an engine has noticed at the latest that a session was over. An engine looks at the port alone that came to rest first; where
// time leaps it sees late, and in any order, what came to rest meanwhile.
func (r *Rig) noticed(end time.Duration) time.Duration {
	const looks = 16 // at a part of the shards each
	i, _ := slices.BinarySearchFunc(r.History, end, func(s Step, t time.Duration) int { return cmp.Compare(s.Now, t) })
	return r.History[min(i+looks, len(r.History)-1)].Now
}

// shardsOf are the shards of a table, 128 or so many that each has 64 ports of an address, and the ports that each has at least (docs/sharding.md).
func shardsOf(t *programpb.StateTable) (shards, ports int) {
	addresses := 0
	for _, p := range t.GetPool() {
		addresses += int(p.GetLast()-p.GetFirst()) + 1
	}
	n := int(t.GetPortMax()-t.GetPortMin()) + 1
	for shards = 1; 2*shards <= 128 && n/(2*shards) >= 64; {
		shards *= 2
	}
	return shards, addresses * (n / shards)
}
