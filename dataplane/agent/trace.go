package agent

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Trace has the engine trace what a request asks, a StartTrace as JSON, and streams it as control.ReadTraces reads it. It
// stops when in ends: whoever asked for it is gone.
func Trace(ctx context.Context, socket, request string, in io.Reader, out io.Writer) error {
	want := new(programpb.StartTrace)
	if err := protojson.Unmarshal([]byte(request), want); err != nil {
		return fmt.Errorf("request of a trace: %w", err)
	}
	dialing, done := context.WithTimeout(ctx, answerTimeout)
	defer done()
	client, err := control.Dial(dialing, socket)
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
	return client.Trace(ctx, want, control.TraceWriter{W: out})
}
