package runner

import (
	"context"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// export sends records of flows to the collector that the program names, until finish is called, which sends the rest.
func (r *running) export(ctx context.Context) (finish func() error) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		said := ""
		for ctx.Err() == nil {
			pause, err := r.flows.Step(ctx, r.program.Load(), r.records, time.Now())
			if err != nil && ctx.Err() == nil && err.Error() != said {
				said = err.Error()
				r.Say("warning: flows are not exported: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
	return func() error {
		cancel()
		<-over
		select {
		case <-r.engine.Exited():
			return r.flows.Close()
		default:
		}
		last, done := asking(ctx)
		defer done()
		return r.flows.Finish(last, r.records)
	}
}

// records are those that the engine has. A question is not cut short by a signal to stop.
func (r *running) records(ctx context.Context) (*programpb.FlowRecords, error) {
	ctx, cancel := asking(ctx)
	defer cancel()
	return r.engine.ReadFlows(ctx, 0)
}
