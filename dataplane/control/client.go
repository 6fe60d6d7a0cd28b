// Package control speaks the engine's control protocol: length-prefixed
// Request and Response messages (control.proto), over a UNIX socket or, for
// the harness, over pipes.
package control

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

//go:generate protoc -I. -I../program --go_out=. --go_opt=module=github.com/sinter-nfv/sinter/dataplane/control control.proto flows.proto

// EngineError is what the engine answered to a request that it could not do.
type EngineError struct {
	Request string // the request's name
	Message string // the engine's words
}

func (e *EngineError) Error() string {
	return fmt.Sprintf("engine refused %s: %s", e.Request, e.Message)
}

// VersionError says that engine and client speak different schemas.
type VersionError struct {
	Engine string // the engine's release
	Schema uint32 // its schema
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("engine %s speaks schema %d, this Sinter speaks schema %d: run an engine of the same release",
		e.Engine, e.Schema, program.SchemaVersion)
}

// ErrNotAsked says that a request was given up before it went out, nearly always as another one took too long. The connection holds.
var ErrNotAsked = errors.New("another request is under way")

// ErrOver says that a request did not reach the engine: the connection was over before.
var ErrOver = errors.New("connection to the engine is over")

// Client is a connection to one engine. Its methods may be called concurrently; requests go out one
// after the other. A request that is cancelled or cut short ends the connection, since what
// the engine has read of it is unknown; except with ErrNotAsked.
type Client struct {
	rw     io.ReadWriter
	turn   chan struct{} // holds one token: the right to speak
	mu     sync.Mutex
	broken error // why the connection is over
	lastID uint64
}

