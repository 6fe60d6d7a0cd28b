package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sinter-nfv/sinter/test/bench/acl"
)

// peer is another program that forwards the same packets.
type peer struct {
	name string
	// open makes it ready for a row's passes. It fails if the program is not there, or if it cannot do what it is asked for.
	open func(ctx context.Context, b *bench, r *row) (forwarding, error)
}

// forwarding is a peer that is ready.
type forwarding interface {
	run(ctx context.Context, r replay) (*deviceReport, error)
	close()
}

// peerResult is a peer's medians over the passes.
type peerResult struct {
	Name      string   `json:"name"`
	Cycles    float64  `json:"cycles,omitempty"`
	Ratio     float64  `json:"ratio,omitempty"` // to the baseline
	Interval  interval `json:"ratio_interval,omitzero"`
	Forwarded float64  `json:"forwarded_share,omitempty"`
	Absent    string   `json:"absent,omitempty"` // why it was not measured
}

// peerBudget is for how long a peer is measured in a row: one that is slow has fewer passes.
const peerBudget = 30 * time.Second

// opened is a peer of a row that is measured, and its figures. If anything goes wrong with it, it is absent from then on: the run goes on without it.
type opened struct {
	name              string
	forwarding        forwarding // nil: absent
	absent            error
	cycles, forwarded samples
	spent             time.Duration
}

func openPeers(ctx context.Context, b *bench, r *row) []*opened {
	var list []*opened
	for _, p := range r.peers {
		o := &opened{name: p.name}
		if o.forwarding, o.absent = p.open(ctx, b, r); o.absent != nil {
			o.forwarding = nil
		}
		list = append(list, o)
	}
	return list
}

// measure is a pass. On a busy machine it is tried again.
func (o *opened) measure(ctx context.Context, r replay) {
	if o.forwarding == nil || o.spent > peerBudget {
		return
	}
	begin := time.Now()
	d, err := o.forwarding.run(ctx, r)
	for range busyTries {
		if err != nil || !d.busy || o.spent+time.Since(begin) > peerBudget {
			break
		}
		d, err = o.forwarding.run(ctx, r)
	}
	o.spent += time.Since(begin)
	switch {
	case err != nil:
	case d.Sent == 0:
		err = errors.New("it forwarded nothing")
	case d.Cycles.Values == 0:
		err = errors.New("not one full burst was measured")
	default:
		o.cycles, o.forwarded = append(o.cycles, d.Cycles.P50), append(o.forwarded, float64(d.Sent)/float64(d.Received))
		return
	}
	o.absent = err
	o.close()
}

func (o *opened) close() {
	if o.forwarding != nil {
		o.forwarding.close()
		o.forwarding = nil
	}
}

func (o *opened) result(baseline samples) peerResult {
	if o.absent != nil {
		return peerResult{Name: o.name, Absent: o.absent.Error()}
	}
	ratios := o.cycles.over(baseline) // of the passes that it had
	return peerResult{Name: o.name, Cycles: o.cycles.median(), Ratio: ratios.median(), Interval: ratios.interval(), Forwarded: o.forwarded.median()}
}

// aclRules are a file's, for peers.
func aclRules(file string) ([]acl.Rule, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rules, err := acl.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rules, nil
}

// tooFew tells that a peer does not translate all flows, so that its figure would not count.
func tooFew(tracked, want int) error {
	return fmt.Errorf("it tracks only %d connections, want %d", tracked, want)
}
