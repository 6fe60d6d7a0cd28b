package control

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// fakeEngine answers every request with what answer returns, until the client is gone.
func fakeEngine(t *testing.T, answer func(*controlpb.Request) *controlpb.Response) *Client {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
	go func() {
		for {
			req := new(controlpb.Request)
			if readMessage(there, req, MaxMessage) != nil {
				return
			}
			resp := answer(req)
			if resp == nil {
				_ = there.Close()
				return
			}
			if resp.GetId() == 0 {
				resp.Id = req.GetId()
			}
			if writeMessage(there, resp) != nil {
				return
			}
		}
	}()
	return NewClient(here)
}

func TestEveryRequestReachesTheEngineAndBringsItsAnswer(t *testing.T) {
	c := fakeEngine(t, func(r *controlpb.Request) *controlpb.Response {
		switch b := r.GetBody().(type) {
		case *controlpb.Request_Hello:
			return &controlpb.Response{Body: &controlpb.Response_Hello{Hello: &controlpb.HelloReply{Schema: b.Hello.GetSchema(), Ports: []string{"net_null0"}}}}
		case *controlpb.Request_Load:
			return &controlpb.Response{Body: &controlpb.Response_Load{Load: &controlpb.Loaded{Hash: b.Load.GetHash(), SessionsKept: 3}}}
		case *controlpb.Request_GetStats:
			return &controlpb.Response{Body: &controlpb.Response_Stats{Stats: &controlpb.Stats{NowNs: 5}}}
		case *controlpb.Request_Inject:
			return &controlpb.Response{Body: &controlpb.Response_Inject{Inject: &controlpb.Injected{Out: []*controlpb.OutPacket{{Data: b.Inject.GetPackets()[0].GetData()}}}}}
		case *controlpb.Request_GetNeighbors:
			return &controlpb.Response{Body: &controlpb.Response_Neighbors{Neighbors: &controlpb.NeighborList{Neighbors: []*controlpb.NeighborState{{Address: 9}}}}}
		case *controlpb.Request_GetSessions:
			return &controlpb.Response{Body: &controlpb.Response_Sessions{Sessions: &controlpb.SessionList{Sessions: []*programpb.Session{{InsidePort: b.GetSessions.GetLimit()}}}}}
		case *controlpb.Request_MoveShards:
			blocked := make([]uint64, len(b.MoveShards.GetMoves()))
			for i, m := range b.MoveShards.GetMoves() {
				blocked[i] = uint64(m.GetShard() * m.GetWorker())
			}
			return &controlpb.Response{Body: &controlpb.Response_Moved{Moved: &controlpb.Moved{BlockedNs: blocked}}}
		default:
			return &controlpb.Response{}
		}
	})
	ctx := t.Context()
	if h, err := c.Hello(ctx); err != nil || h.GetPorts()[0] != "net_null0" {
		t.Errorf("hello: %v, %v", h, err)
	}
	if l, err := c.Load(ctx, []byte{1}, program.Hash([]byte{1})); err != nil || l.GetSessionsKept() != 3 {
		t.Errorf("load: %v, %v", l, err)
	}
	if s, err := c.Stats(ctx); err != nil || s.GetNowNs() != 5 {
		t.Errorf("stats: %v, %v", s, err)
	}
	in := &controlpb.Inject{Packets: []*controlpb.InjectedPacket{{Data: []byte{1, 2}}}}
	if o, err := c.Inject(ctx, in); err != nil || len(o.GetOut()) != 1 {
		t.Errorf("inject: %v, %v", o, err)
	}
	if n, err := c.Neighbors(ctx); err != nil || len(n) != 1 || n[0].GetAddress() != 9 {
		t.Errorf("neighbors: %v, %v", n, err)
	}
	if s, err := c.Sessions(ctx, 0, 7); err != nil || len(s) != 1 || s[0].GetInsidePort() != 7 {
		t.Errorf("sessions: %v, %v", s, err)
	}
	moves := []*controlpb.ShardMove{{Shard: 1000, Worker: 3}, {Shard: 5, Worker: 1}}
	if b, err := c.MoveShards(ctx, moves); err != nil || !slices.Equal(b, []time.Duration{3 * time.Microsecond, 5}) {
		t.Errorf("move shards: %v, %v", b, err)
	}
	if err := c.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestAnEngineThatRefusesIsQuotedAndTheConnectionLivesOn(t *testing.T) {
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response {
		return &controlpb.Response{Error: "no memory for 10 boxes"}
	})
	for range 2 {
		_, err := c.Load(t.Context(), nil, "00")
		var refused *EngineError
		if !errors.As(err, &refused) || err.Error() != "engine refused load: no memory for 10 boxes" {
			t.Fatalf("got %v", err)
		}
	}
}

