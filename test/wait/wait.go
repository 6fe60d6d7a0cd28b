// Package wait is how tests wait for what other processes and goroutines do.
package wait

import (
	"testing"
	"time"
)

// Until asks at intervals until the answer is nil. After the time limit, the last answer fails the test.
func Until(t testing.TB, limit, interval time.Duration, ask func() error) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(interval) {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %v", limit, err)
		}
	}
}
