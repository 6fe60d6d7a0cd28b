package main

import (
	"context"
	"errors"
	"testing"
)

// failing is a peer that measures a few passes and then fails.
type failing struct {
	passes int
	closed *int
}

func (f *failing) run(context.Context, replay) (*deviceReport, error) {
	if f.passes--; f.passes < 0 {
		return nil, errors.New("it ended")
	}
	d := &deviceReport{Received: 100, Sent: 90}
	d.Cycles.Values, d.Cycles.P50 = 100, 70
	return d, nil
}

func (f *failing) close() { *f.closed++ }

func TestAPeerThatCannotBeMeasuredIsNamedWithTheReason(t *testing.T) {
	closed := 0
	r := row{peers: []peer{
		{"steady", func(context.Context, *bench, *row) (forwarding, error) { return &failing{3, &closed}, nil }},
		{"ends", func(context.Context, *bench, *row) (forwarding, error) { return &failing{1, &closed}, nil }},
		{"missing", func(context.Context, *bench, *row) (forwarding, error) { return nil, errors.New("not installed") }},
	}}
	list := openPeers(t.Context(), nil, &r)
	for range 3 {
		for _, o := range list {
			o.measure(t.Context(), replay{})
		}
	}
	for _, o := range list {
		o.close()
	}
	want := []peerResult{{Name: "steady", Cycles: 70, Ratio: 2, Forwarded: 0.9}, {Name: "ends", Absent: "it ended"}, {Name: "missing", Absent: "not installed"}}
	for i, o := range list {
		got := o.result(samples{35, 35, 35})
		got.Interval = interval{}
		if got != want[i] {
			t.Errorf("%s is %+v, want %+v", o.name, got, want[i])
		}
	}
	if closed != 2 {
		t.Errorf("%d peers were closed, want the two that were open, once each", closed)
	}
}

// disturbed is a peer whose first passes are on a busy machine, and cost more.
type disturbed struct{ passes int }

func (f *disturbed) run(context.Context, replay) (*deviceReport, error) {
	f.passes--
	d := &deviceReport{Received: 100, Sent: 100, busy: f.passes >= 0}
	d.Cycles.Values, d.Cycles.P50 = 100, 70
	if d.busy {
		d.Cycles.P50 = 110
	}
	return d, nil
}

func (*disturbed) close() {}

func TestAPeerIsMeasuredAgainWhereTheMachineIsBusy(t *testing.T) {
	for passes, want := range map[int]float64{0: 70, busyTries: 70, busyTries + 1: 110} {
		o := &opened{name: "disturbed", forwarding: &disturbed{passes}}
		o.measure(t.Context(), replay{})
		if got := o.result(samples{35}).Cycles; got != want {
			t.Errorf("after %d busy passes %v cycles, want %v", passes, got, want)
		}
	}
}
