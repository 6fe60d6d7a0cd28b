package telemetry

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
)

// How often an agent may write. docs/agent.md says what this comes to for many.
const (
	factPause   = time.Second / 4 // before a fact (condition, hash, …), doubled for each write of late
	ofLate      = 20 * time.Second
	numberPause = 10 * time.Second // between writes of numbers that moved
	lasting     = time.Second      // for this long, so that the numbers are not those of the way between
	heartbeat   = 5 * time.Minute  // between writes at least, give or take a fifth
	maxInMinute = 12               // writes of any kind
	factsAlone  = 4                // … of which the last ones are for facts: they do not wait while traffic comes and goes
	retryPause  = 2 * time.Second  // after a write that failed, doubled for each more,
	longestWait = 64 * time.Second // up to here
)

// Numbers move if they change by this much.
const (
	loadStep = 10    // percent of a core
	rateStep = 0.25  // of a rate or count, and by at least
	rateMin  = 1000  // packets per second, sessions
	lossMin  = 10    // packets per second that were dropped
	workStep = 0.125 // of the work that all shards want, and of packets for a function; and by at least
	workMin  = 20    // thousandths of a core
	sentMin  = 100   // packets per second for a function
)

// Pacer decides when a report is worth a write.
type Pacer struct {
	last     *v1alpha1.ChainInstanceStatus // that was written
	at       time.Time                     // when it was
	writes   [maxInMinute]time.Time        // when the last ones were, in a circle
	written  int
	next     time.Time    // the heartbeat
	retry    wait.Backoff // after writes that failed; zero: none did
	again    time.Time    // when to write after them
	settleAt time.Time    // one report of a new program's numbers is due then
	moving   time.Time    // since when numbers are others than those written; zero: they are not
}

// Due tells whether to write a status now. Urgent: somebody should act on it.
func (p *Pacer) Due(now time.Time, s *v1alpha1.ChainInstanceStatus, urgent bool) bool {
	if p.last == nil || !numbersMoved(p.last, s) {
		p.moving = time.Time{}
	} else if p.moving.IsZero() {
		p.moving = now
	}
	if p.rests(now) {
		return false
	}
	if p.last == nil {
		return true
	}
	pause, inMinute := now.Sub(p.at), p.since(now.Add(-time.Minute))
	mayTell := pause >= factPause<<p.since(now.Add(-ofLate))
	switch {
	case inMinute >= maxInMinute:
		return false
	case !now.Before(p.next):
		return true
	case mayTell && factsChanged(p.last, s):
		return true
	case inMinute >= maxInMinute-factsAlone:
		return false
	case mayTell && urgent:
		return true
	case !p.settleAt.IsZero() && !now.Before(p.settleAt):
		return true
	default:
		return pause >= numberPause && !p.moving.IsZero() && now.Sub(p.moving) >= lasting
	}
}

// LastWords tells whether to write the status of a pod that ends: whenever it has other facts than those written, as nobody can say them when
// the pod is gone.
func (p *Pacer) LastWords(now time.Time, s *v1alpha1.ChainInstanceStatus) bool {
	return !p.rests(now) && (p.last == nil || factsChanged(p.last, s))
}

// rests tells whether a write failed not long ago.
func (p *Pacer) rests(now time.Time) bool { return now.Before(p.again) }

// since is the number of writes after a time, as far as the circle goes back.
func (p *Pacer) since(t time.Time) (n int) {
	for _, w := range p.writes {
		if w.After(t) {
			n++
		}
	}
	return n
}

// Written notes that a status was written.
func (p *Pacer) Written(now time.Time, s *v1alpha1.ChainInstanceStatus) {
	if p.last != nil && p.last.AppliedHash != s.AppliedHash {
		p.settleAt = now.Add(engine.Settled)
	} else if !now.Before(p.settleAt) {
		p.settleAt = time.Time{}
	}
	p.last, p.at, p.retry, p.again, p.moving = s, now, wait.Backoff{}, time.Time{}, time.Time{}
	p.writes[p.written%maxInMinute] = now
	p.written++
	p.next = now.Add(heartbeat*4/5 + rand.N(heartbeat*2/5))
}

