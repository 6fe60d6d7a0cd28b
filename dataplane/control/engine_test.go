package control

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// nothing is a program that takes packets by one interface and drops them.
func nothing() *programpb.Program {
	drop := &programpb.Leg{Outcome: &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: programpb.DropReason_DROP_LOCAL}}}}
	return &programpb.Program{
		Schema: program.SchemaVersion, LongestWay: 1, Chain: "nothing",
		Interfaces: []*programpb.Interface{{Name: "in", Address: 0x0a000001, PrefixLen: 24, Mtu: 1500}},
		Segments: []*programpb.Segment{{
			Name: "all", Table: &programpb.Table{Classes: []uint32{0}}, Classes: []*programpb.Class{{Legs: []*programpb.Leg{drop}}},
		}},
	}
}

func TestAProgramFromAFileHasTheHashThatTheCompilerGivesIt(t *testing.T) {
	engine := filepath.Join("..", "engine", "build", "sinter-engine")
	if path := os.Getenv("SINTER_ENGINE"); path != "" {
		engine = path
	}
	if _, err := os.Stat(engine); err != nil {
		t.Skipf("the engine is not built (%v): run make engine, or set SINTER_ENGINE", err)
	}
	encoded, err := program.Encode(nothing())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "control") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file, socket := filepath.Join(dir, "program"), filepath.Join(dir, "engine.sock")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(engine, "--socket", socket, "--program", file, "--bind", "in=net_null0,no-rx=1", "--no-huge", "--memory", "96",
		"--buffers", "2047", "--rx-desc", "64", "--tx-desc", "64", "--idle-sleep", "2000")
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Dial(ctx, socket)
	for err != nil {
		select {
		case err := <-ended:
			t.Fatalf("the engine ended: %v: %s", err, log.String())
		case <-ctx.Done():
			t.Fatalf("%v: %s", err, log.String())
		case <-time.After(20 * time.Millisecond):
		}
		c, err = Dial(ctx, socket)
	}
	defer c.Close()
	stats, err := c.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%x", stats.GetHash()), program.Hash(encoded); got != want {
		t.Errorf("the engine's hash is %q, want %s", got, want)
	}
	if err := c.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the engine: %v: %s", err, log.String())
	}
}
