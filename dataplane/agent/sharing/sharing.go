// Package sharing has the shards of a chain's state be in those of its pods where the operator wants them.
package sharing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/agent/transfer"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Bounds of sharing.
const (
	sharePause    = time.Second
	shardsAtOnce  = 16 // whose packets wait while all of them move
	maxSharePause = 30 * time.Second
	giveTime      = 15 * time.Second // after which the operator is looked at again, who may know that the peer is gone
	resolveTime   = 5 * time.Second  // that a peer is asked what it took, before all else is looked at again
)

// sharer is an engine that shares a chain's state with others.
type sharer interface {
	transfer.Giver
	Loading() bool
	Loads(context.Context) (stats *controlpb.Stats, life uint64, err error)
	Addresses(context.Context) ([]*controlpb.Address, error)
	AssignShards(context.Context, *controlpb.AssignShards) error
	SetPeers(context.Context, *controlpb.SetPeers) error
}

// Sharing has the shards of the chain's state where the operator wants them, among the pods of the chain.
type Sharing struct {
	engine sharer
	key    []byte
	mover  *transfer.Mover
	clock  clock.PassiveClock
	log    logr.Logger

	mu    sync.Mutex
	state State

	// Used by Step alone.
	life     uint64               // the connection by which the engine was told:
	keyed    bool                 // the key,
	told     *controlpb.SetPeers  // the peers, and who is the front
	program  string               // and of which program addresses are
	addrs    []*controlpb.Address //
	failures int                  // in a row
	retry    wait.Backoff         // between them
	resume   time.Time            // after them,
	tried    int64                // or when the spec is another one than this generation's

	Moved loop.Counts // shards that were given; steps that failed
}

// State is what sharing has come to.
type State struct {
	Addresses []*controlpb.Address
	Failed    error // why shards are not where they are wanted
	Failures  int   // in a row
}

// noHiccup are so many failures in a row that more is wrong than a moment: shards have not come to their pods for some seconds.
const noHiccup = 3

// Lasting is why shards are not where they are wanted, if that is no hiccup.
func (s *State) Lasting() error {
	if s.Failures < noHiccup {
		return nil
	}
	return s.Failed
}

// New makes the sharing of an engine by an instance.
func New(e sharer, instance string, id *transfer.Identity, c clock.PassiveClock, log logr.Logger) *Sharing {
	dial := func(ctx context.Context, address string) (net.Conn, error) { return id.Dial(ctx, address) }
	return &Sharing{
		engine: e, key: id.ShardKey(), clock: c, log: log, retry: retryShares(),
		mover: &transfer.Mover{Name: instance, Engine: e, Dial: dial, Log: log},
	}
}

// State is what sharing has come to.
func (s *Sharing) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// retryShares is the pauses after shards could not be brought to their pods.
func retryShares() wait.Backoff { return loop.Doubling(sharePause, maxSharePause) }

// Step does what is to be done for an instance; nil: nobody has said. It returns when to look again.
func (s *Sharing) Step(ctx context.Context, instance *v1alpha1.ChainInstance) time.Duration {
	if instance == nil || s.engine.Loading() {
		return sharePause
	}
	if wait := s.resume.Sub(s.clock.Now()); wait > 0 && instance.Generation == s.tried {
		return min(wait, sharePause)
	}
	s.tried = instance.Generation
	err := s.share(ctx, instance)
	if errors.Is(err, control.ErrNotAsked) {
		return sharePause // it is at another request for long
	}
	if s.failures++; err == nil {
		s.failures, s.retry = 0, retryShares()
	}
	s.mu.Lock()
	s.state = State{Addresses: s.addrs, Failed: err, Failures: s.failures}
	s.mu.Unlock()
	if err == nil {
		return sharePause
	}
	s.log.Error(err, "shards could not be moved to their pods")
	s.Moved.Failed.Add(1)
	pause := s.retry.Step()
	s.resume = s.clock.Now().Add(pause)
	return min(pause, sharePause)
}

