package lifecycle

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/sinter-nfv/sinter/test/agenttest"
)

func TestDrainingEndsWhenNoPacketLeavesAnyMore(t *testing.T) {
	dir := agenttest.Folder(t)
	d := Drain{Socket: filepath.Join(dir, "s"), Marker: filepath.Join(dir, "draining"), Quiet: time.Second, Limit: agenttest.Patience, Clock: clock.RealClock{}}
	how, err := d.Run(t.Context())
	if err != nil || !strings.Contains(how, "no engine answers") {
		t.Errorf("without an engine: %q, %v", how, err)
	}
	engine := agenttest.Start(t, d.Socket, agenttest.Quiet)
	engine.Load(agenttest.Program(t, "mine", "in", "out"))
	how, err = d.Run(t.Context())
	if err != nil || how != "no packet left for 1s" {
		t.Errorf("got %q, %v", how, err)
	}
	if !Draining(d.Marker) {
		t.Error("the agent is not told")
	}
}