func TestAnEngineOfAnotherReleaseIsNamed(t *testing.T) {
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response {
		return &controlpb.Response{Body: &controlpb.Response_Hello{Hello: &controlpb.HelloReply{Schema: 7, Version: "v0.9.0"}}}
	})
	_, err := c.Hello(t.Context())
	want := "engine v0.9.0 speaks schema 7, this Sinter speaks schema 2: run an engine of the same release"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAWrongAnswerIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		answer *controlpb.Response
		want   string
	}{
		"to another request":  {&controlpb.Response{Id: 99}, "engine answered request 99, asked was 1"},
		"of another kind":     {&controlpb.Response{}, "stats: engine answered another question"},
		"none, stream closed": {nil, "stats: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fakeEngine(t, func(*controlpb.Request) *controlpb.Response { return c.answer })
			if _, err := client.Stats(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestALoadedProgramOfAnotherHashIsAnError(t *testing.T) {
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response {
		return &controlpb.Response{Body: &controlpb.Response_Load{Load: &controlpb.Loaded{Hash: []byte{1}}}}
	})
	if _, err := c.Load(t.Context(), nil, "02"); err == nil || !strings.Contains(err.Error(), "engine runs program 01, want 02") {
		t.Errorf("got %v", err)
	}
}

func TestACancelledRequestReturnsAtOnceAndEndsTheConnection(t *testing.T) {
	asked := make(chan struct{})
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response {
		close(asked)
		<-t.Context().Done()
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := c.Stats(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	if _, err := c.Stats(t.Context()); !errors.Is(err, ErrOver) || !strings.Contains(err.Error(), "stats was cancelled") {
		t.Errorf("next request: got %v, want that the connection is over, and why", err)
	}
}

func TestARequestThatIsCancelledAsAnotherEngineRefusedIsNoRefusal(t *testing.T) {
	asked := make(chan struct{})
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response {
		close(asked)
		<-t.Context().Done()
		return nil
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-asked; cancel(&EngineError{Request: "take shards", Message: "no memory"}) }()
	var refused *EngineError
	if _, err := c.Stats(ctx); errors.As(err, &refused) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("got %v, want that it was cancelled, and why", err)
	}
	if _, err := c.Stats(t.Context()); err == nil || errors.As(err, &refused) {
		t.Errorf("next request: got %v, want that the connection is over", err)
	}
	if c.Err() == nil {
		t.Error("the connection is said to hold")
	}
}

func TestARequestThatAnEngineCannotReadDidNotReachIt(t *testing.T) {
	here, there := net.Pipe()
	_ = there.Close()
	if _, err := NewClient(here).Stats(t.Context()); !errors.Is(err, ErrOver) {
		t.Errorf("got %v, want ErrOver", err)
	}
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response { return nil })
	if _, err := c.Stats(t.Context()); err == nil || errors.Is(err, ErrOver) {
		t.Errorf("got %v, want that the engine ended when it was asked", err)
	}
}

func TestARequestWhoseTimeIsOverDoesNotGoOut(t *testing.T) {
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response {
		return &controlpb.Response{Body: &controlpb.Response_Stats{Stats: &controlpb.Stats{}}}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // nobody else asks, so the turn is free as well
		if _, err := c.Stats(ctx); !errors.Is(err, ErrNotAsked) || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want ErrNotAsked and why", err)
		}
	}
	if _, err := c.Stats(t.Context()); err != nil {
		t.Errorf("next request: %v", err)
	}
}

func TestAMessageThatIsTooLongIsNotRead(t *testing.T) {
	here, there := net.Pipe()
	t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
	go func() {
		_ = readMessage(there, new(controlpb.Request), MaxMessage)
		_, _ = there.Write(binary.BigEndian.AppendUint32(nil, MaxMessage+1))
	}()
	if _, err := NewClient(here).Stats(t.Context()); err == nil || !strings.Contains(err.Error(), "at most 268435456 are read") {
		t.Errorf("got %v", err)
	}
}

func TestAMessageThatIsCutShortIsAnError(t *testing.T) {
	err := readMessage(strings.NewReader("\x00\x00\x00\x09abc"), new(controlpb.Response), MaxMessage)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "message of 9 bytes cut short") {
		t.Errorf("got %v", err)
	}
}

func TestDialNamesTheSocketThatIsNotThere(t *testing.T) {
	path := t.TempDir() + "/engine.sock"
	if _, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error with %s", err, path)
	}
}