func (s *Sharing) share(ctx context.Context, instance *v1alpha1.ChainInstance) error {
	stats, life, err := s.engine.Loads(ctx)
	if err != nil {
		return err
	}
	if life != s.life {
		s.life, s.keyed, s.told, s.program = life, false, nil, ""
	}
	if program := string(stats.GetHash()); program != s.program {
		if s.addrs, err = s.engine.Addresses(ctx); err != nil {
			return err
		}
		s.program, s.told = program, nil // its interfaces may be others
	}
	w, err := wantedShards(instance, len(stats.GetShards()))
	if err != nil {
		return err
	}
	if err := s.tell(ctx, w); err != nil {
		return err
	}
	if len(stats.GetShards()) == 0 {
		return nil // the chain keeps no state, or there is no program yet
	}
	if busy, err := s.resolve(ctx, stats, w); busy || err != nil {
		return err // what is where is to be read again
	}
	if err := s.rekey(ctx, stats); err != nil {
		return err
	}
	if err := s.begin(ctx, stats, w); err != nil {
		return err
	}
	return s.give(ctx, stats, w)
}

// resolve ends transfers that an agent before this one began. Busy: there was one, or one comes.
func (s *Sharing) resolve(ctx context.Context, stats *controlpb.Stats, w *wantedPlaces) (busy bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	for _, shard := range stats.GetShards() {
		if shard.GetPlace() == controlpb.ShardPlace_SHARD_TAKING {
			busy = true
		}
		if shard.GetPlace() != controlpb.ShardPlace_SHARD_GIVING {
			continue
		}
		peer, known := w.peer(shard.GetPeer())
		switch {
		case !known: // the operator knows that it is gone
			return true, s.mover.Abandon(ctx, shard.GetTransfer())
		case peer.Address == "":
			return true, fmt.Errorf("shards to %s: its pod has no address, and may have taken them", peer.Name)
		}
		_, err := s.mover.Resolve(ctx, shard.GetTransfer(), shard.GetSealed(), transfer.Peer{Name: peer.Name, Address: peer.Address})
		return true, err
	}
	return busy, nil
}

// tell has the engine know its peers, and whether it is the front. It comes before all that a peer which is gone could hold up.
func (s *Sharing) tell(ctx context.Context, w *wantedPlaces) error {
	peers := &controlpb.SetPeers{Peers: w.peers, Front: w.front}
	if s.told != nil && proto.Equal(s.told, peers) {
		return nil
	}
	if err := s.engine.SetPeers(ctx, peers); err != nil {
		return err
	}
	if s.told.GetFront() != w.front {
		s.log.Info("front that answers ARP for the chain's addresses", "this engine", w.front)
	}
	s.told = peers
	return nil
}

// rekey has the engine know the chain's key.
func (s *Sharing) rekey(ctx context.Context, stats *controlpb.Stats) error {
	if s.keyed {
		return nil
	}
	err := s.engine.AssignShards(ctx, &controlpb.AssignShards{Shards: at(stats, controlpb.ShardPlace_SHARD_HERE).Numbers(), Key: s.key})
	s.keyed = err == nil
	return err
}

// begin takes shards of its own that nobody has. A peer that does not answer may have them; one without an address has no pod.
func (s *Sharing) begin(ctx context.Context, stats *controlpb.Stats, w *wantedPlaces) error {
	missing := at(stats, controlpb.ShardPlace_SHARD_AWAY).And(w.own)
	again := slices.Clone(w.spec)
	slices.Reverse(again) // one that moved from a peer that was not asked yet to one that was is seen there
	for _, p := range append(slices.Clone(w.spec), again...) {
		if p.Address == "" || missing.Len() == 0 {
			continue
		}
		places, err := s.mover.Places(ctx, transfer.Peer{Name: p.Name, Address: p.Address})
		if err != nil {
			return err
		}
		if len(places) != len(stats.GetShards()) {
			return fmt.Errorf("shards of %s: it has %d, this engine %d: they run different programs", p.Name, len(places), len(stats.GetShards()))
		}
		for n, place := range places {
			if place != controlpb.ShardPlace_SHARD_AWAY {
				missing = missing.Without(shard.Of(n))
			}
		}
	}
	if missing.Len() == 0 {
		return nil
	}
	s.log.Info("shards that nobody has begin here", "shards", missing.Len())
	return s.engine.AssignShards(ctx, &controlpb.AssignShards{Shards: at(stats, controlpb.ShardPlace_SHARD_HERE).Or(missing).Numbers()})
}

