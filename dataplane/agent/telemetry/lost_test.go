package telemetry

import (
	"testing"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/rollout"
)

func TestSessionsAreLostWithTheEngineThatHadThem(t *testing.T) {
	reported := v1alpha1.ChainInstanceStatus{Sessions: 100, LostSessions: 7}
	for name, test := range map[string]struct {
		seen []rollout.State
		sum  int64
	}{
		"an agent that comes back finds the engine at work":      {[]rollout.State{{}}, 7},
		"a new pod's engine has taken nothing over":              {[]rollout.State{{Empty: 1}}, 107},
		"a new pod, and its engine takes a while":                {[]rollout.State{{Engine: engine.ErrNone}, {Empty: 1}}, 107},
		"an agent comes back, and then the engine dies":          {[]rollout.State{{}, {Empty: 1, Lost: 40}}, 47},
		"a new pod whose engine dies, too":                       {[]rollout.State{{Empty: 1}, {Empty: 2, Lost: 40}}, 147},
		"nothing is known before an engine was met":              {[]rollout.State{{Engine: engine.ErrNone}}, 7},
		"an engine that is gone has not lost its sessions twice": {[]rollout.State{{}, {Engine: engine.ErrNone}, {Empty: 1, Lost: 40}, {Empty: 1, Lost: 40}}, 47},
	} {
		t.Run(name, func(t *testing.T) {
			var lost lostSessions
			var sum int64
			for i := range test.seen {
				sum = lost.sum(&test.seen[i], &reported)
			}
			if sum != test.sum {
				t.Errorf("%d sessions are lost, wanted %d", sum, test.sum)
			}
		})
	}
}
