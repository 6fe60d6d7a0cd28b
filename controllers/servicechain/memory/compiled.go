package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/controllers/compile"
)

// Compiled remembers how chains compiled, for as long as none of their sources
// changes: most reconciles come from reports of instances.
type Compiled struct {
	mu   sync.Mutex
	last map[types.NamespacedName]outcome
}

type outcome struct {
	version string
	compile.Outcome
}

// Get is how a chain of that version compiled, if that is known.
func (c *Compiled) Get(key types.NamespacedName, version string) (compile.Outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.last[key]
	return o.Outcome, ok && o.version == version
}

// Put remembers how a chain of that version compiled.
func (c *Compiled) Put(key types.NamespacedName, version string, o compile.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[types.NamespacedName]outcome{}
	}
	c.last[key] = outcome{version, o}
}

// Forget is called when the chain is gone.
func (c *Compiled) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
}