// give hands over what is to be others'.
func (s *Sharing) give(ctx context.Context, stats *controlpb.Stats, w *wantedPlaces) error {
	for i, p := range w.spec {
		theirs := at(stats, controlpb.ShardPlace_SHARD_HERE).Without(w.own).And(shard.Of(w.peers[i].GetShards()...))
		if p.Address == "" {
			continue
		}
		for some := range slices.Chunk(theirs.Numbers(), shardsAtOnce) {
			report, err := s.giveTo(ctx, shard.Of(some...), transfer.Peer{Name: p.Name, Address: p.Address})
			if err != nil {
				return err
			}
			s.Moved.Done.Add(uint64(len(some)))
			s.log.Info("shards given", "peer", p.Name, "shards", len(some), "sessions", report.Sessions, "blocked", report.Blocked)
		}
	}
	return nil
}

func (s *Sharing) giveTo(ctx context.Context, shards shard.Set, to transfer.Peer) (transfer.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, giveTime)
	defer cancel()
	return s.mover.Give(ctx, shards, to)
}

// at are the shards at a place.
func at(stats *controlpb.Stats, place controlpb.ShardPlace) shard.Set {
	var set shard.Set
	for i, s := range stats.GetShards() {
		if s.GetPlace() == place {
			set.Add(i)
		}
	}
	return set
}

// wantedPlaces is where an instance's spec wants shards.
type wantedPlaces struct {
	own   shard.Set
	front bool
	spec  []v1alpha1.InstancePeer
	peers []*controlpb.Peer // in the order of spec
}

func (w *wantedPlaces) peer(name string) (v1alpha1.InstancePeer, bool) {
	i := slices.IndexFunc(w.spec, func(p v1alpha1.InstancePeer) bool { return p.Name == name })
	if i < 0 {
		return v1alpha1.InstancePeer{}, false
	}
	return w.spec[i], true
}

// wantedShards reads a spec for an engine that has so many shards: of more than it has, those beyond go with the others.
func wantedShards(i *v1alpha1.ChainInstance, shards int) (*wantedPlaces, error) {
	w := &wantedPlaces{front: i.Spec.Front, spec: i.Spec.Peers}
	has := shard.Run(0, shards)
	for _, g := range i.Spec.Groups {
		own, err := shard.Parse(g.Shards)
		if err != nil {
			return nil, fmt.Errorf("group %s: shards: %w", g.Name, err)
		}
		w.own = w.own.Or(own.And(has))
	}
	for _, p := range i.Spec.Peers {
		theirs, err := shard.Parse(p.Shards)
		if err != nil {
			return nil, fmt.Errorf("peer %s: shards: %w", p.Name, err)
		}
		peer := &controlpb.Peer{Name: p.Name, Shards: theirs.And(has).Numbers()}
		for _, f := range p.Interfaces {
			mac, err := net.ParseMAC(string(f.MAC))
			if err != nil {
				return nil, fmt.Errorf("peer %s: interface %s: %w", p.Name, f.Name, err)
			}
			peer.Interfaces = append(peer.Interfaces, &controlpb.PeerInterface{Name: string(f.Name), Mac: mac})
		}
		w.peers = append(w.peers, peer)
	}
	return w, nil
}