// Failed notes that a write failed.
func (p *Pacer) Failed(now time.Time) {
	if p.retry.Duration == 0 {
		p.retry = loop.Doubling(retryPause, longestWait)
	}
	p.again = now.Add(p.retry.Step() + rand.N(time.Second) - time.Second/2) // never in step with other agents
}

// Forget has the next status written in any case: the object is another one.
func (p *Pacer) Forget() { *p = Pacer{} }

// facts are what a status says beside numbers.
func facts(s *v1alpha1.ChainInstanceStatus) v1alpha1.ChainInstanceStatus {
	f := v1alpha1.ChainInstanceStatus{
		Status:        s.Status,
		Program:       s.Program,
		AppliedHash:   s.AppliedHash,
		Tables:        s.Tables,
		EngineVersion: s.EngineVersion,
		Node:          s.Node,
		Dispatch:      s.Dispatch,
		LostSessions:  s.LostSessions,
		Shards:        s.Shards,
		Interfaces:    s.Interfaces,
	}
	for _, c := range s.Cores {
		f.Cores = append(f.Cores, v1alpha1.CoreStatus{LCore: c.LCore})
	}
	return f
}

func factsChanged(a, b *v1alpha1.ChainInstanceStatus) bool {
	return !reflect.DeepEqual(facts(a), facts(b))
}

func numbersMoved(a, b *v1alpha1.ChainInstanceStatus) bool {
	for i := range min(len(a.Cores), len(b.Cores)) {
		if d := a.Cores[i].LoadPercent - b.Cores[i].LoadPercent; d >= loadStep || d <= -loadStep {
			return true
		}
	}
	if !slices.EqualFunc(a.Groups, b.Groups, sameOwners) {
		return true
	}
	return moved(a.PacketRate, b.PacketRate, rateStep, rateMin) || moved(a.Sessions, b.Sessions, rateStep, rateMin) ||
		moved(a.DropRate, b.DropRate, rateStep, lossMin) || moved(a.LossRate, b.LossRate, rateStep, lossMin) ||
		moved(workOf(a), workOf(b), workStep, workMin) || functionsMoved(a.Functions, b.Functions)
}

// functionsMoved tells whether others are given more or fewer packets, by which the chain is scaled.
func functionsMoved(a, b []v1alpha1.FunctionStatus) bool {
	return !slices.EqualFunc(a, b, func(a, b v1alpha1.FunctionStatus) bool {
		return a.Name == b.Name && !moved(a.SentRate+a.FullRate, b.SentRate+b.FullRate, workStep, sentMin) &&
			slices.EqualFunc(a.Replicas, b.Replicas, func(a, b v1alpha1.ReplicaStatus) bool {
				return a.Name == b.Name && !moved(a.SentRate+a.FullRate, b.SentRate+b.FullRate, workStep, sentMin)
			})
	})
}

// workOf is the work that all shards want and that is done beside, in thousandths of a core.
func workOf(s *v1alpha1.ChainInstanceStatus) (sum int64) {
	for _, c := range s.Cores {
		sum += int64(c.Other)
	}
	for _, g := range s.Groups {
		for _, w := range g.Work {
			sum += int64(w)
		}
	}
	return sum
}

// sameOwners tells whether each core still has its shards.
func sameOwners(a, b v1alpha1.GroupStatus) bool {
	return a.Name == b.Name && slices.EqualFunc(a.Owners, b.Owners, func(a, b v1alpha1.CoreShards) bool {
		return a.LCore == b.LCore && slices.Equal(a.Shards, b.Shards)
	})
}

func moved(a, b int64, step float64, least int64) bool {
	d := max(a-b, b-a)
	return d >= least && float64(d) >= step*float64(max(a, b))
}
