package loop

import (
	"testing"
	"time"
)

func TestASignalIsKeptOnceAndNeverWaits(t *testing.T) {
	c := make(chan struct{}, 1)
	Signal(c)
	Signal(c)
	<-c
	select {
	case <-c:
		t.Error("two signals before anybody looked are heard twice")
	default:
	}
}

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	b := Doubling(time.Second, 5*time.Second)
	for i, want := range []time.Duration{1, 2, 4, 5, 5} {
		if got := b.Step(); got != want*time.Second {
			t.Errorf("pause %d is %s, want %s", i, got, want*time.Second)
		}
	}
}
