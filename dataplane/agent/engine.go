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
	loadTimeout   = 2 * time.Minute // the largest programs build for seconds; the workers forward meanwhile
)

// errNoEngine says that the keeper has no connection.
var errNoEngine = errors.New("the engine does not answer")

// Engine is the engine in the pod, behind a socket that comes and goes with it.
type Engine struct {
	Socket string

	mu      sync.Mutex
	client  *control.Client
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

// drop gives up a connection after an error, unless the engine only refused.
func (e *Engine) drop(client *control.Client, err error) {
	var refused *control.EngineError
	if err == nil || errors.As(err, &refused) {
		return
	}
	_ = client.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == client {
		e.client = nil
	}
}
