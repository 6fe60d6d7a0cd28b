package memory

import (
	"errors"
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
	if c.End(key, "3", compile.Outcome{}, nil, now) {
		t.Error("it is not said that the chain is gone")
	}
	if _, ok := c.Get(key, "3", now); ok {
		t.Error("a chain that is gone is remembered")
	}
}
