// Package offload has tests of the rules that devices get: packets must not notice.
package offload

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 29_000, Chains: 10}) }
