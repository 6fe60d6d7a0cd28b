// Package router has tests of routers, networks of them, and of what own addresses answer.
package router

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/rig"
)

func TestMain(m *testing.M) { rig.Main(m, rig.Least{Packets: 110_000, Chains: 10}) }
