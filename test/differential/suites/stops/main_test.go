// Package stops has tests of chains with functions outside of them.
package stops

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 100_000, Chains: 8, Moves: 80}) }
