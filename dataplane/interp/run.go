package interp

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// run is the passage of one frame, with the interfaces of its chain.
type run struct {
	*pass.Run
	c *Chain
}

func (c *Chain) newRun(now time.Duration) *run { return &run{c.NewRun(now), c} }

// runOf is the run of one of the elements that are registered by registerOwn.
func runOf(r *pass.Run) *run { return &run{r, r.Chain.Owner.(*Chain)} }

// registerOwn adds the meaning of elements that need more than the framework has: interfaces.
func registerOwn[E element.Element](of func(c *Chain, name string, e E) pass.Element) {
	pass.Register(func(c *pass.Chain, name string, e E) pass.Element { return of(c.Owner.(*Chain), name, e) })
}

// start runs a frame that arrives, and what goes past functions that are down.
func (r *run) start(iface int, frame []byte) {
	r.c.ways = r.c.ways[:0]
	r.arrive(iface, frame)
	for len(r.c.past) > 0 {
		next := r.c.past[0]
		r.c.past = r.c.past[1:]
		r.arrive(next.link, next.frame)
	}
}

func (r *run) arrive(iface int, frame []byte) {
	l := &r.c.links[iface]
	p, reason := l.enter(iface, frame)
	if p == nil {
		r.Drop(reason)
		return
	}
	at := graph.Edge{To: l.in}
	if o, ok := r.c.returned(iface, frame); ok && l.wire {
		at, p.Entry, p.Via = o.stop.Out[o.out], o.entry, o.via
		r.Note("back from the function by interface %s", l.name)
		r.Step(o.stop, o.out, p)
	}
	r.Walk(p, at)
}
