// Package engine is the engine in the pod as its agent has it: a connection that comes and goes with the process, and what it counted,
// as samples.
package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/agent/transfer"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Limits of patience with an engine.
const (
	AnswerTimeout  = 2 * time.Second
	moveTimeout    = 10 * time.Second // of a step's moves: each needs every worker to come by a few times
	flowsTimeout   = time.Minute      // of some hundred rules, each with a turn: an engine that is given up has all of its rules taken out and made again
	devicesTimeout = time.Minute      // each kind of rule is tried, and how many there is room for
	loadTimeout    = 2 * time.Minute  // the largest programs build for seconds; the workers forward meanwhile
)

// LongestSilence is how long an engine may answer nobody else: until it has its first program, it may be asked for all of these in a row. Liveness
// has to bear that.
const LongestSilence = devicesTimeout + flowsTimeout + loadTimeout

// ErrNone says that the loader has no connection.
var ErrNone = errors.New("the engine does not answer")

// Unasked tells whether a request did not reach the engine: nothing that became of that is the request's fault.
func Unasked(err error) bool {
	return errors.Is(err, control.ErrNotAsked) || errors.Is(err, control.ErrOver) || errors.Is(err, ErrNone)
}

// Engine is the engine in the pod, behind a socket that comes and goes with it.
type Engine struct {
	Socket string

	mu      sync.Mutex
	client  *control.Client
	life    uint64 // connections made
	version string
	loading bool
}

// Connect connects unless there is a connection, and says whether it is a new one.
func (e *Engine) Connect(ctx context.Context) (fresh bool, err error) {
	if e.connection() != nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	client, err := control.Dial(ctx, e.Socket)
	if err != nil {
		return false, err
	}
	hello, err := client.Hello(ctx)
	if err != nil {
		return false, errors.Join(err, client.Close())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.client, e.version = client, hello.GetVersion()
	e.life++
	return true, nil
}

// Version is the release of the engine that answered last.
func (e *Engine) Version() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

// Loading tells whether a program is being loaded. The engine answers nothing else meanwhile.
func (e *Engine) Loading() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.loading
}

func (e *Engine) setLoading(loading bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loading = loading
}

// ask puts a question to the engine, and returns which connection it went by: another one may be another engine's. An
// error that is no control.EngineError ends the connection.
func ask[T any](ctx context.Context, e *Engine, patience time.Duration, question func(context.Context, *control.Client) (T, error)) (answer T, life uint64, err error) {
	e.mu.Lock()
	client, life := e.client, e.life
	e.mu.Unlock()
	if client == nil {
		return answer, life, ErrNone
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err = question(ctx, client)
	e.drop(client, err)
	return answer, life, err
}

// Load puts a program into force whose classes devices may write on packets; marks nil: they do not. running is the program in force; nil: it is not
// known what that has.
func (e *Engine) Load(ctx context.Context, p, running *delivery.Program, marks *flowspb.Marks) (*controlpb.Loaded, error) {
	e.setLoading(true)
	defer e.setLoading(false)
	loaded, _, err := ask(ctx, e, loadTimeout, func(ctx context.Context, c *control.Client) (*controlpb.Loaded, error) {
		return c.LoadMarked(ctx, p.Encoded, p.Hash, control.TableChanges(running.Contents(), p.Contents()), marks)
	})
	return loaded, err
}

// SetBackends says what became of load balancers' backends. The engine builds the program again for it.
func (e *Engine) SetBackends(ctx context.Context, states []*programpb.BackendState) error {
	_, _, err := ask(ctx, e, loadTimeout, func(ctx context.Context, c *control.Client) (bool, error) { return c.SetBackends(ctx, states) })
	return err
}

// Stats reads the engine's counters.
func (e *Engine) Stats(ctx context.Context) (*controlpb.Stats, error) {
	stats, _, err := ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (*controlpb.Stats, error) { return c.Stats(ctx) })
	return stats, err
}

// Loads reads the counters that tell loads.
func (e *Engine) Loads(ctx context.Context) (stats *controlpb.Stats, life uint64, err error) {
	return ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (*controlpb.Stats, error) { return c.Loads(ctx) })
}

// MoveShards moves shards to other workers, and returns how long the packets of each may have waited.
func (e *Engine) MoveShards(ctx context.Context, moves []*controlpb.ShardMove) ([]time.Duration, error) {
	blocked, _, err := ask(ctx, e, moveTimeout, func(ctx context.Context, c *control.Client) ([]time.Duration, error) { return c.MoveShards(ctx, moves) })
	return blocked, err
}

// Hello is what the engine says of itself: how it cuts flows, and how marks of the program in force are written.
func (e *Engine) Hello(ctx context.Context) (hello *controlpb.HelloReply, life uint64, err error) {
	return ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (*controlpb.HelloReply, error) { return c.Hello(ctx) })
}

