package memory

import (
	"slices"
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
	begun    map[types.NamespacedName]time.Time // compiles that have not ended
	failed   map[types.NamespacedName]error     // of the API server, until it is told
	sessions map[types.NamespacedName]*compile.Session
	texts    []texts // of sessions, those used last at the end
}

// maxTexts bounds the bytes of texts from stores that all sessions have together; one may have as many.
const maxTexts = 64 << 20

type texts struct {
	of    types.NamespacedName
	bytes int
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

// End is Put, or an error instead, after Begin. If the chain is gone meanwhile, nothing is remembered.
func (c *Compiled) End(key types.NamespacedName, version string, o compile.Outcome, err error, now time.Time) {
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
}

// Failed is the error with which the last compile ended, if nobody has been told.
func (c *Compiled) Failed(key types.NamespacedName) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed[key]
	delete(c.failed, key)
	return err
}

// Session is what is kept of a chain between two compiles if it has texts from stores. For it, those of chains that were compiled least recently go. A
// chain is compiled by one reconcile at a time.
func (c *Compiled) Session(key types.NamespacedName, bytes int) *compile.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	session := c.sessions[key]
	c.drop(key)
	if bytes == 0 {
		return nil
	}
	sum := bytes
	for _, t := range c.texts {
		sum += t.bytes
	}
	for ; sum > maxTexts && len(c.texts) > 0; c.drop(c.texts[0].of) {
		sum -= c.texts[0].bytes
	}
	if session == nil {
		session = &compile.Session{}
	}
	if c.sessions == nil {
		c.sessions = map[types.NamespacedName]*compile.Session{}
	}
	c.sessions[key], c.texts = session, append(c.texts, texts{key, bytes})
	return session
}

func (c *Compiled) drop(key types.NamespacedName) {
	delete(c.sessions, key)
	c.texts = slices.DeleteFunc(c.texts, func(t texts) bool { return t.of == key })
}

// Forget is called when the chain is gone.
func (c *Compiled) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
	delete(c.begun, key)
	delete(c.failed, key)
	c.drop(key)
}
