package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/controllers/compile"
)

// Compiled remembers how chains compiled, for as long as none of their sources
// changes: most reconciles come from reports of instances.
type Compiled struct {
	mu       sync.Mutex
	last     map[types.NamespacedName]outcome
	sessions map[types.NamespacedName]*compile.Session
}

// AskAgain is how soon a store is asked again for a text that it did not give.
const AskAgain = 15 * time.Second

type outcome struct {
	version string
	at      time.Time
	compile.Outcome
}

// Get is how a chain of that version compiled, if that is known.
func (c *Compiled) Get(key types.NamespacedName, version string, now time.Time) (compile.Outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.last[key]
	return o.Outcome, ok && o.version == version && (!o.Again || now.Sub(o.at) < AskAgain)
}

// Put remembers how a chain of that version compiled.
func (c *Compiled) Put(key types.NamespacedName, version string, o compile.Outcome, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[types.NamespacedName]outcome{}
	}
	c.last[key] = outcome{version, now, o}
}

// Session is what is kept of a chain between two compiles, if it is worth keeping. A chain is compiled by one reconcile at a time.
func (c *Compiled) Session(key types.NamespacedName, worth bool) *compile.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !worth {
		delete(c.sessions, key)
		return nil
	}
	if c.sessions == nil {
		c.sessions = map[types.NamespacedName]*compile.Session{}
	}
	if c.sessions[key] == nil {
		c.sessions[key] = &compile.Session{}
	}
	return c.sessions[key]
}

// Forget is called when the chain is gone.
func (c *Compiled) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
	delete(c.sessions, key)
}
