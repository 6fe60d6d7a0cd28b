// Package transfer hands shards of a chain's state from one pod's engine to another's. The giver's agent drives both engines: its own by
// the control socket, the other by that pod's agent, which passes on what the giver asks of its engine, and nothing else.
//
// The engines see to it that a shard is in one place (docs/sharding.md); here is the order in which they are asked, and what is asked
// again when connections break or an agent ends in the middle.
package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Giver is the engine that has the shards. It bounds how long it is waited for.
type Giver interface {
	GiveShards(context.Context, *controlpb.GiveShards) (*controlpb.Given, error)
}

// Taker is the engine that is to have them.
type Taker interface {
	TakeShards(context.Context, *controlpb.TakeShards) (*controlpb.Taken, error)
	Places(context.Context) ([]controlpb.ShardPlace, error) // of each shard
}

// Bounds of a transfer.
const (
	chunkSessions = 4096                   // that travel at once: 192 KiB
	chunksAhead   = 4                      // that are read before the taker has acknowledged the first
	lease         = 2 * time.Second        // after which engines end a transfer that nobody goes on with
	firstPause    = 20 * time.Millisecond  // before a broken connection is made again
	longestPause  = 500 * time.Millisecond // the pauses double
	cleanUp       = time.Second            // to tell the peer that a transfer is given up
)

// ErrInDoubt says that the peer does not answer whether it has the shards. They stand still until it does: Resolve asks again.
var ErrInDoubt = errors.New("it is not known whether the peer has the shards")

// Peer is the pod that is to have the shards.
type Peer struct {
	Name    string // of its ChainInstance
	Address string // of its agent
}

// Report is what a transfer did.
type Report struct {
	Sessions uint64
	Blocked  time.Duration // that packets waited, at most, at either engine
	Resumed  int           // times that the connection was made again
}

// Mover gives shards of one engine.
type Mover struct {
	Name   string // of this pod's ChainInstance
	Engine Giver
	Dial   func(ctx context.Context, address string) (net.Conn, error)
	Log    logr.Logger
}

// transfer is one in the making.
type transfer struct {
	engine   Giver
	peer     *remote
	id       []byte
	sessions uint64
	blocked  time.Duration // that packets waited at either engine
}

// Give hands shards over to a peer, and returns when one of both engines has them and the other knows. With an error other than
// ErrInDoubt, that is this one, unless it died.
func (m *Mover) Give(ctx context.Context, shards shard.Set, to Peer) (Report, error) {
	t := &transfer{engine: m.Engine, peer: m.remote(to), id: make([]byte, 16)}
	defer t.peer.close()
	_, _ = rand.Read(t.id) // never fails
	if err := t.carry(ctx, m.Name, shards, to.Name); err != nil {
		t.giveUp(ctx)
		return Report{}, fmt.Errorf("shards to %s: %w", to.Name, err)
	}
	committed, err := t.commit(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("shards to %s: %w", to.Name, err)
	}
	if err := t.end(ctx, committed); err != nil {
		return Report{}, fmt.Errorf("shards to %s: %w", to.Name, err)
	}
	if !committed {
		return Report{}, fmt.Errorf("shards to %s: its engine lost the sessions that it received", to.Name)
	}
	return Report{Sessions: t.sessions, Blocked: t.blocked, Resumed: max(t.peer.dials-1, 0)}, nil
}

// Resolve ends a transfer that another agent process began, and tells whether the peer has the shards.
func (m *Mover) Resolve(ctx context.Context, id []byte, sealed bool, to Peer) (committed bool, err error) {
	t := &transfer{engine: m.Engine, peer: m.remote(to), id: id}
	defer t.peer.close()
	if !sealed {
		t.giveUp(ctx)
		return false, nil
	}
	t.peer.patient = true
	committed, err = t.ask(ctx)
	if err == nil {
		err = t.end(ctx, committed)
	}
	if err != nil {
		return false, fmt.Errorf("shards to %s: %w", to.Name, err)
	}
	return committed, nil
}

// Abandon ends a transfer to a peer that is known to be dead: the shards go on here.
func (m *Mover) Abandon(ctx context.Context, id []byte) error {
	return (&transfer{engine: m.Engine, id: id}).end(ctx, false)
}

// Places asks a peer where its shards are.
func (m *Mover) Places(ctx context.Context, of Peer) ([]controlpb.ShardPlace, error) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	conn, err := m.Dial(ctx, of.Address)
	if err != nil {
		return nil, fmt.Errorf("shards of %s: %w", of.Name, err)
	}
	client := control.NewClient(conn)
	defer client.Close()
	stats, err := client.Loads(ctx)
	if err != nil {
		return nil, fmt.Errorf("shards of %s: %w", of.Name, err)
	}
	return PlacesOf(stats), nil
}

// PlacesOf are the places of an engine's shards.
func PlacesOf(stats *controlpb.Stats) []controlpb.ShardPlace {
	places := make([]controlpb.ShardPlace, len(stats.GetShards()))
	for i, s := range stats.GetShards() {
		places[i] = s.GetPlace()
	}
	return places
}

func (m *Mover) remote(to Peer) *remote {
	return &remote{dial: func(ctx context.Context) (net.Conn, error) { return m.Dial(ctx, to.Address) }, log: m.Log.WithValues("peer", to.Name)}
}

