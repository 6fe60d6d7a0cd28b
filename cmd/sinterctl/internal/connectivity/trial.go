package connectivity

import (
	"context"
	"errors"
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/util/wait"
)

// counts are the packets that the chain dropped, by reason.
type counts func(context.Context) (map[string]int64, error)

// trial is a test of a chain that runs.
type trial struct {
	client, server *host
	drops          counts
	timing         Timing
	ports          uint16 // that were used
}

func newTrial(client, server Wire, drops counts, timing Timing) *trial {
	return &trial{
		client: newHost("client", client, clientAddress, insideAddress, timing),
		server: newHost("server", server, serverAddress, outsideAddress, timing),
		drops:  drops, timing: timing,
	}
}

// port is one that no flow had yet.
func (t *trial) port() uint16 {
	t.ports++
	return clientPort + t.ports
}

// run runs all tests. An error says that there is no result, as the run was interrupted or the chain's drops cannot be read.
func (t *trial) run(ctx context.Context, r *Report) error {
	for _, h := range []*host{t.client, t.server} {
		err := h.resolve(ctx)
		if ctx.Err() != nil {
			return interrupted(ctx)
		}
		r.add(row("arp-"+h.name, Passes, fmt.Sprintf("%s is at %s", text(h.gateway), net.HardwareAddr(h.chain[:])), err))
	}
	for _, c := range passingCases {
		detail, err := c.run(t, ctx)
		if ctx.Err() != nil {
			return interrupted(ctx)
		}
		r.add(row(c.name, Passes, detail, err))
	}
	return t.runDrops(ctx, r)
}

func row(name string, kind Kind, detail string, err error) Row {
	if err != nil {
		detail = err.Error()
	}
	return Row{Name: name, Kind: kind, Passed: err == nil, Detail: detail}
}

func interrupted(ctx context.Context) error { return fmt.Errorf("interrupted: %w", context.Cause(ctx)) }

// runDrops sends the frames of all reasons, then waits until the chain has counted them.
func (t *trial) runDrops(ctx context.Context, r *Report) error {
	before, err := t.drops(ctx)
	if err != nil {
		return err
	}
	failures := map[string]error{}
	for _, c := range dropCases {
		h := c.from(t)
		frame := c.frame(h)
		for range copies {
			if err := h.send(frame); err != nil {
				failures[c.reason] = err
			}
		}
	}
	grown, err := t.counted(ctx, before)
	if err != nil {
		return err
	}
	for _, c := range dropCases {
		n, err := grown[c.reason], failures[c.reason]
		if err == nil && n < copies {
			err = fmt.Errorf("%d of %d frames of the %s are counted as %s after %s", n, copies, c.from(t).name, c.reason, t.timing.Drops)
		}
		r.add(row(c.reason, Drops, fmt.Sprintf("%d of %d frames", min(n, copies), copies), err))
	}
	return nil
}

// counted is how much the counts of the reasons have grown, once each has grown enough or there was time enough for that.
func (t *trial) counted(ctx context.Context, before map[string]int64) (grown map[string]int64, err error) {
	err = wait.PollUntilContextTimeout(ctx, t.timing.Poll, t.timing.Drops, true, func(ctx context.Context) (all bool, err error) {
		now, err := t.drops(ctx)
		if err != nil {
			return false, err
		}
		grown, all = map[string]int64{}, true
		for _, c := range dropCases {
			grown[c.reason] = now[c.reason] - before[c.reason]
			all = all && grown[c.reason] >= copies
		}
		return all, nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, interrupted(ctx)
	case grown != nil && errors.Is(err, context.DeadlineExceeded):
		return grown, nil // its rows say which were not counted
	}
	return grown, err
}
