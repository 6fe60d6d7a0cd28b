package memory

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/controllers/compile"
)

func TestWhatAStoreDidNotGiveIsAskedForAgain(t *testing.T) {
	var c Compiled
	key, now := types.NamespacedName{Namespace: "nfv", Name: "edge"}, time.Unix(1000, 0)
	for _, again := range []bool{false, true} {
		c.Put(key, "1", compile.Outcome{Reason: "x", Again: again}, now)
		for after, known := range map[time.Duration]bool{0: true, AskAgain - 1: true, AskAgain: !again, time.Hour: !again} {
			if o, ok := c.Get(key, "1", now.Add(after)); ok != known || ok && o.Reason != "x" {
				t.Errorf("again %t, after %s: %+v, known %t; want %t", again, after, o, ok, known)
			}
		}
	}
	if _, ok := c.Get(key, "2", now); ok {
		t.Error("another version is known")
	}
}

func TestAChainHasOneSessionForAsLongAsItIsWorthOne(t *testing.T) {
	var c Compiled
	key := types.NamespacedName{Namespace: "nfv", Name: "edge"}
	if c.Session(key, false) != nil {
		t.Error("a chain without stores has a session")
	}
	first := c.Session(key, true)
	if first == nil || c.Session(key, true) != first || c.Session(types.NamespacedName{Namespace: "nfv", Name: "core"}, true) == first {
		t.Error("a chain with stores has no session of its own")
	}
	c.Session(key, false)
	if c.Session(key, true) == first {
		t.Error("what is not worth it is kept")
	}
	first = c.Session(key, true)
	c.Forget(key)
	if c.Session(key, true) == first {
		t.Error("a chain that is gone has a session")
	}
}
