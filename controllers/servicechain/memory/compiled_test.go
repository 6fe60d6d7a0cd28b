package memory

import (
	"errors"
	"fmt"
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
			if o, ok := c.Last(key, "1"); !ok || o.Reason != "x" {
				t.Errorf("again %t, after %s: the last outcome is %+v, %t", again, after, o, ok)
			}
		}
	}
	if _, ok := c.Get(key, "2", now); ok {
		t.Error("another version is known")
	}
	if _, ok := c.Last(key, "2"); ok {
		t.Error("another version has a last outcome")
	}
}

func TestAChainHasOneSessionForAsLongAsItHasTexts(t *testing.T) {
	var c Compiled
	key := types.NamespacedName{Namespace: "nfv", Name: "edge"}
	if c.Session(key, 0) != nil {
		t.Error("a chain without texts has a session")
	}
	first := c.Session(key, 1)
	if first == nil || c.Session(key, 2) != first || c.Session(types.NamespacedName{Namespace: "nfv", Name: "core"}, 1) == first {
		t.Error("a chain with texts has no session of its own")
	}
	c.Session(key, 0)
	if c.Session(key, 1) == first {
		t.Error("a session without texts is kept")
	}
	first = c.Session(key, 1)
	c.Forget(key)
	if c.Session(key, 1) == first {
		t.Error("a chain that is gone has a session")
	}
}

// Whoever has large texts must not fill the operator's memory.
func TestSessionsAreKeptUpToABound(t *testing.T) {
	var c Compiled
	key := func(i int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(i)} }
	const quarter = maxTexts / 4
	first := map[int]*compile.Session{}
	for i := range 4 {
		first[i] = c.Session(key(i), quarter)
	}
	c.Session(key(0), quarter)   // now 1 was used least recently
	c.Session(key(4), quarter+1) // takes the room of 1 and 2
	for i, kept := range map[int]bool{0: true, 3: true, 1: false, 2: false} {
		if _, ok := c.sessions[key(i)]; ok != kept {
			t.Errorf("the session of chain %d is kept: %t, want %t", i, ok, kept)
		}
	}
	if c.Session(key(0), quarter) != first[0] {
		t.Error("the session that was kept is another one")
	}
	if c.Session(key(5), 2*maxTexts); len(c.sessions) != 1 || len(c.texts) != 1 {
		t.Errorf("beside one that is too large there are %d, want none", len(c.sessions)-1)
	}
}

func TestAChainIsCompiledOnceAtATime(t *testing.T) {
	var c Compiled
	key, now := types.NamespacedName{Namespace: "nfv", Name: "edge"}, time.Unix(1000, 0)
	if since, begins := c.Begin(key, now); !begins || since != now {
		t.Errorf("the first compile begins %t, at %s", begins, since)
	}
	if since, begins := c.Begin(key, now.Add(time.Second)); begins || since != now {
		t.Errorf("a second one begins %t beside, since %s", begins, since)
	}
	c.End(key, "1", compile.Outcome{Reason: "x"}, nil, now)
	if o, ok := c.Get(key, "1", now); !ok || o.Reason != "x" {
		t.Errorf("after the end the outcome is %+v, %t", o, ok)
	}

	c.Begin(key, now)
	c.End(key, "2", compile.Outcome{}, errors.New("no API server"), now)
	if _, ok := c.Get(key, "2", now); ok {
		t.Error("a compile that failed has an outcome")
	}
	if err := c.Failed(key); err == nil || c.Failed(key) != nil {
		t.Errorf("the error %v is not told once", err)
	}

	c.Begin(key, now)
	c.Forget(key)
	c.End(key, "3", compile.Outcome{}, nil, now)
	if _, ok := c.Get(key, "3", now); ok {
		t.Error("a chain that is gone is remembered")
	}
}
