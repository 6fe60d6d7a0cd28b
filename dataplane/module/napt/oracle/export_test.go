package oracle

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// The rest is for tests that run whole chains, so that they are in another package.

// natOf is the NAPT of a name.
func natOf(c *pass.Chain, name string) *nat {
	all := nats(c)
	return all[slices.IndexFunc(all, func(n *nat) bool { return n.name == name })]
}

// State is all that look-ups in a chain's NAPTs can find.
type State struct {
	inside  map[flow.Flow]entry
	outside map[seat]flow.Flow
}

// StateOf is the present state of a chain.
func StateOf(c *pass.Chain) State {
	inside, outside := map[flow.Flow]entry{}, map[seat]flow.Flow{}
	for _, n := range nats(c) {
		for f, e := range n.inside {
			seen := *e
			seen.behind, seen.sessions = nil, map[remote]*session{}
			for to, s := range e.sessions {
				was := *s
				seen.sessions[to] = &was
			}
			inside[f] = seen
		}
		for at, e := range n.outside {
			outside[at] = e.flow
		}
	}
	return State{inside, outside}
}

// Equal tells whether look-ups find the same.
func (s State) Equal(o State) bool {
	return maps.EqualFunc(s.inside, o.inside, sameEntry) && maps.Equal(s.outside, o.outside)
}

func sameEntry(a, b entry) bool {
	return a.flow == b.flow && a.out == b.out && a.loose == b.loose && a.source == b.source &&
		maps.EqualFunc(a.sessions, b.sessions, func(a, b *session) bool { return reflect.DeepEqual(a, b) })
}

// Move gives the entry at an endpoint of a NAPT another one, as an engine that has chosen that. It tells where the entry is then, whether it is
// loose, and whether it is found there.
func Move(r *pass.Run, name string, from, to flow.Endpoint) (at flow.Endpoint, loose, found bool) {
	n := natOf(r.Chain, name)
	e := n.outside[seat{at: from}]
	(&run{r}).moveTo(e, to)
	return e.out, e.loose, n.outside[seat{at: to}] == e
}

// Entries are how many a NAPT has.
func Entries(c *pass.Chain, name string) int { return len(natOf(c, name).inside) }

// Forget has all NAPTs forget what is over.
func Forget(c *pass.Chain, now time.Duration) {
	for _, n := range nats(c) {
		n.forget(now)
	}
}