// Devices asks what the engine's devices can do, trying how many rules they have room for up to a number.
func (e *Engine) Devices(ctx context.Context, tryRules uint32) (devices []*flowspb.Device, life uint64, err error) {
	return ask(ctx, e, devicesTimeout, func(ctx context.Context, c *control.Client) ([]*flowspb.Device, error) {
		return c.Devices(ctx, tryRules)
	})
}

// PartitionShards cuts flows in another way, and returns for each device why it does not hash as that wants it.
func (e *Engine) PartitionShards(ctx context.Context, cut *controlpb.Partitioning) ([]string, error) {
	unhashed, _, err := ask(ctx, e, moveTimeout, func(ctx context.Context, c *control.Client) ([]string, error) { return c.PartitionShards(ctx, cut) })
	return unhashed, err
}

// UpdateFlows changes a port's flow rules.
func (e *Engine) UpdateFlows(ctx context.Context, u *flowspb.UpdateFlows) (*flowspb.FlowsUpdated, error) {
	done, _, err := ask(ctx, e, flowsTimeout, func(ctx context.Context, c *control.Client) (*flowspb.FlowsUpdated, error) {
		return c.UpdateFlows(ctx, u)
	})
	return done, err
}

// Flows reads what a port's flow rules did.
func (e *Engine) Flows(ctx context.Context, iface string) (*flowspb.FlowList, error) {
	flows, _, err := ask(ctx, e, flowsTimeout, func(ctx context.Context, c *control.Client) (*flowspb.FlowList, error) { return c.Flows(ctx, iface) })
	return flows, err
}

// Sample shows some of the packets that the engine processes. An engine that traces already for somebody else refuses.
func (e *Engine) Sample(ctx context.Context, want *controlpb.StartTrace) ([]*controlpb.TracedPacket, error) {
	packets, _, err := ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) ([]*controlpb.TracedPacket, error) {
		var t traced
		err := c.Trace(ctx, want, &t)
		return t.packets, err
	})
	return packets, err
}

// traced keeps the packets of a trace.
type traced struct{ packets []*controlpb.TracedPacket }

// Started implements control.Traces.
func (*traced) Started(*controlpb.TraceStarted) error { return nil }

// Traced implements control.Traces.
func (t *traced) Traced(more *controlpb.Traced) error {
	t.packets = append(t.packets, more.GetPackets()...)
	return nil
}

// FlowRecords takes records of flows that are to be exported.
func (e *Engine) FlowRecords(ctx context.Context) (*programpb.FlowRecords, error) {
	records, _, err := ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (*programpb.FlowRecords, error) {
		return c.ReadFlows(ctx, 0)
	})
	return records, err
}

// AssignShards says which shards are the engine's.
func (e *Engine) AssignShards(ctx context.Context, a *controlpb.AssignShards) error {
	_, _, err := ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (struct{}, error) {
		return struct{}{}, c.AssignShards(ctx, a)
	})
	return err
}

// SetPeers names the other engines that share the chain's state, and says whether this one is the front.
func (e *Engine) SetPeers(ctx context.Context, p *controlpb.SetPeers) error {
	_, _, err := ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (struct{}, error) {
		return struct{}{}, c.SetPeers(ctx, p)
	})
	return err
}

// GiveShards does a step of handing shards over.
func (e *Engine) GiveShards(ctx context.Context, g *controlpb.GiveShards) (*controlpb.Given, error) {
	given, _, err := ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (*controlpb.Given, error) { return c.GiveShards(ctx, g) })
	return given, err
}

// TakeShards does a step of taking shards over.
func (e *Engine) TakeShards(ctx context.Context, t *controlpb.TakeShards) (*controlpb.Taken, error) {
	taken, _, err := ask(ctx, e, AnswerTimeout, func(ctx context.Context, c *control.Client) (*controlpb.Taken, error) { return c.TakeShards(ctx, t) })
	return taken, err
}

// Places are those of the engine's shards.
func (e *Engine) Places(ctx context.Context) ([]controlpb.ShardPlace, error) {
	stats, _, err := e.Loads(ctx)
	return transfer.PlacesOf(stats), err
}

// Addresses are the MAC addresses of the program's interfaces.
func (e *Engine) Addresses(ctx context.Context) ([]*controlpb.Address, error) {
	hello, _, err := e.Hello(ctx)
	return hello.GetAddresses(), err
}

// Close ends the connection; the engine goes on.
func (e *Engine) Close() {
	if client := e.connection(); client != nil {
		e.drop(client, ErrNone)
	}
}

func (e *Engine) connection() *control.Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.client
}

// drop gives up a connection after an error, unless it holds and the engine only refused, or was not asked at all.
func (e *Engine) drop(client *control.Client, err error) {
	var refused *control.EngineError
	if client.Err() == nil && (err == nil || errors.As(err, &refused) || errors.Is(err, control.ErrNotAsked)) {
		return
	}
	_ = client.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == client {
		e.client = nil
	}
}
