// Package offload has the engine's devices do what they can, by flow rules and by hashing, and watches that they do.
package offload

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/control/flowspb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Bounds of what is done about devices' rules.
const (
	dispatchPeriod = time.Second
	dispatchBusy   = 100 * time.Millisecond // while somebody else has the engine or the rules
	tryRules       = 4096                   // how many rules a device is tried with
)

// steered is an engine whose devices take flow rules.
type steered interface {
	Loading() bool
	Hello(context.Context) (hello *controlpb.HelloReply, life uint64, err error)
	Loads(context.Context) (stats *controlpb.Stats, life uint64, err error)
	Devices(ctx context.Context, tryRules uint32) (devices []*flowspb.Device, life uint64, err error)
	PartitionShards(context.Context, *controlpb.Partitioning) (unhashed []string, err error)
	UpdateFlows(context.Context, *flowspb.UpdateFlows) (*flowspb.FlowsUpdated, error)
	Flows(ctx context.Context, iface string) (*flowspb.FlowList, error)
}

// Dispatch has the engine's devices do what they can: drop packets, mark them with their class, give them to their core. What
// they can is asked and tried, and what they do is watched: one that does otherwise gets no rules any more. Which rules, and in which
// order, is decided in dataplane/dispatch.
//
// Its own loop follows programs, shards and counters. The loader comes in between before and after a load. Whoever
// has the turn acts; the records have locks of their own.
type Dispatch struct {
	engine  steered
	clock   clock.PassiveClock
	log     logr.Logger
	drops   *Drops
	classes func() *controlpb.Stats // what the classes had so far; nil: not known

	turn  chan struct{} // holds one token: the right to change rules
	hurry atomic.Bool   // the loader waits for its turn
	wake  chan struct{}

	mu    sync.Mutex
	state State

	// Used by whoever has the turn.
	met      bool
	life     uint64          // the connection to the engine that was met
	unknown  string          // why it is not known what the devices can do
	deadly   bool            // an engine ended when it was asked
	cut      dispatch.Shards // how flows are divided, but for how many shards there are
	workers  int
	program  *delivery.Program // in force; nil: not known
	marks    *flowspb.Marks    // of the program in force; nil: none are believed
	ahead    *flowspb.Marks    // of the program that is being loaded
	shards   shardQueues
	choice   dispatch.Choice
	chosen   choiceKey
	version  int // of what the devices can do
	ports    []*port
	distrust map[string]string // what was seen of devices' rules, over the engine's lives
	astray   map[string]string // … and of their hashes
}

// choiceKey is what a choice of dispatchers depends on.
type choiceKey struct {
	program       *delivery.Program
	workers, bits int
	version       int
}

// State is what has become of the devices' part in dispatch.
type State struct {
	Ports   []PortState
	Unknown string // why there are none
}

// New makes the part of an agent that gives rules to devices.
func New(e steered, drops *Drops, classes func() *controlpb.Stats, c clock.PassiveClock, log logr.Logger) *Dispatch {
	d := &Dispatch{
		engine: e, drops: drops, classes: classes, clock: c, log: log,
		turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), distrust: map[string]string{}, astray: map[string]string{},
	}
	d.turn <- struct{}{}
	return d
}

// State is what has become of the devices' part in dispatch.
func (d *Dispatch) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

