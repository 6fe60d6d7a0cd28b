package rig

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// DrawMoves has up to eight shards move before every other step. A shard is a number below Buckets, of which the rest by the chain's shards counts:
// a chain has fewer, and they may change with its program.
func (r *Rig) DrawMoves(rand *rand.Rand) (moves []*controlpb.ShardMove) {
	if r.Workers == 1 || rand.IntN(2) == 0 {
		return nil
	}
	for range 1 + rand.IntN(8) {
		moves = append(moves, &controlpb.ShardMove{Shard: uint32(rand.IntN(Buckets)), Worker: uint32(rand.IntN(r.Workers))})
	}
	return moves
}

// move has other workers own shards, with the packets' state, their timers and their ports. A chain without state has none.
func (r *Rig) move(ctx context.Context, moves []*controlpb.ShardMove) error {
	if len(moves) == 0 {
		return nil
	}
	stats, err := r.Engine.Loads(ctx)
	if err != nil {
		return r.Engine.Died(err)
	}
	owners := stats.GetShards()
	if len(owners) == 0 {
		return nil
	}
	var asked []*controlpb.ShardMove
	for _, m := range moves {
		shard := m.GetShard() % uint32(len(owners))
		if owners[shard].GetWorker() != m.GetWorker() {
			r.Stats.Moves++
		}
		owners[shard].Worker = m.GetWorker()
		asked = append(asked, &controlpb.ShardMove{Shard: shard, Worker: m.GetWorker()})
	}
	if _, err := r.Engine.MoveShards(ctx, asked); err != nil {
		return fmt.Errorf("chain %s: %w", r.Chain, r.Engine.Died(err))
	}
	return nil
}
