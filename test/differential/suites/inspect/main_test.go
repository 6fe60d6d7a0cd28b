// Package inspect has tests of inspections.
package inspect

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 12_000, Chains: 1}) }