func (d *Dispatch) publish() {
	s := State{Unknown: d.unknown}
	for _, p := range d.ports {
		s.Ports = append(s.Ports, d.report(p))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = s
}

// Wake has something when there is something to do.
func (d *Dispatch) Wake() <-chan struct{} { return d.wake }

// Step looks at engine and devices once, and has them do what is to be done with the program in force, if it is the known one, on the
// first working cores; 0: all. It returns when to look again.
func (d *Dispatch) Step(ctx context.Context, known *delivery.Program, working int) time.Duration {
	if d.engine.Loading() {
		return dispatchBusy
	}
	select {
	case <-d.turn:
		defer func() { d.turn <- struct{}{} }()
	default:
		return dispatchBusy
	}
	stats, life, err := d.engine.Loads(ctx)
	if errors.Is(err, control.ErrNotAsked) {
		return dispatchBusy
	}
	if err == nil {
		err = d.meet(ctx, life)
	}
	defer d.publish()
	if err != nil {
		d.log.V(1).Info("devices are not looked at", "why", err.Error())
		return dispatchPeriod
	}
	if !d.adopt(known, stats) {
		return dispatchPeriod
	}
	d.workers = max(len(stats.GetWorkers()), 1)
	d.shards.look(stats, working, d.clock.Now())
	d.choose()
	for _, p := range d.ports {
		if err := d.serve(ctx, p, stats); err != nil && !errors.Is(err, control.ErrNotAsked) {
			d.log.Error(err, "flow rules stay as they are", "interface", p.name)
		}
	}
	return dispatchPeriod
}

// meet gets to know the devices of an engine that answers by another connection than before. Rules that another agent, or
// this one by another connection, has left there are taken out: what they say is not known. That is done first, as a device that is full
// takes nothing that it is tried with.
func (d *Dispatch) meet(ctx context.Context, life uint64) error {
	if d.met && d.life == life {
		return nil
	}
	d.met, d.ports, d.choice, d.chosen = false, nil, dispatch.Choice{}, choiceKey{}
	hello, was, err := d.engine.Hello(ctx)
	if err != nil {
		return err
	}
	if err := d.clear(ctx); err != nil {
		return err
	}
	devices, is, err := d.ask(ctx)
	if err != nil {
		return err
	}
	if d.unknown != "" { // until another engine says more
		d.met, d.life = true, life
		return nil
	}
	if was != life || is != life {
		return engine.ErrNone
	}
	var ports []*port
	for _, device := range devices {
		p := newPort(device)
		if seen := d.distrust[p.key()]; seen != "" {
			p.distrust(seen)
		}
		p.caps.RSS.Refused = d.astray[p.key()]
		if err := d.wipe(ctx, p.name); err != nil { // of an interface that the program in force does not have
			return err
		}
		ports = append(ports, p)
		d.log.Info("device", "interface", p.name, "driver", p.driver, "queues", p.caps.Queues, "rules", p.caps.Rules,
			"refused", p.caps.Refused, "hash buckets", p.caps.RSS.Buckets)
	}
	d.ports, d.met, d.life = ports, true, life
	d.cut, d.marks = shardsOf(hello.GetPartitioning()), hello.GetMarks()
	d.bind()
	return nil
}

// ask asks what the devices can do; if that cannot be known, it is noted why. A driver may not bear to be tried: then the engine is not asked
// again, as its end would be taken for the program's fault.
func (d *Dispatch) ask(ctx context.Context) (devices []*flowspb.Device, life uint64, err error) {
	if d.unknown = ""; d.deadly {
		d.unknown = "the engine ended, or took more than a minute, when it was asked for them"
		return nil, 0, nil
	}
	devices, life, err = d.engine.Devices(ctx, tryRules)
	var refused *control.EngineError
	if errors.As(err, &refused) {
		d.unknown = refused.Message
		return nil, life, nil
	}
	d.deadly = err != nil && !engine.Unasked(err) && ctx.Err() == nil
	return devices, life, err
}

// clear takes out the rules of the interfaces of the program in force.
func (d *Dispatch) clear(ctx context.Context) error {
	stats, _, err := d.engine.Loads(ctx)
	if err != nil {
		return err
	}
	for _, p := range stats.GetPorts() {
		if err := d.wipe(ctx, p.GetInterface()); err != nil {
			return err
		}
	}
	return nil
}

// wipe takes out an interface's rules, of which nothing but the numbers is known.
func (d *Dispatch) wipe(ctx context.Context, iface string) error {
	list, err := d.engine.Flows(ctx, iface)
	var refused *control.EngineError
	if errors.As(err, &refused) {
		return nil // an engine that does not know what rules are
	}
	if err != nil || len(list.GetFlows()) == 0 {
		return err
	}
	updates := []*flowspb.UpdateFlows{
		{Interface: iface, Belief: flowspb.MarkBelief_NOT_BELIEVED},
		{Interface: iface, Steps: wipe(list.GetFlows())},
	}
	for _, u := range updates {
		done, err := d.engine.UpdateFlows(ctx, u)
		if err == nil && done.GetRefused() != "" {
			err = &control.EngineError{
				Request: "update flows", Message: fmt.Sprintf("interface %s: an old flow rule cannot be removed: %s", iface, done.GetRefused()),
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adopt tells whether the program in force is known.
func (d *Dispatch) adopt(known *delivery.Program, stats *controlpb.Stats) bool {
	hash := engine.HashOf(stats)
	if d.program != nil && d.program.Hash == hash {
		return true
	}
	if known == nil || known.Hash != hash {
		return false
	}
	d.begin(known, d.marks) // it ran before the agent did
	return true
}

// begin is called when a program is in force.
func (d *Dispatch) begin(p *delivery.Program, marks *flowspb.Marks) {
	d.program, d.marks = p, marks
	d.drops.begin(p)
	d.bind()
}

// bind finds each port's interface in the program.
func (d *Dispatch) bind() {
	for _, p := range d.ports {
		p.index, p.complete, p.weights = -1, false, nil
		if d.program == nil {
			continue
		}
		for i, iface := range d.program.GetInterfaces() {
			if iface.GetName() == p.name {
				p.index = i
			}
		}
	}
}

// choose takes the strongest dispatcher of each port under the cut that is in force.
func (d *Dispatch) choose() {
	key := choiceKey{d.program, d.workers, d.shards.bits(), d.version}
	if key != d.chosen {
		d.choice = d.chooseFor(d.program)
		d.chosen = key
	}
}

// chooseFor chooses for a program under that cut.
func (d *Dispatch) chooseFor(p *delivery.Program) dispatch.Choice {
	shards := d.cut
	shards.Bits = d.shards.bits()
	return dispatch.ChooseUnder(shards, p.Program, d.capabilities(p), d.workers)
}

// capabilities are those of the devices of a program's interfaces.
func (d *Dispatch) capabilities(p *delivery.Program) []dispatch.Capabilities {
	out := make([]dispatch.Capabilities, len(p.GetInterfaces()))
	for i, iface := range p.GetInterfaces() {
		for _, port := range d.ports {
			if port.name == iface.GetName() {
				out[i] = port.caps
			}
		}
	}
	return out
}

// shardQueues is the queue that each shard's packets are to come by.
type shardQueues struct {
	queues []uint16
	since  time.Time // when they became so
	state  bool      // the program keeps state: they are the shards' owners
}

// look reads the shards' owners. The packets of a program without state may go anywhere.
func (q *shardQueues) look(s *controlpb.Stats, working int, now time.Time) {
	var queues []uint16
	for _, one := range s.GetShards() {
		queues = append(queues, uint16(one.GetWorker()))
	}
	q.state = len(queues) > 0
	if !q.state {
		if working <= 0 || working > len(s.GetWorkers()) {
			working = len(s.GetWorkers())
		}
		queues = dispatch.Spread(working, shard.Bits)
	}
	if !slices.Equal(queues, q.queues) {
		q.queues, q.since = queues, now
	}
}

// bits is the logarithm of how many shards there are.
func (q *shardQueues) bits() int { return bits.Len(uint(max(len(q.queues), 1))) - 1 }
