// Package balance keeps the load of an engine's workers even by moving shards between them. What to move is decided in
// dataplane/balance; here it is measured, ordered and counted.
package balance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/balance"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Bounds of the balancer's steps.
const (
	balancePeriod = 100 * time.Millisecond
	balanceIdle   = time.Second // while there is nothing to move
	movesAtOnce   = 8           // so that other requests need not wait for long
	maxMovePause  = time.Minute // after moves that failed; the first time one second
)

// mover is an engine whose shards can be moved.
type mover interface {
	Loading() bool
	Loads(context.Context) (stats *controlpb.Stats, life uint64, err error)
	MoveShards(context.Context, []*controlpb.ShardMove) ([]time.Duration, error)
	Sample(context.Context, *controlpb.StartTrace) ([]*controlpb.TracedPacket, error)
}

// Balance keeps the load of the engine's workers even by moving shards between them. What to move is decided in
// dataplane/balance; here it is measured, ordered and counted.
type Balance struct {
	engine mover
	clock  clock.PassiveClock
	log    logr.Logger
	Policy balance.Policy // set before the first step
	shared bool           // with other pods: what shards want is told though one core has them all

	mu    sync.Mutex
	state State

	// Used by Step alone.
	balancer *balance.Balancer
	before   *controlpb.Stats  // the last reading; nil: none of this engine
	life     uint64            // the connection that it came by
	retry    wait.Backoff      // between moves that fail
	resume   time.Time         // after the last of them
	lost     []float64         // packets that each core had no time for, of this engine
	heaviest map[int]load.Flow // of shards that were too heavy when packets were sampled last
	sampled  time.Time
	urgent   uint64

	hurry chan struct{} // has something after an urgent step

	Moves   loop.Counts          // shards that were moved; orders that failed
	Blocked prometheus.Histogram // s that a move's packets may have waited
}

// State is what the balancer has come to.
type State struct {
	Working int       // cores that shards are kept on, the first ones; 0: nothing is balanced
	Heavy   shard.Set // that are too heavy for a core
	Flows   []string  // that most of these are, as far as that is known
	Failed  error     // why the last moves were not made
	Work    []int32   // that shards want, by number, in thousandths of a core
	Lost    []int64   // packets that each core had no time for since the engine was met
	Other   []int32   // what each core does beside its shards, in thousandths of a core
	Urgent  uint64    // steps in which packets were lost that a core which does not work could have saved
}

// TooHeavy names the shards that no core can bear.
func (s *State) TooHeavy() string {
	shards, limit := s.Heavy, 100*balance.DefaultPolicy.Heavy
	text := fmt.Sprintf("shards %s need %.0f %% of a core or more each; a shard runs on one core, so more cores do not help", shards, limit)
	if shards.Len() == 1 {
		text = fmt.Sprintf("shard %s needs %.0f %% of a core or more; a shard runs on one core, so more cores do not help", shards, limit)
	}
	if len(s.Flows) > 0 {
		text += ". Most of it is " + strings.Join(s.Flows, ", ")
	}
	return text
}

// New makes a balancer of an engine, whose shards are shared with other pods or not.
func New(e mover, shared bool, c clock.PassiveClock, log logr.Logger) *Balance {
	return &Balance{
		engine: e, shared: shared, clock: c, log: log, Policy: balance.DefaultPolicy, hurry: make(chan struct{}, 1), retry: retryMoves(),
		Blocked: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sinter_shard_move_blocked_seconds", Help: "Time that a shard's packets may have waited while it moved.",
			Buckets: []float64{1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1, 1},
		}),
	}
}

// State is what the balancer has come to.
func (b *Balance) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

func (b *Balance) set(s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = s
}

