package control

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// tracer is an engine's part in a trace: a packet for each reading, over after some.
type tracer struct {
	mu      sync.Mutex
	overIn  int
	reads   int
	stopped bool
}

func (e *tracer) answer(r *controlpb.Request) *controlpb.Response {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch b := r.GetBody().(type) {
	case *controlpb.Request_StartTrace:
		return &controlpb.Response{Body: &controlpb.Response_TraceStarted{TraceStarted: &controlpb.TraceStarted{Trace: b.StartTrace}}}
	case *controlpb.Request_ReadTrace:
		e.reads++
		traced := &controlpb.Traced{Packets: []*controlpb.TracedPacket{{Number: uint64(e.reads)}}}
		if e.reads == e.overIn {
			traced.Over = "its time is over"
		}
		return &controlpb.Response{Body: &controlpb.Response_Traced{Traced: traced}}
	case *controlpb.Request_StopTrace:
		e.stopped = true
		return &controlpb.Response{}
	default:
		return &controlpb.Response{Error: "not asked for"}
	}
}

// received is what a receiver got.
type received struct {
	want    *controlpb.StartTrace
	numbers []uint64
	over    string
	fail    error
}

func (r *received) Started(s *controlpb.TraceStarted) error {
	r.want = s.GetTrace()
	return nil
}

func (r *received) Traced(t *controlpb.Traced) error {
	for _, p := range t.GetPackets() {
		r.numbers = append(r.numbers, p.GetNumber())
	}
	r.over = t.GetOver()
	return r.fail
}

func TestATraceIsReadTenTimesASecondUntilItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &tracer{overIn: 20}
		c := fakeEngine(t, e.answer)
		var got received
		begin := time.Now()
		if err := c.Trace(t.Context(), &controlpb.StartTrace{OneIn: 7}, &got); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("20 readings took %s, want 2s", took)
		}
		if got.want.GetOneIn() != 7 || len(got.numbers) != 20 || got.over != "its time is over" || e.stopped {
			t.Errorf("got %+v, engine told to stop: %t", got, e.stopped)
		}
		_ = c.Close()
	})
}

func TestATraceThatIsNotWantedAnyMoreIsReadOnceMoreAndStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &tracer{}
		c := fakeEngine(t, e.answer)
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		var got received
		if err := c.Trace(ctx, &controlpb.StartTrace{}, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.numbers) != 3 || got.over != Stopped || !e.stopped {
			t.Errorf("got %+v, engine told to stop: %t", got, e.stopped)
		}
		if _, err := c.ReadTrace(t.Context()); err != nil {
			t.Errorf("the connection is over: %v", err)
		}
		_ = c.Close()
	})
}

func TestAReceiverThatFailsStopsTheTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &tracer{}
		c := fakeEngine(t, e.answer)
		full := errors.New("no space left on device")
		if err := c.Trace(t.Context(), &controlpb.StartTrace{}, &received{fail: full}); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
		if !e.stopped {
			t.Error("the engine goes on")
		}
		_ = c.Close()
	})
}

func TestATraceThatTheEngineRefusesIsAnError(t *testing.T) {
	c := fakeEngine(t, func(*controlpb.Request) *controlpb.Response {
		return &controlpb.Response{Error: "trace: no program is loaded"}
	})
	var refused *EngineError
	if err := c.Trace(t.Context(), &controlpb.StartTrace{}, &received{}); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

func TestATraceGoesThroughAStream(t *testing.T) {
	var stream bytes.Buffer
	w := TraceWriter{&stream}
	want := &controlpb.StartTrace{SnapLen: 96}
	for _, err := range []error{
		w.Started(&controlpb.TraceStarted{Trace: want}),
		w.Traced(&controlpb.Traced{Packets: []*controlpb.TracedPacket{{Number: 1}, {Number: 2}}}),
		w.Traced(&controlpb.Traced{Packets: []*controlpb.TracedPacket{{Number: 3}}, Over: Stopped}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := stream.Bytes()
	var got received
	if err := ReadTraces(bytes.NewReader(whole), &got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got.want, want) || len(got.numbers) != 3 || got.over != Stopped {
		t.Errorf("got %+v", got)
	}
	for name, c := range map[string]struct {
		stream string
		want   string
	}{
		"cut within a message":  {string(whole[:len(whole)-1]), "cut short"},
		"cut between messages":  {string(whole[:len(whole)-len(last(t))]), "before it was over"},
		"nothing":               {"", "before it was over"},
		"of another kind":       {"\x00\x00\x00\x00", "something else"},
		"no frames, but a text": {"exec: no such program", "is this an engine's control socket"},
	} {
		if err := ReadTraces(strings.NewReader(c.stream), &received{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	if err := ReadTraces(strings.NewReader(""), &received{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

// last is the last message of the stream.
func last(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (TraceWriter{&b}).Traced(&controlpb.Traced{Packets: []*controlpb.TracedPacket{{Number: 3}}, Over: Stopped}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
