// Package programs has tests of whole chains: drawn ones of each shape, samples and sets of rules. Others
// are of what compiler, agent and engine accept.
package programs

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 950_000, Chains: 80, Moves: 1_000}) }