// Step looks at the engine once and moves what is to be moved to the first working cores; 0: all. It returns when to look again.
func (b *Balance) Step(ctx context.Context, working int) time.Duration {
	if wait := b.resume.Sub(b.clock.Now()); wait > 0 {
		return min(wait, balanceIdle)
	}
	if b.engine.Loading() {
		return balancePeriod
	}
	now, life, err := b.engine.Loads(ctx)
	if errors.Is(err, control.ErrNotAsked) {
		return balancePeriod
	}
	before := b.before
	if before != nil && b.life != life {
		b.forget()
		before = nil
	}
	alone := len(now.GetWorkers()) == 1
	if err != nil || len(now.GetWorkers()) == 0 || alone && !b.shared || len(now.GetShards()) < 2 {
		b.forget()
		return balanceIdle
	}
	b.before, b.life = now, life
	if b.balancer == nil || before == nil || len(before.GetShards()) != len(now.GetShards()) {
		b.balancer = balance.New(b.Policy)
	}
	if before == nil || !continues(before, now) {
		return balancePeriod
	}
	if working <= 0 || working > len(now.GetWorkers()) {
		working = len(now.GetWorkers())
	}
	sample := loadsOf(before, now)
	b.name(sample.Shards)
	decision := b.balancer.Step(sample, working)
	b.blame(ctx, decision.Heavy, len(now.GetShards()))
	report := b.balancer.Report()
	b.count(report.Cores)
	urgent := decision.Urgent && working < len(now.GetWorkers())
	if urgent {
		b.urgent++
	}
	b.set(State{
		Working: working, Heavy: tooHeavy(decision.Heavy), Flows: flowsOf(decision.Heavy), Failed: b.move(ctx, decision.Moves),
		Work: thousandths(report.Shards), Lost: whole(b.lost), Other: others(report.Cores), Urgent: b.urgent,
	})
	if urgent {
		loop.Signal(b.hurry)
	}
	if alone {
		return balanceIdle
	}
	return balancePeriod
}

// Hurry has something after a step that the operator should hear of at once.
func (b *Balance) Hurry() <-chan struct{} { return b.hurry }

// count adds up what cores lost.
func (b *Balance) count(cores []load.Core) {
	if len(b.lost) != len(cores) {
		b.lost = make([]float64, len(cores))
	}
	for i, c := range cores {
		b.lost[i] += c.Lost
	}
}

// forget is called when the engine is gone, is another one, or has nothing to move.
func (b *Balance) forget() {
	b.before, b.balancer, b.retry, b.lost, b.heaviest = nil, nil, retryMoves(), nil, nil
	b.set(State{Urgent: b.urgent})
}

// move has the engine make moves. After an error the next reading says which core owns what.
func (b *Balance) move(ctx context.Context, moves []balance.Move) error {
	if len(moves) == 0 {
		return nil
	}
	orders := make([]*controlpb.ShardMove, len(moves))
	for i, m := range moves {
		orders[i] = &controlpb.ShardMove{Shard: uint32(m.Shard.Number), Worker: uint32(m.To)}
	}
	var longest time.Duration
	for some := range slices.Chunk(orders, movesAtOnce) {
		blocked, err := b.engine.MoveShards(ctx, some)
		if errors.Is(err, control.ErrNotAsked) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return b.refused(err)
		}
		b.Moves.Done.Add(uint64(len(some)))
		for _, d := range blocked {
			b.Blocked.Observe(d.Seconds())
			longest = max(longest, d)
		}
	}
	b.retry = retryMoves()
	b.log.V(1).Info("shards moved", "moves", len(moves), "longest wait", longest)
	return nil
}

// retryMoves is the pauses after moves that failed.
func retryMoves() wait.Backoff { return loop.Doubling(time.Second, maxMovePause) }

// refused notes that moves failed, and that they are to be tried again later.
func (b *Balance) refused(err error) error {
	pause := b.retry.Step()
	b.resume = b.clock.Now().Add(pause)
	b.balancer = nil // it believes that the shards moved, and would let them rest
	b.Moves.Failed.Add(1)
	b.log.Error(err, "shards are not moved", "again in", pause)
	return err
}
