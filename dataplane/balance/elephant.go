package balance

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/load"
)

// blame is the share of a shard's work from which on its heaviest flow is the cause.
const blame = 0.5

// lighter is the part of the limit below which a shard is not too heavy any more.
const lighter = 0.8

// weigh keeps since when a shard is too heavy.
func (p Policy) weigh(t *track, now time.Time) {
	switch {
	case t.work < lighter*p.Heavy:
		t.heavy = time.Time{}
	case t.work >= p.Heavy && t.heavy.IsZero():
		t.heavy = now
	}
}

// elephants are the shards that have been too heavy for long enough.
func (b *Balancer) elephants(now time.Time) []load.Elephant {
	var list []load.Elephant
	for _, t := range b.shards {
		if t.heavy.IsZero() || now.Sub(t.heavy) < b.policy.HeavyFor {
			continue
		}
		e := load.Elephant{Shard: t.ID, Work: t.work, Limit: b.policy.Heavy}
		if t.Heaviest.Share >= blame {
			e.Flow, e.FlowWork = t.Heaviest.Name, t.Heaviest.Share*t.work
		}
		list = append(list, e)
	}
	return list
}
