package sharing

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/lifecycle"
	"github.com/sinter-nfv/sinter/dataplane/agent/transfer"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/shard"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// sharedPod is a real engine of a chain of two pods, and the part of its agent that shares state.
type sharedPod struct {
	t        *testing.T
	process  *agenttest.Engine
	engine   *engine.Engine
	sharing  *Sharing
	program  *delivery.Program
	address  string
	stop     func() // the server
	instance *v1alpha1.ChainInstance
}

func newSharedPod(t *testing.T, name, inside string, p *delivery.Program, id *transfer.Identity, flags ...string) *sharedPod {
	t.Helper()
	s := &sharedPod{t: t, program: p, instance: agenttest.Instance("edge-1")}
	s.process = agenttest.StartWith(t, filepath.Join(agenttest.Folder(t), "s"), "5", []string{inside, "outside=net_null0,no-rx=1", "probe=net_null1,no-rx=1"},
		append([]string{"--no-shards", "--idle-sleep", "50", "--memory", "128", "--buffers", "8191", "--rx-desc", "256", "--tx-desc", "256"}, flags...)...)
	s.process.Load(p)
	s.engine = &engine.Engine{Socket: s.process.Socket}
	t.Cleanup(s.engine.Close)
	s.sharing = New(s.engine, name, id, clock.RealClock{}, testr.New(t))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- (&transfer.Server{Engine: s.engine, Identity: id, Log: testr.New(t)}).Serve(ctx, l) }()
	s.address = l.Addr().String()
	s.stop = func() {
		cancel()
		done <- <-done
	}
	t.Cleanup(s.stop)
	return s
}

// want is what the operator writes: the pod's own shards, and the other pod with its.
func (s *sharedPod) want(own v1alpha1.ShardRange, peer string, at string, theirs ...v1alpha1.ShardRange) {
	s.instance.Spec.Groups, s.instance.Spec.Peers = nil, nil
	if own != "" {
		s.instance.Spec.Groups = []v1alpha1.InstanceGroup{{Name: "all", Shards: []v1alpha1.ShardRange{own}, Cores: []int32{0}}}
	}
	if peer != "" {
		s.instance.Spec.Peers = []v1alpha1.InstancePeer{{
			Name: peer, Address: at, Shards: theirs,
			Interfaces: []v1alpha1.InterfaceMAC{{Name: "inside", MAC: "02:00:00:00:00:77"}},
		}}
	}
}

// step is one of the agent's, whatever it waited for before.
func (s *sharedPod) step() error {
	s.t.Helper()
	agenttest.Eventually(s.t, func() error { _, err := s.engine.Connect(s.t.Context()); return err })
	s.sharing.resume = time.Time{}
	s.sharing.Step(s.t.Context(), s.instance)
	return s.sharing.State().Failed
}

