package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The test's own packages run its packets through the oracle; here they go through bridges, an engine and its agent's reports.
func TestTheConnectivityTestPassesAndLeavesNothing(t *testing.T) {
	w := begin(t)
	w.remove() // the chain of the test needs the core
	out := w.kubectl("sinter", "connectivity-test")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	if last := rows[len(rows)-1]; len(rows) < 30 || last != fmt.Sprintf("%d of %[1]d passed", len(rows)-2) {
		t.Errorf("it ends in %q after %d rows:\n%s", last, len(rows), out)
	}
	w.eventually("all that it made is gone", 10*time.Second, func() error {
		left := w.kubectl("get", "servicechains,chaininstances,pods,network-attachment-definitions", "-o", "name")
		if strings.Contains(left, "sinter-test-") {
			return fmt.Errorf("left are %s", left)
		}
		return nil
	})
}
