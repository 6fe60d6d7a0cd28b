package scaling

import (
	"fmt"
	"time"
)

// Elephant is a shard that is too heavy for a core. More cores do not help it.
type Elephant struct {
	Shard Shard
	Work  float64 // wanted, in cores
	Limit float64 // above which it is too heavy
	// Flow is the flow that is to blame, with the work that is wanted for it; empty if
	// the weight is many flows', or not known whose.
	Flow     string
	FlowWork float64
}

// String says what is too heavy and what that means.
func (e Elephant) String() string {
	text := fmt.Sprintf("shard %s wants %.2f of a core, more than a core should give one shard (%.2f)", e.Shard, e.Work, e.Limit)
	if e.Flow == "" {
		return text
	}
	return fmt.Sprintf("%s; %.2f of that is the flow %s, which cannot be divided", text, e.FlowWork, e.Flow)
}

// blame is the share of a shard's work from which on its heaviest flow is the cause.
const blame = 0.5

// lighter is the part of the limit below which a shard is not too heavy any more.
const lighter = 0.8

// weigh keeps since when a shard is too heavy.
func (p Balancing) weigh(t *track, now time.Time) {
	switch {
	case t.work < lighter*p.Heavy:
		t.heavy = time.Time{}
	case t.work >= p.Heavy && t.heavy.IsZero():
		t.heavy = now
	}
}

// elephants are the shards that have been too heavy for long enough.
func (b *Balancer) elephants(now time.Time) []Elephant {
	var list []Elephant
	for _, t := range b.shards {
		if t.heavy.IsZero() || now.Sub(t.heavy) < b.policy.HeavyFor {
			continue
		}
		e := Elephant{Shard: t.Shard, Work: t.work, Limit: b.policy.Heavy}
		if t.Heaviest.Share >= blame {
			e.Flow, e.FlowWork = t.Heaviest.Name, t.Heaviest.Share*t.work
		}
		list = append(list, e)
	}
	return list
}
