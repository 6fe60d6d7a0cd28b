package offload

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

func TestAnEngineThatDoesNotKnowOfDevicesIsServedWithoutThem(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	d := New(&old{c}, NewDrops(), func() *controlpb.Stats { return nil }, c.clock, dispatching(c).log)
	c.load(d, p)
	c.run(d, p, 3)
	if s := d.State(); len(s.Ports) != 0 || !strings.Contains(s.Unknown, "asks nothing that this engine knows") {
		t.Errorf("state: %+v", s)
	}
}

func TestAnEngineThatEndsWhenItIsAskedOrTriedIsNotAskedAgain(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	mortal := &fragile{cards: c, devices: io.EOF}
	d := New(mortal, NewDrops(), func() *controlpb.Stats { return nil }, c.clock, logr.Discard())
	if _, err := d.Before(t.Context(), p, true); err == nil {
		t.Error("the engine ended, and nobody is told")
	}
	d.After(nil)
	c.restart()
	c.load(d, p)
	c.run(d, p, 2)
	if s := d.State(); !strings.Contains(s.Unknown, "the engine ended") || mortal.asked != 1 {
		t.Errorf("asked %d times; state %+v", mortal.asked, s)
	}

	c = newCards(t, 2)
	for _, device := range c.devices {
		device.Flows = &flowspb.FlowCapabilities{}
	}
	mortal = &fragile{cards: c, cut: &control.EngineError{Request: "cut shards", Message: "interface inside: device does not start"}}
	d = New(mortal, NewDrops(), func() *controlpb.Stats { return nil }, c.clock, logr.Discard())
	c.load(d, p)
	c.restart()
	c.load(d, p)
	c.run(d, p, 2)
	if len(mortal.cuts) != 1 || mortal.cuts[0].GetBy() != controlpb.Partitioning_HOST {
		t.Errorf("the next engine was asked to cut by %v, want by host", mortal.cuts)
	}
	says(t, d, "inside", v1alpha1.DispatcherSoftware, "a port could not be restarted to hash", "device does not start")
}

func TestAnEngineThatEndsBeforeItIsAskedIsAskedAgain(t *testing.T) {
	c, p := newCards(t, 2), agenttest.Office(t, "23")
	early := &fragile{cards: c, devices: fmt.Errorf("devices: %w: EOF", control.ErrOver)}
	d := New(early, NewDrops(), func() *controlpb.Stats { return nil }, c.clock, logr.Discard())
	if _, err := d.Before(t.Context(), p, true); err == nil {
		t.Error("the engine ended, and nobody is told")
	}
	d.After(nil)
	c.restart()
	early.devices, early.cut = nil, fmt.Errorf("cut shards: %w: EOF", control.ErrOver)
	for _, device := range c.devices {
		device.Flows = &flowspb.FlowCapabilities{}
	}
	if _, err := d.Before(t.Context(), p, true); err == nil {
		t.Error("the engine ended, and nobody is told")
	}
	d.After(nil)
	c.restart()
	early.cut = nil
	c.load(d, p)
	c.run(d, p, 2)
	says(t, d, "inside", v1alpha1.DispatcherRSS)
}

// fragile is an engine that does not bear some questions.
type fragile struct {
	*cards
	devices, cut error
	asked        int
}

func (f *fragile) Devices(ctx context.Context, n uint32) ([]*flowspb.Device, uint64, error) {
	if f.asked++; f.devices != nil {
		return nil, f.life, f.devices
	}
	return f.cards.Devices(ctx, n)
}

func (f *fragile) PartitionShards(ctx context.Context, cut *controlpb.Partitioning) ([]string, error) {
	if cut.GetBy() == controlpb.Partitioning_RSS && f.cut != nil {
		return nil, f.cut
	}
	return f.cards.PartitionShards(ctx, cut)
}

func TestOfRulesThatAreNotKnownDropsAreTakenOutFirst(t *testing.T) {
	var table ruleTable
	var flows []*flowspb.FlowState
	for _, kind := range []dispatch.ActionKind{dispatch.Drop, dispatch.Pass, dispatch.ToQueue, dispatch.Drop, dispatch.Jump} {
		flows = append(flows, &flowspb.FlowState{Number: table.next(dispatch.Rule{Action: dispatch.Action{Kind: kind}})})
	}
	var kinds []dispatch.ActionKind
	for _, s := range wipe(flows) {
		kinds = append(kinds, dispatch.ActionKind(s.GetDestroy()>>kindShift))
	}
	want := []dispatch.ActionKind{dispatch.Drop, dispatch.Drop, dispatch.Jump, dispatch.ToQueue, dispatch.Pass}
	if !slices.Equal(kinds, want) {
		t.Errorf("taken out in the order %v, want %v", kinds, want)
	}
}

// old is an engine that does not tell what its devices can do.
type old struct{ *cards }

func (o *old) Devices(context.Context, uint32) ([]*flowspb.Device, uint64, error) {
	return nil, o.life, &control.EngineError{Request: "devices", Message: "request 3 asks nothing that this engine knows"}
}
