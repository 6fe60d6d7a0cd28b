package lab

import (
	"testing"
	"time"
)

// Patience is how long tests wait for what must happen.
const Patience = 20 * time.Second

// Until asks again and again until the answer is nil; after the time, the last answer fails the
// test. It is for what can only be asked for, such as the engine's counters.
func Until(t testing.TB, patience time.Duration, ask func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %v", patience, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
