package pass

import (
	"iter"
	"maps"
	"reflect"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Chain is a chain's elements with their state. It is not safe for concurrent use.
type Chain struct {
	Options
	Graph *graph.Graph
	// Owner is whoever runs the chain. Only elements that it has registered itself know it.
	Owner any
	// Down are the nodes of functions outside of the chain that do not answer.
	Down     map[string]bool
	elements []Element // by node
	counts   map[string]Count
	shared   map[sharedKey]any
	maxSteps int // of a packet; no valid chain reaches it
}

// Options are what a chain leaves to whoever runs it.
type Options struct {
	// Trace, if set, is told every element that a packet passes.
	Trace func(Step)
	// PortOverlapping lets elements give one outside address and port to several flows of a protocol at the same time, as long as
	// their remotes differ (RFC 7857 section 3).
	PortOverlapping bool
}

// sharedKey names state that several elements have.
type sharedKey struct {
	of   reflect.Type
	name string
}

// maxTTLs is how many values the TTL has. Between two of them a packet passes each input of an element once at most: a
// valid chain has no other circles.
const maxTTLs = 256

// New makes the elements of a graph, with empty state.
func New(g *graph.Graph, owner any, opts Options) *Chain {
	c := &Chain{Options: opts, Graph: g, Owner: owner, Down: map[string]bool{}, counts: map[string]Count{}, elements: make([]Element, len(g.Nodes)), shared: map[sharedKey]any{}}
	for i, n := range g.Nodes {
		inputs, _ := n.Element.Ports()
		c.maxSteps += max(inputs, 1) * maxTTLs
		c.elements[i] = c.elementOf(&n)
	}
	return c
}

// Resume has the elements go on with the state of a chain's, which ends. Counters keep their values.
func (c *Chain) Resume(before *Chain) {
	was := map[string]Element{}
	for name, e := range All[Element](before) {
		was[name] = e
	}
	for i, n := range c.Graph.Nodes {
		if k, ok := c.elements[i].(Keeping); ok {
			c.elements[i] = k.Resume(was[n.Name])
		}
	}
	maps.Copy(c.counts, before.counts)
}

// All are the elements of a type, or that implement an interface, by their nodes' names, in the order of nodes.
func All[T any](c *Chain) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for i, e := range c.elements {
			if t, ok := e.(T); ok && !yield(c.Graph.Nodes[i].Name, t) {
				return
			}
		}
	}
}

// Shared is state that several elements of the chain have under a name. The first that asks makes it.
func Shared[T any](c *Chain, name string, empty func() *T) *T {
	key := sharedKey{reflect.TypeFor[T](), name}
	if c.shared[key] == nil {
		c.shared[key] = empty()
	}
	return c.shared[key].(*T)
}

// AddCounter has a counter begin at 0.
func (c *Chain) AddCounter(name string) { c.counts[name] = Count{} }

// Counters are the values of the chain's counters: of every Counter by its
// node's name, of every counting rule by the rule's.
func (c *Chain) Counters() map[string]Count { return maps.Clone(c.counts) }

// NewRun begins the passage of a frame.
func (c *Chain) NewRun(now time.Duration) *Run { return &Run{Now: now, Chain: c} }
