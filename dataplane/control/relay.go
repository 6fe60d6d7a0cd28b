package control

import (
	"context"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// dialTimeout bounds the way to the engine of the same pod.
const dialTimeout = 2 * time.Second

// RelayTrace has the engine trace what a request asks, a StartTrace as JSON, and streams it as ReadTraces reads it. It
// stops when in ends: whoever asked for it is gone.
func RelayTrace(ctx context.Context, socket, request string, in io.Reader, out io.Writer) error {
	want := new(controlpb.StartTrace)
	if err := protojson.Unmarshal([]byte(request), want); err != nil {
		return fmt.Errorf("request of a trace: %w", err)
	}
	dialing, done := context.WithTimeout(ctx, dialTimeout)
	defer done()
	client, err := Dial(dialing, socket)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return client.Trace(ctx, want, TraceWriter{W: out})
}

// RelayTop asks the engine what a request asks, a GetTop as JSON, and writes the TopList as JSON.
func RelayTop(ctx context.Context, socket, request string, out io.Writer) error {
	want := new(programpb.GetTop)
	if err := protojson.Unmarshal([]byte(request), want); err != nil {
		return fmt.Errorf("request of a list: %w", err)
	}
	ctx, done := context.WithTimeout(ctx, dialTimeout)
	defer done()
	client, err := Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := client.Top(ctx, want)
	if err != nil {
		return err
	}
	text, err := protojson.Marshal(list)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
