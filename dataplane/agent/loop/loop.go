// Package loop has what the agent's loops have in common: they wake each other, try again after pauses, and count.
package loop

import (
	"math"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Counts are attempts by how they ended.
type Counts struct{ Done, Failed atomic.Uint64 }

// Signal has a channel of one place have something. Whoever reads it sees that something happened since, not how often.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Doubling is pauses that double, from the first to the longest.
func Doubling(first, longest time.Duration) wait.Backoff {
	return wait.Backoff{Duration: first, Factor: 2, Steps: math.MaxInt, Cap: longest}
}
