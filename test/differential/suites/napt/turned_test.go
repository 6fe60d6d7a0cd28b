package napt

import (
	"context"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestAnAnswerOfAnotherShardThanItsFlowGoesToOneWorker has packets whose TTL ends, of flows that both workers know, as their shards have moved. What
// answers them leaves by the NAPT, as their senders' addresses are routed outside, so it is of another shard. That the first worker gives these
// packets to the second one because of the answer, and the second one to the first because of the flow, went on for ever.
func TestAnAnswerOfAnotherShardThanItsFlowGoesToOneWorker(t *testing.T) {
	rig.NeedHarness(t)
	r := rig.Compile(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - name: rt
    router:
      routes:
      - {prefix: 0.0.0.0/0, port: outside, via: 192.0.2.254}
      - {prefix: 10.5.0.0/16, port: inside, via: 10.0.0.2}
  - {name: nat, napt: {pool: [192.0.2.16-192.0.2.23]}}
  path: [inside, rt, nat, outside]
`)
	r.Workers = 2
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Engine.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	run := func(ttl byte, moves ...*controlpb.ShardMove) {
		s := rig.Step{Now: time.Second, Moves: moves}
		for i := range 64 {
			p := packets.IPv4{Src: packets.Number(draw.Addr4(33, 0, i, 1)), Dst: packets.Number(draw.Addr4(69, 0, i, 1)), Proto: packets.ProtoUDP, TTL: ttl}
			p.Payload = packets.UDP(p.Src, p.Dst, 53, 5190, nil)
			s.Packets = append(s.Packets, draw.Sent{Frame: draw.Ethernet(r.Graph, 0, p)})
		}
		if _, err := r.Run(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	to := func(worker func(shard uint32) uint32) (moves []*controlpb.ShardMove) {
		for shard := range uint32(rig.Buckets) {
			moves = append(moves, &controlpb.ShardMove{Shard: shard, Worker: worker(shard)})
		}
		return moves
	}
	for _, worker := range []func(shard uint32) uint32{func(uint32) uint32 { return 0 }, func(shard uint32) uint32 { return shard % 2 }} {
		run(64, to(worker)...)
		run(64)
		run(64)
	}
	run(1)
	if err := r.Finish(ctx, time.Second); err != nil {
		t.Error(err)
	}
}
