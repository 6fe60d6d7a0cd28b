// Package stateful has tests of functions that keep state of flows, but for NAPTs, and of what is
// observed of flows.
package stateful

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 660_000, Chains: 20, Moves: 800}) }
