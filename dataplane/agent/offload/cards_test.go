package offload

import (
	"context"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/proto"
	clocktesting "k8s.io/utils/clock/testing"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// cards is an engine at the border of its socket, whose devices keep the rules that they are given, and which the test tells what packets show.
type cards struct {
	t       *testing.T
	clock   *clocktesting.FakeClock
	life    uint64
	hello   *controlpb.HelloReply
	devices []*flowspb.Device
	hash    []byte
	owner   []uint32 // of each shard
	workers int
	ports   []*controlpb.PortStats
	rules   map[string]map[uint32]*flowspb.FlowRule
	state   map[string]*flowspb.FlowList // of what is told beside rules
	obeyed  bool                         // packets show that rules are executed
	dropped uint64                       // packets that each dropping rule has dropped
	// why a driver refuses a rule; empty: it does not.
	refuses func(rule *flowspb.FlowRule, has int) string

	stuck string // why no rule can be taken out; empty: they can

	cuts    []*controlpb.Partitioning
	unhash  []string
	turns   []*flowspb.FlowTurn
	believe []flowspb.MarkBelief
	created int
	broken  error // of all requests
}

// newCards is an engine with capable devices for an inside and an outside interface.
func newCards(t *testing.T, workers int) *cards {
	c := &cards{
		t: t, clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0)), workers: workers, owner: make([]uint32, 128), obeyed: true,
		refuses: func(*flowspb.FlowRule, int) string { return "" },
	}
	for i := range c.owner {
		c.owner[i] = uint32(i * workers >> 7)
	}
	for _, name := range []string{"inside", "outside"} {
		c.devices = append(c.devices, capable(name, workers))
	}
	c.restart()
	return c
}

// restart is another engine, whose devices have no rules.
func (c *cards) restart() {
	c.life++
	c.hash, c.ports = nil, nil
	c.hello = &controlpb.HelloReply{Partitioning: &controlpb.Partitioning{}}
	c.rules, c.state = map[string]map[uint32]*flowspb.FlowRule{}, map[string]*flowspb.FlowList{}
	for _, d := range c.devices {
		c.ports = append(c.ports, &controlpb.PortStats{Interface: d.GetInterface()})
		c.rules[d.GetInterface()] = map[uint32]*flowspb.FlowRule{}
		c.state[d.GetInterface()] = &flowspb.FlowList{}
	}
}

// capable is a device that can do everything.
func capable(name string, queues int) *flowspb.Device {
	f := &flowspb.FlowCapabilities{
		Rules: 4096, Priorities: 1 << 16, Untagged: true, DstMac: true, Drop: true, Count: true, Queue: true, MarkBits: 24,
		Fragments: flowspb.FlowCapabilities_FRAGMENTS_TOLD,
	}
	for field := range hs.NumFields {
		f.Fields = append(f.Fields, &flowspb.FlowCapabilities_FieldMatching{Field: programpb.Field(field), Matching: flowspb.FlowCapabilities_MASKED})
	}
	return &flowspb.Device{
		Interface: name, Device: "0000:03:00." + name, Driver: "net_able", Queues: uint32(queues), Flows: f,
		Hash: &flowspb.HashCapabilities{Key: true, Buckets: 128, Ports: true},
	}
}

// plain is a device that can neither.
func plain(name string, queues int) *flowspb.Device {
	return &flowspb.Device{
		Interface: name, Device: "0000:04:00." + name, Driver: "net_e1000_igb_vf", Queues: uint32(queues),
		Flows: &flowspb.FlowCapabilities{Refused: "Function not implemented"}, Hash: &flowspb.HashCapabilities{},
	}
}

func (c *cards) Loading() bool { return false }

func (c *cards) Hello(context.Context) (*controlpb.HelloReply, uint64, error) {
	return c.hello, c.life, c.broken
}

func (c *cards) Loads(context.Context) (*controlpb.Stats, uint64, error) {
	s := &controlpb.Stats{Hash: c.hash, Workers: slices.Repeat([]*controlpb.WorkerStats{{}}, c.workers)}
	for _, o := range c.owner {
		s.Shards = append(s.Shards, &controlpb.ShardStats{Worker: o})
	}
	for _, p := range c.ports {
		if c.hash == nil {
			break // interfaces are the program's
		}
		s.Ports = append(s.Ports, &controlpb.PortStats{
			Interface: p.GetInterface(), RxPackets: p.GetRxPackets(), Strays: p.GetStrays(), FlowChecked: p.GetFlowChecked(),
			FlowUndropped: p.GetFlowUndropped(), FlowMisqueued: p.GetFlowMisqueued(), FlowMismarked: p.GetFlowMismarked(),
		})
	}
	return s, c.life, c.broken
}

// Devices tries what devices take. One that is full takes nothing.
func (c *cards) Devices(context.Context, uint32) ([]*flowspb.Device, uint64, error) {
	tried := slices.Clone(c.devices)
	for i, d := range tried {
		if c.full(d.GetInterface()) {
			tried[i] = proto.CloneOf(d)
			tried[i].Flows = &flowspb.FlowCapabilities{Refused: noSpace, Refusals: []*flowspb.FlowRefusal{{Of: "src by whole value", Words: noSpace}}}
		}
	}
	return tried, c.life, c.broken
}

