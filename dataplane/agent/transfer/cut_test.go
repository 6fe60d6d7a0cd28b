package transfer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// slowGiver is an engine that never comes to the end of its sessions, and takes its time for each chunk after the first. A client that asks it has one
// connection to it for all that it does: a question that is cut short ends that.
type slowGiver struct {
	takes time.Duration
	under atomic.Bool // it is at a chunk
	cut   atomic.Bool // a question was cut short
}

func (g *slowGiver) GiveShards(ctx context.Context, m *controlpb.GiveShards) (*controlpb.Given, error) {
	given := &controlpb.Given{}
	if m.GetStep() == controlpb.GiveShards_READ {
		given.Sessions, given.Next = make([]byte, 32), m.GetCursor()+1
		if m.GetCursor() > 0 {
			g.under.Store(true)
			defer g.under.Store(false)
			select {
			case <-ctx.Done():
			case <-time.After(g.takes):
			}
		}
	}
	if ctx.Err() != nil {
		g.cut.Store(true)
		return nil, context.Cause(ctx)
	}
	return given, nil
}

// fullTaker is an engine that refuses sessions, or lets them wait, once the giver is at the next.
type fullTaker struct {
	giver *slowGiver
	waits bool
}

func (k *fullTaker) TakeShards(ctx context.Context, m *controlpb.TakeShards) (*controlpb.Taken, error) {
	if m.GetStep() != controlpb.TakeShards_PUT {
		return &controlpb.Taken{}, nil
	}
	for !k.giver.under.Load() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if k.waits {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, &control.EngineError{Request: "take shards", Message: "no memory for sessions"}
}

func (k *fullTaker) Places(context.Context) ([]controlpb.ShardPlace, error) { return nil, nil }

func TestATransferThatFailsCutsNoQuestionToItsOwnEngineShort(t *testing.T) {
	for name, test := range map[string]struct {
		waits bool          // the taker, instead of refusing
		time  time.Duration // of the transfer
	}{
		"as the taker refuses":         {false, time.Minute},
		"as the taker does not answer": {true, time.Minute},
		"as its time is over":          {true, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := identity(t, "a secret")
			giver := &slowGiver{takes: 200 * time.Millisecond}
			to := newAgent(t, &fullTaker{giver, test.waits}, id)
			ctx, cancel := context.WithTimeout(t.Context(), test.time)
			defer cancel()
			if _, err := mover(giver, id).Give(ctx, all(), Peer{"edge-1", to.address}); err == nil || errors.Is(err, ErrInDoubt) {
				t.Errorf("got %v, want that it failed", err)
			}
			if giver.cut.Load() {
				t.Error("a question to the giver's engine was cut short")
			}
		})
	}
}
