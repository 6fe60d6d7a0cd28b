package footprint

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/compiler"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// An engine bounds its state by what it has laid out, whichever way shards are told. Without an engine, the package comes to nearly the same, and never
// to less.
func TestStateIsBoundedAsTheEngineBoundsIt(t *testing.T) {
	engines, loads := []*control.Client{engine(t, "host"), engine(t, "address:8")}, 0
	check := func(name string, p *programpb.Program) {
		t.Helper()
		encoded, err := program.Encode(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, want := stateOf(p), int64(0)
		for _, c := range engines {
			if _, err := c.Load(t.Context(), encoded, program.Hash(encoded)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			stats, err := c.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want = max(want, int64(stats.GetStateMemory()))
		}
		loads++
		if got < want || got > want+want/10+4*mib*int64(1+len(p.GetTables())) {
			t.Errorf("%s: state is bounded by %d KiB, the engine says %d", name, got/kib, want/kib)
		}
	}
	for _, p := range programs(t) {
		check(p.GetChain(), p)
		for i, table := range p.GetTables() {
			for _, v := range variants(table) {
				changed := proto.CloneOf(p)
				changed.Tables[i] = v.table
				check(fmt.Sprintf("%s, %s: %s", p.GetChain(), table.GetName(), v.name), changed)
			}
		}
	}
	if loads < 100 {
		t.Errorf("only %d programs were compared", loads)
	}
}

func programs(t *testing.T) (list []*programpb.Program) {
	t.Helper()
	samples, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range samples {
		bundle, found := manifest.Load(file)
		if found.HasErrors() {
			t.Fatal(found)
		}
		for _, chain := range bundle.Chains {
			p, _, err := compiler.Compile(compiler.Sources{Chain: chain, Functions: bundle.Functions, Files: bundle.Files})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			list = append(list, p.Result.Program)
		}
	}
	for _, flows := range [][]int{{4_000_000, 1_000_000, 3_000_000}, {4_000_000, 4_000_000, 4_000_000}, {1000, 1000, 4_000_000}, {4_000_000, 900_000}, slices.Repeat([]int{1_000_000}, 9)} {
		list = append(list, firewalls(t, flows))
	}
	return list
}

// firewalls is the program of stateful ones in a row, each for so many flows: a flow has an entry of each.
func firewalls(t *testing.T, flows []int) *programpb.Program {
	t.Helper()
	text, path := "", "inside"
	for i, n := range flows {
		text += fmt.Sprintf("  - {name: fw%d, firewall: {stateful: true, tracking: {maxFlows: %d}, rules: [{from: Inside, action: Accept}], default: Drop}}\n", i, n)
		path += fmt.Sprintf(", fw%d", i)
	}
	bundle, found := manifest.Parse("firewalls.yaml", []byte(`
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: firewalls}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254}
  path: [`+path+`, outside]
  functions:
`+text), nil)
	if found.HasErrors() {
		t.Fatal(found)
	}
	p, _, err := compiler.Compile(compiler.Sources{Chain: bundle.Chains[0]})
	if err != nil {
		t.Fatal(err)
	}
	return p.Result.Program
}

type variant struct {
	name  string
	table *programpb.StateTable
}

// variants are the table with other numbers of entries, and where it is of a pool, with other pools.
func variants(t *programpb.StateTable) (list []variant) {
	add := func(name string, change func(*programpb.StateTable)) {
		v := variant{name, proto.CloneOf(t)}
		change(v.table)
		list = append(list, v)
	}
	if t.GetMaxSessions() > 0 {
		for _, n := range []uint32{1, 70, 300, 5_000, 60_000, 262_144, 1_000_000, 4_000_000} {
			add(fmt.Sprintf("%d entries", n), func(t *programpb.StateTable) { t.MaxSessions = n })
		}
	}
	if k := t.GetTracking(); k != nil {
		add("half open", func(t *programpb.StateTable) { t.Tracking.MaxHalfOpen = 100_000 })
	}
	if len(t.GetPool()) == 0 {
		return list
	}
	first := t.GetPool()[0].GetFirst()
	for _, n := range []uint32{1, 5, 64, 1000} {
		for _, ports := range []uint32{1, 63, 200, 64512} {
			add(fmt.Sprintf("%d addresses, %d ports", n, ports), func(t *programpb.StateTable) {
				t.Pool, t.Reserved = []*programpb.AddressRange{{First: first, Last: first + n - 1}}, nil
				t.PortMin, t.PortMax, t.MaxSessions = 1024, 1023+ports, 1_000_000
			})
		}
		for mapping := range programpb.Dependence_name {
			add(fmt.Sprintf("%d addresses, mapping %d", n, mapping), func(t *programpb.StateTable) {
				t.Pool, t.Reserved = []*programpb.AddressRange{{First: first, Last: first + n - 1}}, nil
				t.Mapping, t.Filtering, t.PortRestMs, t.Paired = programpb.Dependence(mapping), 0, 1000*n, n > 5
			})
		}
	}
	return list
}

// engine runs the engine without devices, for as long as the test.
func engine(t *testing.T, shards string) *control.Client {
	t.Helper()
	path := os.Getenv("SINTER_HARNESS")
	if path == "" {
		path = filepath.Join("..", "engine", "build", "sinter-harness")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the engine's harness is not built (%v): run make engine, or set SINTER_HARNESS", err)
	}
	cmd := exec.Command(path, "--workers", "1", "--shards", shards)
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := control.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	t.Cleanup(func() {
		_ = c.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() && log.Len() > 0 {
			t.Logf("engine: %s", log.String())
		}
	})
	return c
}