// carry brings all sessions to the taker, and seals. Packets begin to wait when the connection is made, and the taker has memory for as many
// sessions as there were.
func (t *transfer) carry(ctx context.Context, from string, shards shard.Set, to string) error {
	layout := t.give(controlpb.GiveShards_LAYOUT)
	layout.Shards = shards.Numbers()
	given, err := t.own(ctx, layout)
	if err != nil {
		return err
	}
	take := t.take(controlpb.TakeShards_BEGIN)
	take.Shards, take.Peer, take.Layout, take.Counts = shards.Numbers(), from, given.GetLayout(), given.GetCounts()
	if _, err := t.peer.do(ctx, take); err != nil {
		return err
	}
	begin := t.give(controlpb.GiveShards_BEGIN)
	begin.Shards, begin.Peer = shards.Numbers(), to
	if _, err := t.own(ctx, begin); err != nil {
		return err
	}
	if err := t.stream(ctx); err != nil {
		return err
	}
	_, err = t.own(ctx, t.give(controlpb.GiveShards_SEAL))
	return err
}

// stream reads chunks of one engine while the other acknowledges those before.
func (t *transfer) stream(ctx context.Context) error {
	chunks := make(chan []byte, chunksAhead)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(chunks)
		for cursor := uint64(0); ; {
			read := t.give(controlpb.GiveShards_READ)
			read.Cursor, read.Limit = cursor, chunkSessions
			given, err := t.own(ctx, read)
			if err != nil {
				return err
			}
			select {
			case chunks <- given.GetSessions():
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if cursor = given.GetNext(); cursor == 0 {
				return nil
			}
		}
	})
	group.Go(func() error {
		sequence := uint64(0)
		for chunk := range chunks {
			put := t.take(controlpb.TakeShards_PUT)
			put.Sequence, put.Sessions = sequence, chunk
			taken, err := t.peer.do(ctx, put)
			if err != nil {
				return err
			}
			sequence++
			if taken.GetSequence() != sequence {
				return fmt.Errorf("the peer wants chunk %d next, %d came", taken.GetSequence(), sequence)
			}
			t.sessions = taken.GetCount()
		}
		return nil
	})
	return group.Wait()
}

// commit asks the taker to have the shards from now on. Only its engine knows what became of it.
func (t *transfer) commit(ctx context.Context) (bool, error) {
	commit := t.take(controlpb.TakeShards_COMMIT)
	commit.Count = t.sessions
	t.peer.patient = true
	taken, err := t.peer.do(ctx, commit)
	if err == nil {
		t.waited(taken.GetBlockedNs())
		return taken.GetCommitted(), nil
	}
	return t.ask(ctx)
}

// ask learns from the taker whether it has committed; if not, it never will.
func (t *transfer) ask(ctx context.Context) (bool, error) {
	taken, err := t.peer.do(ctx, t.take(controlpb.TakeShards_ABORT))
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return taken.GetCommitted(), nil
}

// end has the giver do what the taker did.
func (t *transfer) end(ctx context.Context, committed bool) error {
	step := controlpb.GiveShards_ABORT
	if committed {
		step = controlpb.GiveShards_COMMIT
	}
	given, err := t.engine.GiveShards(context.WithoutCancel(ctx), t.give(step))
	t.waited(given.GetBlockedNs())
	return err
}

func (t *transfer) waited(ns uint64) { t.blocked = max(t.blocked, time.Duration(ns)) }

// own asks this pod's engine, and returns an error if ctx is over before or meanwhile. The answer is waited for all the same: a question
// that is cut short ends the connection by which all of the agent speaks to its engine.
func (t *transfer) own(ctx context.Context, g *controlpb.GiveShards) (given *controlpb.Given, err error) {
	if ctx.Err() == nil {
		given, err = t.engine.GiveShards(context.WithoutCancel(ctx), g)
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return given, err
}

// giveUp ends a transfer that is not sealed. A peer that does not hear of it ends it after its lease.
func (t *transfer) giveUp(ctx context.Context) {
	_ = t.end(ctx, false)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	_, _ = t.peer.try(ctx, t.take(controlpb.TakeShards_ABORT))
}

func (t *transfer) give(step controlpb.GiveShards_Step) *controlpb.GiveShards {
	return &controlpb.GiveShards{Step: step, Transfer: t.id}
}

func (t *transfer) take(step controlpb.TakeShards_Step) *controlpb.TakeShards {
	return &controlpb.TakeShards{Step: step, Transfer: t.id}
}

// remote is the peer's engine, behind a connection that is made again when it breaks.
type remote struct {
	dial    func(context.Context) (net.Conn, error)
	patient bool // an answer is waited for however long it takes; else as long as engines wait for the next step
	log     logr.Logger
	client  *control.Client
	dials   int
}

// do asks until there is an answer: the engine's, be it a refusal. Each step may be asked for again.
func (r *remote) do(ctx context.Context, req *controlpb.TakeShards) (*controlpb.Taken, error) {
	if !r.patient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lease)
		defer cancel()
	}
	pause := loop.Doubling(firstPause, longestPause)
	for {
		taken, err := r.try(ctx, req)
		var refused *control.EngineError
		if err == nil || errors.As(err, &refused) {
			return taken, err
		}
		r.log.V(1).Info("the connection broke", "error", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause.Step()):
		}
	}
}

func (r *remote) try(ctx context.Context, req *controlpb.TakeShards) (*controlpb.Taken, error) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	if r.client == nil {
		conn, err := r.dial(ctx)
		if err != nil {
			return nil, err
		}
		r.client = control.NewClient(conn)
		r.dials++
	}
	taken, err := r.client.TakeShards(ctx, req)
	return taken, r.broken(err)
}

// broken gives up a connection after an error that is no refusal.
func (r *remote) broken(err error) error {
	var refused *control.EngineError
	if err != nil && !errors.As(err, &refused) {
		r.close()
	}
	return err
}

func (r *remote) close() {
	if r.client != nil {
		_ = r.client.Close()
		r.client = nil
	}
}
