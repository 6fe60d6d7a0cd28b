package lab

import (
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/wait"
)

// Patience is how long tests wait for what must happen.
const Patience = 20 * time.Second

// Until asks again and again until the answer is nil; after the time, the last answer fails the
// test. It is for what can only be asked for, such as the engine's counters.
func Until(t testing.TB, patience time.Duration, ask func() error) {
	t.Helper()
	wait.Until(t, patience, 5*time.Millisecond, ask)
}
