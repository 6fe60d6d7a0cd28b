package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

const (
	traceEvery   = 100 * time.Millisecond // between two readings: 4 MiB of frames wait in the engine at most
	traceTimeout = time.Minute            // of one answer: an engine that builds a program answers late
)

// Stopped is why a trace is over that its reader ended.
const Stopped = "it was stopped"

// Traces receives a trace: once its start, then what was taken, from time to time, until Traced.Over says why it ended.
type Traces interface {
	Started(started *controlpb.TraceStarted) error
	Traced(traced *controlpb.Traced) error
}

// Trace runs a trace to its end, or until ctx ends. An error of the receiver stops it as well.
func (c *Client) Trace(ctx context.Context, want *controlpb.StartTrace, to Traces) error {
	started, err := answered(ctx, func(ctx context.Context) (*controlpb.TraceStarted, error) { return c.StartTrace(ctx, want) })
	if err != nil {
		return err
	}
	over, err := c.readOn(ctx, started, to)
	if over {
		return err
	}
	_, stop := answered(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.StopTrace(ctx) })
	return errors.Join(err, stop)
}

// readOn reads the trace until it is over by itself, ctx ends or there is an error.
func (c *Client) readOn(ctx context.Context, started *controlpb.TraceStarted, to Traces) (over bool, err error) {
	if err := to.Started(started); err != nil {
		return false, err
	}
	ticker := time.NewTicker(traceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
		stopped := ctx.Err() != nil
		traced, err := answered(ctx, c.ReadTrace)
		if err != nil {
			return true, err // nobody to stop it for
		}
		over := traced.GetOver() != ""
		if stopped && !over {
			traced.Over = Stopped
		}
		if err := to.Traced(traced); err != nil || over || stopped {
			return over, err
		}
	}
}

// answered bounds a question. It is not cut short by the end of ctx: a question without its answer would end the
// connection, by which the trace is to be stopped.
func answered[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTimeout)
	defer cancel()
	return ask(ctx)
}

// TraceWriter is a receiver that hands a trace on by a stream, from which ReadTraces reads it.
type TraceWriter struct{ W io.Writer }

// Started implements Traces.
func (t TraceWriter) Started(started *controlpb.TraceStarted) error {
	return writeMessage(t.W, &controlpb.Response{Body: &controlpb.Response_TraceStarted{TraceStarted: started}})
}

// Traced implements Traces.
func (t TraceWriter) Traced(traced *controlpb.Traced) error {
	return writeMessage(t.W, &controlpb.Response{Body: &controlpb.Response_Traced{Traced: traced}})
}

// ReadTraces reads what a TraceWriter wrote, up to the trace's end.
func ReadTraces(r io.Reader, to Traces) error {
	for {
		resp := new(controlpb.Response)
		err := readMessage(r, resp, MaxMessage)
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("trace: %w before it was over", io.ErrUnexpectedEOF)
		case err != nil:
			return fmt.Errorf("trace: %w", err)
		case resp.GetTraceStarted() != nil:
			err = to.Started(resp.GetTraceStarted())
		case resp.GetTraced() != nil:
			err = to.Traced(resp.GetTraced())
		default:
			err = errors.New("trace: the stream has something else")
		}
		if err != nil || resp.GetTraced().GetOver() != "" {
			return err
		}
	}
}
