package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"

	"github.com/sinter-nfv/sinter/dataplane/agent/doorway"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

var small = []string{"--memory", "128", "--buffers", "8191", "--rx-desc", "64", "--tx-desc", "64"}

func isRefusal(err error) bool {
	var refused *control.EngineError
	return errors.As(err, &refused)
}

func identity(t *testing.T, secret string) *Identity {
	t.Helper()
	i, err := NewIdentity(bytes.Repeat([]byte(secret), 8))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// agent is the taker's side of an agent process.
type agent struct {
	taker   Taker
	id      *Identity
	address string
	stop    func()
}

func (a *agent) start(t *testing.T) {
	t.Helper()
	l, err := doorway.Listen(t.Context(), a.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.address = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	peers := func(source netip.Addr) bool { return source == netip.MustParseAddr("127.0.0.1") }
	server := &Server{Engine: a.taker, Identity: a.id, Log: logr.Discard(), Peers: peers}
	go func() { done <- server.Serve(ctx, l) }()
	a.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(a.stop)
}

func newAgent(t *testing.T, taker Taker, id *Identity) *agent {
	t.Helper()
	a := &agent{taker: taker, id: id, address: "127.0.0.1:0"}
	a.start(t)
	return a
}

func mover(from Giver, id *Identity) *Mover {
	return &Mover{Name: "edge-0", Engine: from, Dial: id.Dial, Log: logr.Discard()}
}

func TestPacketsThatComeMeanwhileAreAllAccountedFor(t *testing.T) {
	const flows, each = 200, 200
	id := identity(t, "a secret")
	a := startEngine(t, all(), id.ShardKey(), capture(t, flows, each), "--memory", "192", "--buffers", "16383", "--pace", "inside=5000")
	b := startEngine(t, shard.Set{}, id.ShardKey(), "", small...)
	to := newAgent(t, b, id)
	err := a.ask(t.Context(), func(c *control.Client) error {
		return c.SetPeers(t.Context(), &controlpb.SetPeers{Peers: []*controlpb.Peer{{
			Name:       "edge-1",
			Interfaces: []*controlpb.PeerInterface{{Name: "inside", Mac: []byte{2, 0, 0, 0, 0, 7}}},
		}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	a.await(flows)
	if _, err := mover(a, id).Give(t.Context(), all(), Peer{"edge-1", to.address}); err != nil {
		t.Fatal(err)
	}
	var s *controlpb.Stats
	eventually(t, func() error {
		s = a.stats()
		if in := s.GetPorts()[0].GetRxPackets(); in != flows*each {
			return fmt.Errorf("%d packets came, want %d", in, flows*each)
		}
		return nil
	})
	passed, dropped := uint64(0), uint64(0)
	for _, shard := range s.GetShards() {
		passed += shard.GetPassed()
		if shard.GetPlace() != controlpb.ShardPlace_SHARD_AWAY || shard.GetPeer() != "edge-1" {
			t.Fatalf("shard: %v, want it at edge-1", shard)
		}
	}
	reasons := map[string]uint64{}
	for _, d := range s.GetDrops() {
		reasons[d.GetReason()] = d.GetPackets()
		dropped += d.GetPackets()
	}
	out, came := s.GetPorts()[1].GetTxPackets(), s.GetPorts()[0].GetRxPackets()
	t.Logf("%d packets: %d by the chain, %d to the peer, dropped %v", came, out, passed, reasons)
	if out == 0 || passed == 0 || came != out+passed+dropped {
		t.Errorf("%d packets came, %d left by the chain, %d went to the peer, %d were dropped: want all of them to be one of these", came, out, passed, dropped)
	}
	for reason := range reasons {
		if reason != "handover-full" && reason != "not-here" {
			t.Errorf("packets dropped: %v", reasons)
		}
	}
	if b.sessions() != flows {
		t.Errorf("the peer has %d sessions, want %d", b.sessions(), flows)
	}
}

func TestStrangersGiveNothing(t *testing.T) {
	id := identity(t, "a secret")
	a := startEngine(t, all(), id.ShardKey(), "", small...)
	b := startEngine(t, shard.Set{}, id.ShardKey(), "", small...)
	to := newAgent(t, b, id)
	_, err := mover(a, identity(t, "another secret")).Give(t.Context(), all(), Peer{"edge-1", to.address})
	if err == nil || !strings.Contains(err.Error(), errStranger.Error()) && !strings.Contains(err.Error(), "remote error") {
		t.Errorf("error: %v, want that one side is a stranger", err)
	}
	for _, s := range a.stats().GetShards() {
		if s.GetPlace() != controlpb.ShardPlace_SHARD_HERE {
			t.Fatalf("shard: %v, want it here", s)
		}
	}
	conn, err := id.Dial(t.Context(), to.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := control.NewClient(conn).Stats(t.Context()); err == nil || !strings.Contains(err.Error(), "and nothing else") {
		t.Errorf("error: %v, want that peers may only give", err)
	}
	if _, err := NewIdentity([]byte("short")); err == nil || !strings.Contains(err.Error(), "5 bytes, want 32 or more") {
		t.Errorf("error: %v, want the length", err)
	}
}

func TestEnginesThatAreNotAlikeSaySo(t *testing.T) {
	id := identity(t, "a secret")
	a := startEngine(t, all(), id.ShardKey(), "", small...)
	b := startEngine(t, shard.Set{}, identity(t, "another secret").ShardKey(), "", small...)
	to := newAgent(t, b, id)
	_, err := mover(a, id).Give(t.Context(), all(), Peer{"edge-1", to.address})
	if err == nil || !strings.Contains(err.Error(), "shards to edge-1: engine refused take shards: take: the giver tells shards by another key") {
		t.Errorf("error: %v, want that keys differ", err)
	}
}

// errDead is what a process does that is no more.
var errDead = errors.New("killed")

// stage is where something dies: before a step is asked of an engine, or after it was done.
type stage struct {
	step  string // "give READ"
	after bool
}

func (s stage) String() string {
	if s.after {
		return "after " + s.step
	}
	return "before " + s.step
}

// tap does something at a stage, once, between agents and engines.
type tap struct {
	stage
	strike func() error
	once   sync.Once
	dead   func() error // not nil: what all further steps of the giver come to
}

func (p *tap) hit(step string, after bool) (err error) {
	if step == p.step && after == p.after {
		p.once.Do(func() { err = p.strike() })
	}
	return err
}

type tappedGiver struct {
	Giver
	*tap
}

func (g tappedGiver) GiveShards(ctx context.Context, m *controlpb.GiveShards) (*controlpb.Given, error) {
	step := "give " + m.GetStep().String()
	if g.dead != nil && g.dead() != nil {
		return nil, g.dead()
	}
	if err := g.hit(step, false); err != nil {
		return nil, err
	}
	given, err := g.Giver.GiveShards(ctx, m)
	if err == nil {
		err = g.hit(step, true)
	}
	return given, err
}

type tappedTaker struct {
	Taker
	*tap
}

func (k tappedTaker) TakeShards(ctx context.Context, m *controlpb.TakeShards) (*controlpb.Taken, error) {
	step := "take " + m.GetStep().String()
	if err := k.hit(step, false); err != nil {
		return nil, err
	}
	taken, err := k.Taker.TakeShards(ctx, m)
	if err == nil {
		err = k.hit(step, true)
	}
	return taken, err
}

// sides are two engines with their agents.
type sides struct {
	t    *testing.T
	id   *Identity
	a, b *engine
}

const few = 500 // flows

func newSides(t *testing.T) *sides {
	t.Helper()
	s := &sides{t: t, id: identity(t, "a secret")}
	s.a = startEngine(t, all(), s.id.ShardKey(), capture(t, few, 1), small...)
	s.b = startEngine(t, shard.Set{}, s.id.ShardKey(), "", small...)
	s.a.await(few)
	return s
}

// restart is the end of an engine, and the beginning of another that has some shards.
func (e *engine) restart(own shard.Set) {
	e.t.Helper()
	e.kill()
	e.own = own
	e.start()
}

// places counts where an engine's shards are.
func (e *engine) places() map[controlpb.ShardPlace]int {
	e.t.Helper()
	out := map[controlpb.ShardPlace]int{}
	for _, s := range e.stats().GetShards() {
		out[s.GetPlace()]++
	}
	return out
}

// resolve is what an agent does that comes after one that died.
func (s *sides) resolve(to *agent) {
	s.t.Helper()
	for _, shard := range s.a.stats().GetShards() {
		if shard.GetPlace() == controlpb.ShardPlace_SHARD_GIVING {
			if _, err := mover(s.a, s.id).Resolve(s.t.Context(), shard.GetTransfer(), shard.GetSealed(), Peer{shard.GetPeer(), to.address}); err != nil {
				s.t.Fatal(err)
			}
			return
		}
	}
}

// Whoever dies at whatever step, a shard is on exactly one side afterwards, with its sessions; or on none, where the engine that had it died.
func TestAShardIsOnExactlyOneSideWhoeverDiesWhen(t *testing.T) {
	var stages []stage
	for _, step := range []string{"take BEGIN", "give BEGIN", "give READ", "take PUT", "give SEAL", "take COMMIT", "give COMMIT"} {
		stages = append(stages, stage{step, false}, stage{step, true})
	}
	s := newSides(t)
	for _, at := range stages {
		for _, victim := range []string{"the giver's agent", "the taker's agent", "the giver's engine", "the taker's engine"} {
			t.Run(victim+" dies "+at.String(), func(t *testing.T) { s.dies(t, victim, at) })
			if t.Failed() {
				return
			}
		}
	}
}

func (s *sides) dies(t *testing.T, victim string, at stage) {
	p := &tap{stage: at}
	to := newAgent(t, tappedTaker{s.b, p}, s.id)
	var dead error
	var mu sync.Mutex
	m := mover(tappedGiver{s.a, p}, s.id)
	p.dead = func() error { mu.Lock(); defer mu.Unlock(); return dead }
	m.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		if err := p.dead(); err != nil {
			return nil, err
		}
		return s.id.Dial(ctx, address)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	p.strike = func() error {
		switch victim {
		case "the giver's agent":
			mu.Lock()
			dead = errDead
			mu.Unlock()
			cancel()
		case "the taker's agent":
			work.Go(func() {
				to.stop()
				to.start(t)
			})
		case "the giver's engine":
			s.a.kill()
		case "the taker's engine":
			s.b.kill()
			work.Go(func() { s.b.restart(shard.Set{}) })
		}
		return errDead
	}
	_, err := m.Give(ctx, all(), Peer{"edge-1", to.address})
	p.once.Do(func() {}) // a giver that does not wait any longer may be faster than its peer's death
	work.Wait()
	t.Logf("the giver's agent: %v", err)

	if victim == "the giver's engine" {
		s.a.restart(shard.Set{})
	} else {
		s.resolve(to)
	}
	eventually(t, func() error { // what nobody goes on with ends
		if a, b := s.a.places(), s.b.places(); a[controlpb.ShardPlace_SHARD_GIVING]+b[controlpb.ShardPlace_SHARD_TAKING] > 0 {
			return fmt.Errorf("the giver's shards are %v, the taker's %v", a, b)
		}
		return nil
	})
	here := s.check(t, victim, at)
	to.stop()
	s.again(here == [2]int{}, here[1] == 128)
}

// check tells whether the shards and their sessions are on one side, and on the right one, after somebody has died; it returns how many shards
// giver and taker have.
func (s *sides) check(t *testing.T, victim string, at stage) (here [2]int) {
	t.Helper()
	here = [2]int{s.a.places()[controlpb.ShardPlace_SHARD_HERE], s.b.places()[controlpb.ShardPlace_SHARD_HERE]}
	sessions := [2]uint64{s.a.sessions(), s.b.sessions()}
	committed := at.step == "give COMMIT" || at == stage{"take COMMIT", true}
	none := here == [2]int{} // the engine that had them died
	if none && victim != "the giver's engine" && (victim != "the taker's engine" || at != stage{"give COMMIT", true}) {
		t.Errorf("no engine has the shards, though %s died", victim)
	}
	switch {
	case none && sessions == [2]uint64{}:
	case here == [2]int{128, 0} && sessions == [2]uint64{few, 0}:
	case here == [2]int{0, 128} && sessions == [2]uint64{0, few}:
	default:
		t.Fatalf("shards of giver and taker: %d, sessions: %d; want all on one side, with %d sessions", here, sessions, few)
	}
	if there := here[1] == 128; committed && !there && strings.Contains(victim, "giver's") || !committed && there && victim == "the giver's agent" {
		t.Errorf("the taker has %d shards; it committed: %t", here[1], committed)
	}
	return here
}

// again has all shards at the first engine, for the next one to die.
func (s *sides) again(none, there bool) {
	s.t.Helper()
	switch {
	case none:
		s.a.restart(all())
		s.a.await(few)
	case there:
		back := newAgent(s.t, s.a, s.id)
		if _, err := mover(s.b, s.id).Give(s.t.Context(), all(), Peer{"edge-0", back.address}); err != nil {
			s.t.Fatal(err)
		}
		back.stop()
	}
}
