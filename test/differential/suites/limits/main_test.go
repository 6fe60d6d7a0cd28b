// Package limits has tests of rate limiters and limiters of connections.
package limits

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 420_000, Chains: 18}) }
