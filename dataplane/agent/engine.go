package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Limits of patience with an engine.
const (
	answerTimeout = 2 * time.Second
	moveTimeout   = 10 * time.Second // of a step's moves: each needs every worker to come by a few times
	loadTimeout   = 2 * time.Minute  // the largest programs build for seconds; the workers forward meanwhile
)

// errNoEngine says that the keeper has no connection.
var errNoEngine = errors.New("the engine does not answer")

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
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
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

// Load puts a program into force. An error that is no control.EngineError ends the connection.
func (e *Engine) Load(ctx context.Context, p *Program) (*programpb.Loaded, error) {
	client := e.connection()
	if client == nil {
		return nil, errNoEngine
	}
	e.setLoading(true)
	defer e.setLoading(false)
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	loaded, err := client.Load(ctx, p.Program, p.Hash)
	e.drop(client, err)
	return loaded, err
}

// Stats reads the engine's counters. An error ends the connection.
func (e *Engine) Stats(ctx context.Context) (*programpb.Stats, error) {
	client := e.connection()
	if client == nil {
		return nil, errNoEngine
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stats, err := client.Stats(ctx)
	e.drop(client, err)
	return stats, err
}

// Loads reads the counters that tell loads, and which connection they came by: of another one they may be another engine's. An
// error ends the connection.
func (e *Engine) Loads(ctx context.Context) (stats *programpb.Stats, life uint64, err error) {
	e.mu.Lock()
	client, life := e.client, e.life
	e.mu.Unlock()
	if client == nil {
		return nil, life, errNoEngine
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stats, err = client.Loads(ctx)
	e.drop(client, err)
	return stats, life, err
}

// MoveShards moves shards to other workers, and returns how long the packets of each may have waited. An error that is no
// control.EngineError ends the connection.
func (e *Engine) MoveShards(ctx context.Context, moves []*programpb.ShardMove) ([]time.Duration, error) {
	client := e.connection()
	if client == nil {
		return nil, errNoEngine
	}
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	blocked, err := client.MoveShards(ctx, moves)
	e.drop(client, err)
	return blocked, err
}

// Close ends the connection; the engine goes on.
func (e *Engine) Close() {
	if client := e.connection(); client != nil {
		e.drop(client, errNoEngine)
	}
}

func (e *Engine) connection() *control.Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.client
}

// drop gives up a connection after an error, unless the engine only refused, or was not asked at all.
func (e *Engine) drop(client *control.Client, err error) {
	var refused *control.EngineError
	if err == nil || errors.As(err, &refused) || errors.Is(err, control.ErrNotAsked) {
		return
	}
	_ = client.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == client {
		e.client = nil
	}
}