// NewClient speaks over an open stream; if that is an io.Closer, Close closes it.
func NewClient(rw io.ReadWriter) *Client {
	c := &Client{rw: rw, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// Dial connects to an engine's control socket and says hello.
func Dial(ctx context.Context, socketPath string) (*Client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socketPath)
	if err != nil {
		return nil, fmt.Errorf("engine control socket: %w", err)
	}
	c := NewClient(conn)
	if _, err := c.Hello(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends the connection; the engine keeps running.
func (c *Client) Close() error {
	c.fail(net.ErrClosed)
	if closer, ok := c.rw.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// Hello asks what the engine is, and checks that it speaks this release's schema.
func (c *Client) Hello(ctx context.Context) (*controlpb.HelloReply, error) {
	r, err := c.call(ctx, "hello", &controlpb.Request{
		Body: &controlpb.Request_Hello{Hello: &controlpb.Hello{Schema: program.SchemaVersion}},
	})
	if err != nil {
		return nil, err
	}
	h, err := body("hello", r.GetHello())
	if err == nil && h.GetSchema() != program.SchemaVersion {
		return nil, &VersionError{h.GetVersion(), h.GetSchema()}
	}
	return h, err
}

// Load puts an encoded program into force. The hash is program.Hash of it; the engine verifies it, and shows it in Stats.
func (c *Client) Load(ctx context.Context, encoded []byte, hash string) (*controlpb.Loaded, error) {
	return c.LoadTables(ctx, encoded, hash, nil)
}

// LoadTables is Load of a program that names FIBs which the program in force has not: changes make them of those that it has.
func (c *Client) LoadTables(ctx context.Context, encoded []byte, hash string, changes []*controlpb.FibChange) (*controlpb.Loaded, error) {
	return c.LoadMarked(ctx, encoded, hash, changes, nil)
}

// LoadMarked is LoadTables of a program whose classes devices may write on packets; nil: none is believed.
func (c *Client) LoadMarked(ctx context.Context, encoded []byte, hash string, changes []*controlpb.FibChange, marks *flowspb.Marks) (*controlpb.Loaded, error) {
	sum, err := hex.DecodeString(hash)
	if err != nil {
		return nil, fmt.Errorf("load: hash %q is not hexadecimal: %w", hash, err)
	}
	return c.load(ctx, &controlpb.Load{Program: encoded, Hash: sum, Fibs: changes, Marks: marks})
}

// TableChanges make FIBs of those that the program in force has. Those that it has as they should be are not sent.
func TableChanges(has, wants []*fib.Table) (out []*controlpb.FibChange) {
	for i, t := range wants {
		same := func(o *fib.Table) bool { return o.Hash() == t.Hash() }
		if slices.ContainsFunc(has, same) || slices.ContainsFunc(wants[:i], same) {
			continue
		}
		var from *fib.Table
		if i < len(has) { // mostly the same router's
			from = has[i]
		}
		out = append(out, TableChange(from, t))
	}
	return out
}

// TableChange makes a FIB of one that the program in force has; nil: of nothing.
func TableChange(from, to *fib.Table) *controlpb.FibChange {
	hash := to.Hash()
	out := &controlpb.FibChange{Hash: hash[:]}
	ranges := []fib.Range(nil)
	if from == nil {
		ranges = to.Ranges()
	} else {
		base := from.Hash()
		out.From, ranges = base[:], fib.Change(from, to)
	}
	out.First, out.Last, out.Number = make([]uint32, len(ranges)), make([]uint32, len(ranges)), make([]uint32, len(ranges))
	for i, r := range ranges {
		out.First[i], out.Last[i], out.Number[i] = r.First, r.Last, uint32(r.Value)
	}
	return out
}

// ReadTable is the FIB that a change makes of one without routes.
func ReadTable(c *controlpb.FibChange) (*fib.Table, error) {
	n := len(c.GetFirst())
	if len(c.GetFrom()) > 0 || len(c.GetLast()) != n || len(c.GetNumber()) != n {
		return nil, fmt.Errorf("%d first and %d last addresses with %d numbers, want as many of each, and no other table", n, len(c.GetLast()), len(c.GetNumber()))
	}
	ranges := make([]fib.Range, n)
	for i, number := range c.GetNumber() {
		if number > program.MaxNextHops {
			return nil, fmt.Errorf("number %d, want at most %d", number, program.MaxNextHops)
		}
		ranges[i] = fib.Range{First: c.GetFirst()[i], Last: c.GetLast()[i], Value: uint16(number)}
	}
	return fib.Empty().Apply(ranges)
}

func (c *Client) load(ctx context.Context, load *controlpb.Load) (*controlpb.Loaded, error) {
	r, err := c.call(ctx, "load", &controlpb.Request{Body: &controlpb.Request_Load{Load: load}})
	if err != nil {
		return nil, err
	}
	l, err := body("load", r.GetLoad())
	if err == nil && !bytes.Equal(l.GetHash(), load.GetHash()) {
		return nil, fmt.Errorf("load: engine runs program %x, want %x", l.GetHash(), load.GetHash())
	}
	return l, err
}

// SetBackends says what became of load balancers' backends, in place of all that was said before. It tells whether that changed something.
func (c *Client) SetBackends(ctx context.Context, states []*programpb.BackendState) (changed bool, err error) {
	r, err := c.call(ctx, "set backends", &controlpb.Request{
		Body: &controlpb.Request_SetBackends{SetBackends: &programpb.SetBackends{States: states}},
	})
	if err != nil {
		return false, err
	}
	b, err := body("set backends", r.GetBackendsSet())
	return b.GetChanged(), err
}

// Stats reads the engine's counters.
func (c *Client) Stats(ctx context.Context) (*controlpb.Stats, error) {
	return c.stats(ctx, &controlpb.GetStats{})
}

// Loads reads what Stats does without classes, counters and tables: it is cheap enough to be asked for often.
func (c *Client) Loads(ctx context.Context) (*controlpb.Stats, error) {
	return c.stats(ctx, &controlpb.GetStats{Loads: true})
}

func (c *Client) stats(ctx context.Context, what *controlpb.GetStats) (*controlpb.Stats, error) {
	r, err := c.call(ctx, "stats", &controlpb.Request{Body: &controlpb.Request_GetStats{GetStats: what}})
	if err != nil {
		return nil, err
	}
	return body("stats", r.GetStats())
}

// Inject has the harness process packets at a given time.
func (c *Client) Inject(ctx context.Context, in *controlpb.Inject) (*controlpb.Injected, error) {
	r, err := c.call(ctx, "inject", &controlpb.Request{Body: &controlpb.Request_Inject{Inject: in}})
	if err != nil {
		return nil, err
	}
	return body("inject", r.GetInject())
}

// Neighbors reads the neighbour tables of all interfaces.
func (c *Client) Neighbors(ctx context.Context) ([]*controlpb.NeighborState, error) {
	r, err := c.call(ctx, "neighbors", &controlpb.Request{
		Body: &controlpb.Request_GetNeighbors{GetNeighbors: &controlpb.GetNeighbors{}},
	})
	if err != nil {
		return nil, err
	}
	l, err := body("neighbors", r.GetNeighbors())
	return l.GetNeighbors(), err
}

// Sessions reads at most limit sessions of a state table.
func (c *Client) Sessions(ctx context.Context, table, limit uint32) ([]*programpb.Session, error) {
	r, err := c.call(ctx, "sessions", &controlpb.Request{
		Body: &controlpb.Request_GetSessions{GetSessions: &controlpb.GetSessions{Table: table, Limit: limit}},
	})
	if err != nil {
		return nil, err
	}
	l, err := body("sessions", r.GetSessions())
	return l.GetSessions(), err
}

// StartTrace begins a trace; the engine has one at a time. See Trace, which reads it as well.
func (c *Client) StartTrace(ctx context.Context, want *controlpb.StartTrace) (*controlpb.TraceStarted, error) {
	r, err := c.call(ctx, "trace", &controlpb.Request{Body: &controlpb.Request_StartTrace{StartTrace: want}})
	if err != nil {
		return nil, err
	}
	return body("trace", r.GetTraceStarted())
}

// ReadTrace reads what the trace took since the last time. The answer that says that it is over is the last.
func (c *Client) ReadTrace(ctx context.Context) (*controlpb.Traced, error) {
	r, err := c.call(ctx, "trace", &controlpb.Request{Body: &controlpb.Request_ReadTrace{ReadTrace: &controlpb.ReadTrace{}}})
	if err != nil {
		return nil, err
	}
	return body("trace", r.GetTraced())
}

// StopTrace ends the trace, if there is one.
func (c *Client) StopTrace(ctx context.Context) error {
	_, err := c.call(ctx, "stop trace", &controlpb.Request{Body: &controlpb.Request_StopTrace{StopTrace: &controlpb.StopTrace{}}})
	return err
}

// MoveShards has shards owned by other workers, one move after the other. It returns how long the packets of each may
// have waited; with an error, the moves before the one that it names are done.
func (c *Client) MoveShards(ctx context.Context, moves []*controlpb.ShardMove) ([]time.Duration, error) {
	r, err := c.call(ctx, "move shards", &controlpb.Request{
		Body: &controlpb.Request_MoveShards{MoveShards: &controlpb.MoveShards{Moves: moves}},
	})
	if err != nil {
		return nil, err
	}
	m, err := body("move shards", r.GetMoved())
	if err != nil {
		return nil, err
	}
	if len(m.GetBlockedNs()) != len(moves) {
		return nil, fmt.Errorf("move shards: engine answered %d moves, asked were %d", len(m.GetBlockedNs()), len(moves))
	}
	blocked := make([]time.Duration, len(moves))
	for i, ns := range m.GetBlockedNs() {
		blocked[i] = time.Duration(ns)
	}
	return blocked, nil
}

// Devices asks what the ports' devices can do; how many rules there is room for is tried up to a number.
func (c *Client) Devices(ctx context.Context, tryRules uint32) ([]*flowspb.Device, error) {
	r, err := c.call(ctx, "devices", &controlpb.Request{Body: &controlpb.Request_GetDevices{GetDevices: &flowspb.GetDevices{TryRules: tryRules}}})
	if err != nil {
		return nil, err
	}
	l, err := body("devices", r.GetDevices())
	return l.GetDevices(), err
}

// UpdateFlows changes the flow rules of a port. The answer tells how many steps were done, and the driver's words about the next one.
func (c *Client) UpdateFlows(ctx context.Context, u *flowspb.UpdateFlows) (*flowspb.FlowsUpdated, error) {
	r, err := c.call(ctx, "update flows", &controlpb.Request{Body: &controlpb.Request_UpdateFlows{UpdateFlows: u}})
	if err != nil {
		return nil, err
	}
	return body("update flows", r.GetFlowsUpdated())
}

// Flows reads what the flow rules of a port did.
func (c *Client) Flows(ctx context.Context, iface string) (*flowspb.FlowList, error) {
	r, err := c.call(ctx, "flows", &controlpb.Request{Body: &controlpb.Request_GetFlows{GetFlows: &flowspb.GetFlows{Interface: iface}}})
	if err != nil {
		return nil, err
	}
	return body("flows", r.GetFlows())
}

// PartitionShards cuts flows in another way, which an engine does only before its first program. It returns for each of its ports why
// its device does not hash as the cut wants it; empty: it does, or need not.
func (c *Client) PartitionShards(ctx context.Context, cut *controlpb.Partitioning) ([]string, error) {
	r, err := c.call(ctx, "cut shards", &controlpb.Request{Body: &controlpb.Request_PartitionShards{PartitionShards: &controlpb.PartitionShards{Partitioning: cut}}})
	if err != nil {
		return nil, err
	}
	b, err := body("cut shards", r.GetShardsPartitioned())
	return b.GetUnhashed(), err
}

// Shutdown ends the engine. It may close the stream instead of answering.
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := c.call(ctx, "shutdown", &controlpb.Request{
		Body: &controlpb.Request_Shutdown{Shutdown: &controlpb.Shutdown{}},
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// body is a response's part, or an error if the engine answered something else.
func body[T any](name string, part *T) (*T, error) {
	if part == nil {
		return nil, fmt.Errorf("%s: engine answered another question", name)
	}
	return part, nil
}

// call sends one request and waits for its response.
func (c *Client) call(ctx context.Context, name string, req *controlpb.Request) (*controlpb.Response, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w: %w", name, ErrNotAsked, ended(ctx))
	}
	if ctx.Err() != nil { // both may have been ready
		c.turn <- struct{}{}
		return nil, fmt.Errorf("%s: %w: %w", name, ErrNotAsked, ended(ctx))
	}
	if err := c.Err(); err != nil {
		c.turn <- struct{}{}
		return nil, fmt.Errorf("%s: %w: %w", name, ErrOver, err)
	}
	type result struct {
		resp *controlpb.Response
		err  error
	}
	done := make(chan result, 1)
	go func() {
		resp, err := c.exchange(req)
		if err != nil {
			c.fail(err)
		}
		c.turn <- struct{}{}
		done <- result{resp, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("%s: %w", name, r.err)
		}
		if r.resp.GetError() != "" {
			return nil, &EngineError{name, r.resp.GetError()}
		}
		return r.resp, nil
	case <-ctx.Done():
		c.fail(fmt.Errorf("%s was cancelled: %w", name, ended(ctx)))
		if closer, ok := c.rw.(io.Closer); ok {
			_ = closer.Close() // wakes the exchange
		}
		return nil, fmt.Errorf("%s: %w", name, ended(ctx))
	}
}

// ended is why a context is over. Of its cause it has the words alone: that may be what another engine answered, which is no answer of this one.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx).Error(); cause != ctx.Err().Error() {
		return fmt.Errorf("%w: %s", ctx.Err(), cause)
	}
	return ctx.Err()
}

func (c *Client) exchange(req *controlpb.Request) (*controlpb.Response, error) {
	c.lastID++
	req.Id = c.lastID
	if err := writeMessage(c.rw, req); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOver, err)
	}
	resp := new(controlpb.Response)
	if err := readMessage(c.rw, resp, MaxMessage); err != nil {
		return nil, err
	}
	if resp.GetId() != req.GetId() {
		return nil, fmt.Errorf("engine answered request %d, asked was %d", resp.GetId(), req.GetId())
	}
	return resp, nil
}

// fail notes the first reason why the connection is over.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
}

// Err is why the connection is over; nil: it holds.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}
