package interp

import (
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// run is the passage of one frame with what NAPTs choose in it.
type run struct {
	*pass.Run
	c      *Chain
	choose Chooser

	// against an engine:
	told     []*told
	refusals []pass.Drop // why NAPTs that made no choice may have refused one
	gave     []string    // NAPTs that made none
}

func (c *Chain) newRun(now time.Duration, choose Chooser) *run {
	r := &run{c: c, choose: choose}
	r.Run = c.NewRun(now, r)
	return r
}

// runOf is the run of one of the elements that are registered by registerOwn.
func runOf(r *pass.Run) *run { return r.Owner.(*run) }

// registerOwn adds the meaning of elements that need more than the framework has: interfaces, choices of NAPTs.
func registerOwn[E element.Element](of func(c *Chain, name string, e E) pass.Element) {
	pass.Register(func(c *pass.Chain, name string, e E) pass.Element { return of(c.Owner.(*Chain), name, e) })
}

func (r *run) start(iface int, frame []byte) {
	l := &r.c.links[iface]
	p, reason := l.enter(iface, frame)
	if p == nil {
		r.Drop(reason)
		return
	}
	r.Walk(p, graph.Edge{To: l.in})
}

// ask looks an entry up from outside. A loose one is found by what it sent alone: by is the entry whose endpoint the packet goes to.
func (r *run) ask(q question, by *entry) *entry {
	e := q.nat.findOutside(q, r.Now)
	if e != nil && e.loose && e != by {
		return nil
	}
	return e
}

// insideOf is where the inside address and port of an entry come from: the entry of a NAPT before.
func (r *run) insideOf(e *entry) pass.Origins {
	if s := e.source; s != nil && s.nat.live(s, r.Now) {
		return pass.Origins{Src: s, Sport: s}
	}
	return pass.Origins{}
}