func (s *sharedPod) has(want string) {
	s.t.Helper()
	places, err := s.engine.Places(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var here shard.Set
	for i, p := range places {
		if p == controlpb.ShardPlace_SHARD_HERE {
			here.Add(i)
		}
	}
	if got := here.String(); got != want {
		s.t.Fatalf("the engine has shards %q, want %q", got, want)
	}
}

// settle has the agent do its steps until one has nothing to complain of: on a busy machine an answer may come too late.
func (s *sharedPod) settle() {
	s.t.Helper()
	agenttest.Eventually(s.t, s.step)
}

func TestShardsAreInThePodsWhereTheOperatorWantsThem(t *testing.T) {
	id, err := transfer.NewIdentity(bytes.Repeat([]byte("secret"), 6))
	if err != nil {
		t.Fatal(err)
	}
	p := agenttest.Heavy(t)
	a := newSharedPod(t, "edge-0", "inside=net_pcap0,infinite_rx=1,rx_pcap="+agenttest.Capture(t, t.TempDir(), 2), p, id, "--pace", "inside=2000")
	b := newSharedPod(t, "edge-1", "inside=net_null2,no-rx=1", p, id)

	// The first pod is alone: nobody has its shards.
	a.want("0-127", "edge-1", "")
	a.settle()
	a.has("0-127")
	o := agenttest.Observe(t, a.process.Socket)
	agenttest.Eventually(t, func() error {
		if n := len(o.Bindings()); n != agenttest.FlowsPerHost {
			return fmt.Errorf("%d sessions, want %d", n, agenttest.FlowsPerHost)
		}
		return nil
	})
	before := o.Bindings()

	// The second is wanted to have half of them. It does not begin what the first still has, and gets it.
	a.want("0-63", "edge-1", b.address, "64-127")
	b.want("64-127", "edge-0", a.address, "0-63")
	b.settle()
	b.has("")
	a.settle()
	a.has("0-63")
	b.has("64-127")
	after := o.Bindings()
	maps.Copy(after, agenttest.Observe(t, b.process.Socket).Bindings())
	if !maps.Equal(before, after) {
		t.Fatalf("bindings: %v, were %v", after, before)
	}
	passes(t, o)

	// A pod that ends waits for its sessions to be given.
	marker := filepath.Join(agenttest.Folder(t), "draining")
	drain := lifecycle.Drain{Socket: b.process.Socket, Marker: marker, Quiet: 50 * time.Millisecond, Limit: time.Second, Clock: clock.RealClock{}}
	if how, err := drain.Run(t.Context()); err != nil || how != "sessions are still here after 1s" {
		t.Fatalf("the pod may end as %q, %v", how, err)
	}

	b.diesBeside(a)

	// All is to be in one pod again.
	a.want("0-127", "edge-1", b.address)
	b.want("", "edge-0", a.address, "0-127")
	a.settle()
	a.has("0-63")
	b.settle()
	b.has("")
	a.has("0-127")
	drain.Limit = agenttest.Patience
	if how, err := drain.Run(t.Context()); err != nil || how != "no packet left for 50ms" {
		t.Errorf("the pod that has no shards may end as %q, %v", how, err)
	}
}

// diesBeside has a pod's engine die: shards that nobody has start empty, but not while the other pod does not say what it has.
func (s *sharedPod) diesBeside(a *sharedPod) {
	s.t.Helper()
	s.process.End(9)
	s.process.Start()
	s.process.Load(s.program)
	agenttest.Eventually(s.t, func() error { // the connection to the one before is noticed to be over
		s.want("64-127", "edge-0", "127.0.0.1:1", "0-63")
		if err := s.step(); err == nil || !strings.Contains(err.Error(), "shards of edge-0") {
			return fmt.Errorf("error: %w, want that edge-0 does not answer", err)
		}
		return nil
	})
	s.has("")
	s.want("64-127", "edge-0", a.address, "0-63")
	s.settle()
	s.has("64-127")
}

// passes waits until an engine passes packets on to its peer, if sessions have gone there.
func passes(t *testing.T, o *agenttest.Observer) {
	t.Helper()
	if passed := o.Counters().GetShards(); len(o.Bindings()) < agenttest.FlowsPerHost {
		agenttest.Eventually(t, func() error {
			sum := uint64(0)
			for _, s := range o.Counters().GetShards() {
				sum += s.GetPassed()
			}
			if sum == 0 {
				return fmt.Errorf("no packet went to the peer: %v", passed[127])
			}
			return nil
		})
	}
}

func TestShardsThatDoNotComeToTheirPodsAreSeen(t *testing.T) {
	id, err := transfer.NewIdentity(bytes.Repeat([]byte("secret"), 6))
	if err != nil {
		t.Fatal(err)
	}
	a := newSharedPod(t, "edge-0", "inside=net_null2,no-rx=1", agenttest.Heavy(t), id)
	a.want("0-63", "edge-1", "127.0.0.1:1", "64-127") // where nobody listens
	told := func() error {
		state := a.sharing.State()
		return state.Lasting()
	}
	for n := range noHiccup {
		if err := told(); err != nil {
			t.Errorf("after %d attempts: %v, want nothing said yet", n, err)
		}
		if a.step() == nil {
			t.Fatal("the peer does not answer, and nobody is told")
		}
	}
	if err := told(); err == nil || !strings.Contains(err.Error(), "shards of edge-1: ") {
		t.Errorf("%v; want that shards do not come, and the peer", err)
	}
	if n := a.sharing.Moved.Failed.Load(); n != noHiccup {
		t.Errorf("%d attempts are counted that failed, want %d", n, noHiccup)
	}
	a.want("0-63", "edge-1", "", "64-127")
	a.settle()
	if err := told(); err != nil {
		t.Errorf("after all went well: %v", err)
	}
	failed := a.sharing.Moved.Failed.Load()
	a.process.Busy(a.engine, func() { a.sharing.Step(t.Context(), a.instance) })
	if n, err := a.sharing.Moved.Failed.Load(), a.sharing.State().Failed; n != failed || err != nil {
		t.Errorf("while the engine is at another request: %d attempts are counted that failed, want %d; told is %v", n, failed, err)
	}
}

// told is an engine whose shards are all away, and what it was told of peers.
type told struct {
	sharer
	shards int
	peers  []*controlpb.SetPeers
}

func (e *told) Loading() bool                                               { return false }
func (e *told) Addresses(context.Context) ([]*controlpb.Address, error)     { return nil, nil }
func (e *told) AssignShards(context.Context, *controlpb.AssignShards) error { return nil }
func (e *told) Loads(context.Context) (s *controlpb.Stats, life uint64, err error) {
	s = &controlpb.Stats{}
	for range e.shards {
		s.Shards = append(s.Shards, &controlpb.ShardStats{Place: controlpb.ShardPlace_SHARD_AWAY})
	}
	return s, 1, nil
}

func (e *told) SetPeers(_ context.Context, p *controlpb.SetPeers) error {
	e.peers = append(e.peers, p)
	return nil
}

func (e *told) front() bool { return len(e.peers) > 0 && e.peers[len(e.peers)-1].GetFront() }

func TestWhoIsTheFrontIsToldWhateverElseCannotBeDone(t *testing.T) {
	id, err := transfer.NewIdentity(bytes.Repeat([]byte("secret"), 6))
	if err != nil {
		t.Fatal(err)
	}
	for name, shards := range map[string]int{"a peer that may have the shards does not answer": 128, "the chain keeps no state": 0} {
		t.Run(name, func(t *testing.T) {
			e := &told{shards: shards}
			now := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
			s := New(e, "edge-0", id, now, testr.New(t))
			i := agenttest.Instance("edge-1")
			i.Spec.Groups = []v1alpha1.InstanceGroup{{Name: "all", Shards: []v1alpha1.ShardRange{"0-63"}, Cores: []int32{0}}}
			i.Spec.Peers = []v1alpha1.InstancePeer{{Name: "edge-1", Address: "127.0.0.1:1", Shards: []v1alpha1.ShardRange{"64-127"}}}
			for k, front := range []bool{false, true, false} { // one after the other: the operator's word is not kept waiting
				i.Generation, i.Spec.Front = int64(k+1), front
				s.Step(t.Context(), i)
				if failed := s.State().Failed; (failed != nil) != (shards > 0) {
					t.Fatalf("error %v with %d shards that the peer may have", failed, shards)
				}
				if e.front() != front {
					t.Errorf("the engine is told to be the front: %t, want %t", e.front(), front)
				}
			}
			n := len(e.peers)
			s.Step(t.Context(), i)
			if len(e.peers) != n {
				t.Errorf("told again, though nothing has changed")
			}
		})
	}
}