const noSpace = "No space left on device"

// full tells whether a device that takes rules has room for none.
func (c *cards) full(iface string) bool {
	for _, d := range c.devices {
		if room := d.GetFlows().GetRules(); d.GetInterface() == iface && room > 0 {
			return len(c.rules[iface]) >= int(room)
		}
	}
	return false
}

func (c *cards) PartitionShards(_ context.Context, cut *controlpb.Partitioning) ([]string, error) {
	if c.hash != nil {
		return nil, &control.EngineError{Request: "cut shards", Message: "the engine has a program"}
	}
	c.cuts = append(c.cuts, cut)
	c.hello.Partitioning = cut
	return c.unhash, c.broken
}

func (c *cards) UpdateFlows(_ context.Context, u *flowspb.UpdateFlows) (*flowspb.FlowsUpdated, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	has := c.rules[u.GetInterface()]
	done := &flowspb.FlowsUpdated{}
	for _, s := range u.GetSteps() {
		if r := s.GetCreate(); r != nil {
			if has[r.GetNumber()] != nil {
				c.t.Fatalf("interface %s: rule %d is there already", u.GetInterface(), r.GetNumber())
			}
			if done.Refused = c.refuses(r, len(has)); c.full(u.GetInterface()) {
				done.Refused = noSpace
			}
			if done.Refused != "" {
				return done, nil
			}
			has[r.GetNumber()] = r
			c.created++
		} else {
			if done.Refused = c.stuck; c.stuck != "" {
				return done, nil
			}
			if has[s.GetDestroy()] == nil {
				c.t.Fatalf("interface %s: there is no rule %d", u.GetInterface(), s.GetDestroy())
			}
			delete(has, s.GetDestroy())
		}
		done.Done++
	}
	if u.GetTurn() != nil {
		c.turns = append(c.turns, u.GetTurn())
	}
	switch u.GetBelief() {
	case flowspb.MarkBelief_BELIEVED:
		c.state[u.GetInterface()].Believed = true
		c.believe = append(c.believe, u.GetBelief())
	case flowspb.MarkBelief_NOT_BELIEVED:
		c.state[u.GetInterface()].Believed = false
		c.believe = append(c.believe, u.GetBelief())
	case flowspb.MarkBelief_BELIEF_KEPT:
	}
	return done, nil
}

func (c *cards) Flows(_ context.Context, iface string) (*flowspb.FlowList, error) {
	state := c.state[iface]
	list := &flowspb.FlowList{Resets: state.GetResets(), Lost: state.GetLost(), Believed: state.GetBelieved()}
	for n, r := range c.rules[iface] {
		f := &flowspb.FlowState{Number: n}
		if r.GetAction() == flowspb.FlowRule_DROP && r.GetCount() {
			f.Packets, f.Bytes = c.dropped, 100*c.dropped
		}
		if c.obeyed {
			f.Verdict, f.Agreed = flowspb.FlowState_EXECUTED, 10
		}
		list.Flows = append(list.Flows, f)
	}
	return list, c.broken
}

// kinds counts an interface's rules by what they do.
func (c *cards) kinds(iface string) map[flowspb.FlowRule_Action]int {
	out := map[flowspb.FlowRule_Action]int{}
	for _, r := range c.rules[iface] {
		out[r.GetAction()]++
	}
	return out
}

// queues is how many of the shards the rules for packets from inside give to each queue.
func (c *cards) queues() map[uint32]int {
	out := map[uint32]int{}
	for shard := range uint32(128) {
		for _, r := range c.rules["inside"] {
			if r.GetAction() != flowspb.FlowRule_QUEUE || len(r.GetConds()) != 1 { // others are about classes as well
				continue
			}
			if cond := r.GetConds()[0]; cond.GetField() == programpb.Field_SRC && shard&cond.GetMask() == cond.GetValue() {
				out[r.GetQueue()]++
			}
		}
	}
	return out
}

// dispatching is an agent's part that has such an engine.
func dispatching(c *cards) *Dispatch {
	return New(c, NewDrops(), func() *controlpb.Stats { return nil }, c.clock, logr.Discard())
}

// load is what the loader does.
func (c *cards) load(d *Dispatch, p *delivery.Program) {
	c.t.Helper()
	marks, err := d.Before(c.t.Context(), p, c.hash == nil)
	if err != nil {
		d.After(nil)
		c.t.Fatal(err)
	}
	c.hello.Marks = marks
	c.hash, _ = hex.DecodeString(p.Hash)
	d.After(p)
}

// run has the agent's part look at the engine for some seconds.
func (c *cards) run(d *Dispatch, p *delivery.Program, seconds int) {
	for end := c.clock.Now().Add(time.Duration(seconds) * time.Second); c.clock.Now().Before(end); {
		c.clock.Step(d.Step(c.t.Context(), p, 0))
	}
}
