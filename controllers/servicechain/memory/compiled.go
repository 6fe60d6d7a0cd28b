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
	mu     sync.Mutex
	last   map[types.NamespacedName]outcome
	begun  map[types.NamespacedName]time.Time // compiles that have not ended
	failed map[types.NamespacedName]error     // of the API server or the system, until it is told
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

// Last is how a chain of that version compiled, though a store may have the text by now that it did not give then.
func (c *Compiled) Last(key types.NamespacedName, version string) (compile.Outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.last[key]
	return o.Outcome, ok && o.version == version
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

// Begin tells since when a chain waits to be compiled, or is, and whether that begins now: the caller has to compile it then, and call End.
func (c *Compiled) Begin(key types.NamespacedName, now time.Time) (since time.Time, begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since, ok := c.begun[key]; ok {
		return since, false
	}
	if c.begun == nil {
		c.begun = map[types.NamespacedName]time.Time{}
	}
	c.begun[key] = now
	return now, true
}

// End is Put, or an error instead, after Begin. If the chain is gone meanwhile, the answer is false, and nothing is remembered.
func (c *Compiled) End(key types.NamespacedName, version string, o compile.Outcome, err error, now time.Time) bool {
	c.mu.Lock()
	_, ok := c.begun[key]
	delete(c.begun, key)
	if ok && err != nil {
		if c.failed == nil {
			c.failed = map[types.NamespacedName]error{}
		}
		c.failed[key] = err
	}
	c.mu.Unlock()
	if ok && err == nil {
		c.Put(key, version, o, now)
	}
	return ok
}

// Failed is the error with which the last compile ended, if nobody has been told.
func (c *Compiled) Failed(key types.NamespacedName) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed[key]
	delete(c.failed, key)
	return err
}

// Forget is called when the chain is gone.
func (c *Compiled) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
	delete(c.begun, key)
	delete(c.failed, key)
}
