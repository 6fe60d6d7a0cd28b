// Package napt has tests of NAPTs and fixed translations.
package napt

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 93_000, Chains: 10, Moves: 200}) }
