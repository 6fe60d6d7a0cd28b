package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control"
)

// probePause is how long workers have to show that they do their rounds.
const probePause = 100 * time.Millisecond

// Probe asks an engine, without its agent, whether it answers and every core does its rounds. It is for the liveness of the
// engine's container, which must not be judged by whether the agent is alive.
func Probe(ctx context.Context, socket string) error {
	client, err := control.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer client.Close()
	before, err := client.Stats(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(probePause):
	}
	now, err := client.Stats(ctx)
	if err != nil {
		return err
	}
	if !engine.Advanced(&engine.Sample{Stats: before}, &engine.Sample{Stats: now}) {
		return errors.New("a core has stopped polling")
	}
	return nil
}
