package synth_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

const ispChain = `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: isp}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1}
  functions:
  - name: fw
    firewall: {rulesFrom: {file: acl1_8550, format: ClassBench, actions: OddAcceptEvenDrop}}
  - name: rt
    router:
      routes:
      - {prefix: 204.152.0.0/16, port: inside}
      - {prefix: 0.0.0.0/0, port: outside}
  - name: nat
    napt: {pool: [203.0.113.64/28]}
  path: [inside, fw, rt, nat, outside]
`

// largeChain is SNF's chain 3 with its largest rule set.
func largeChain(tb testing.TB) *graph.Graph {
	tb.Helper()
	bundle, findings := manifest.Parse("isp.yaml", []byte(ispChain), func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("../../test/data/classbench", name))
	})
	if err := findings.Err(); err != nil {
		tb.Fatal(err)
	}
	g, findings := graph.Build(bundle.Chains[0], graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
	if err := findings.Err(); err != nil {
		tb.Fatal(err)
	}
	return g
}

// processorTime is what the process has used, collector included; on a busy machine the clock says less.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestAFirewallOf8550RulesIsSynthesizedInTwoSeconds(t *testing.T) {
	g := largeChain(t)
	start := processorTime(t)
	r, err := synth.Synthesize(g, synth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	took := processorTime(t) - start
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	for i, s := range r.Segments {
		t.Logf("%s: %d leaves, %d classes, %d boxes", s.Name, len(s.Leaves), len(s.Classes), len(r.Program.Segments[i].Table.Classes))
	}
	t.Logf("%v, %d MB of the system, %d warnings", took, memory.Sys>>20, len(r.Warnings))
	if memory.Sys > 500<<20 {
		t.Errorf("the process took %d MB from the system, at most 500 are allowed", memory.Sys>>20)
	}
	if took > 2*time.Second {
		t.Errorf("synthesis took %v, at most 2s are allowed", took)
	}
}

func BenchmarkFirewallOf8550RulesRouterNAPT(b *testing.B) {
	g := largeChain(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := synth.Synthesize(g, synth.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
