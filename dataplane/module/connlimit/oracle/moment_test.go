package oracle_test

import (
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// TestAnEngineCountsConnectionsForAMomentLonger has an engine refuse a connection while two that are over have the host's, or all, places.
func TestAnEngineCountsConnectionsForAMomentLonger(t *testing.T) {
	const moment = 10 * time.Millisecond
	for name, tt := range map[string]struct {
		change func(l *element.ConnLimit)
		reason string
		late   time.Duration
		right  bool
	}{
		"at once":               {nil, "limit", 1, true},
		"within a moment":       {nil, "limit", moment, true},
		"later":                 {nil, "limit", moment + 1, false},
		"all, within a moment":  {func(l *element.ConnLimit) { l.Max, l.PerHost.MaxSessions = 2, 3 }, "full", moment, true},
		"all, later":            {func(l *element.ConnLimit) { l.Max, l.PerHost.MaxSessions = 2, 3 }, "full", moment + 1, false},
		"for the other reason":  {nil, "full", moment, false},
		"while one has a place": {func(l *element.ConnLimit) { l.PerHost.MaxSessions = 3 }, "limit", moment, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := limiting(t, tt.change)
			l.sees(testbed.Inside, testbed.UDP(1, 53), passes)
			l.sees(testbed.Inside, testbed.UDP(2, 53), passes)
			l.now += countedTimeouts.UDP + tt.late
			refused := interp.Seen{Result: pass.Result{Drops: []pass.Drop{{Reason: tt.reason}}}}
			if _, diff := l.c.ProcessAgainst(l.now, testbed.Inside, testbed.UDP(3, 53).Frame(), refused); (len(diff) == 0) != tt.right {
				t.Errorf("the engine refuses it as %q: %v", tt.reason, diff)
			}
			if !tt.right { // the third was begun
				l.has("open")
			}
		})
	}
}
