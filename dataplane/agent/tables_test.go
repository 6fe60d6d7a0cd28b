package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/test/agenttest"
	"github.com/sinter-nfv/sinter/test/routes"
)

// routed is a chain that takes routes from texts.
func routed(functions, path string, from ...string) string {
	var list bytes.Buffer
	for i, f := range from {
		fmt.Fprintf(&list, "{%s, port: outside, via: 198.51.100.%d}, ", f, 3+i)
	}
	return `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: in, address: 10.0.0.1/24}
  - {name: out, address: 198.51.100.2/24}
  functions:
` + functions + `
  - name: rt
    router:
      routes: [{prefix: 172.16.0.0/12, port: inside}]
      routesFrom: [` + list.String() + `]
  path: [in, ` + path + `rt, out]
`
}

// text is routes to n networks.
func text(first, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "100.%d.%d.0/24\n", 64+(first+i)/256, (first+i)%256)
	}
	return b.Bytes()
}

// hasTable tells whether the status has the only table of a program.
func hasTable(c *agenttest.Cluster, t *testing.T, p *delivery.Program, routes int64) error {
	t.Helper()
	want := v1alpha1.RouteTable{Hash: fmt.Sprintf("%x", p.GetFibs()[0].GetHash()), Routes: routes}
	if got := c.Instance(t).Status.Tables; len(got) != 1 || got[0] != want {
		return fmt.Errorf("the status has tables %v, want %v", got, want)
	}
	return nil
}

func TestTablesOfRoutesComeFromStores(t *testing.T) {
	store := agenttest.NewStore(t)
	a, b := store.Put("a", text(0, 300)), store.Put("b", text(200, 300))
	first := agenttest.Stored(t, routed("", "", a, b))
	second := agenttest.Stored(t, routed("", "", a, store.Put("c", text(250, 300))))
	third := agenttest.Stored(t, routed("", "", a, store.Put("d", text(260, 300))))
	store.Remove("d")
	fourth := agenttest.Stored(t, routed("", "", a, store.Put("e", text(270, 300))))
	store.Put("e", text(271, 300))
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", first), agenttest.ChainProgram(t, "edge-2", second),
		agenttest.ChainProgram(t, "edge-3", third), agenttest.ChainProgram(t, "edge-4", fourth))
	p := startPod(t, c, agenttest.Quiet)

	reports(t, c, v1alpha1.ReasonApplied, "edge-1 runs", first)
	agenttest.Eventually(t, func() error { return hasTable(c, t, first, 503) })
	asked := store.Asked.Load()
	want(t, c, "edge-2")
	reports(t, c, v1alpha1.ReasonApplied, "edge-2 runs", second)
	agenttest.Eventually(t, func() error { return hasTable(c, t, second, 553) })
	if n := store.Asked.Load() - asked; n != 1 {
		t.Errorf("the store was asked %d times for one text that changed, want once", n)
	}
	want(t, c, "edge-3")
	reports(t, c, v1alpha1.ReasonNoProgram, "/d: the store answers 404 Not Found", second)
	store.Put("d", text(260, 300))
	reports(t, c, v1alpha1.ReasonApplied, "edge-3 runs", third)
	want(t, c, "edge-4")
	reports(t, c, v1alpha1.ReasonNoProgram, "/e: the object has the SHA-256", third)
	if err := hasTable(c, t, third, 563); err != nil {
		t.Error(err)
	}
	p.stop()

	store.Remove("a")
	store.Remove("d")
	p.startAgent(t, agenttest.NewCluster(t)) // a cluster that says nothing: program and table are on disk
	p.engine.Restart()
	agenttest.Eventually(t, func() error { return agenttest.Wants(p.engine.Runs(), third) })
	files, err := filepath.Glob(filepath.Join(p.dir, "programs", "*.fib"))
	current := filepath.Join(p.dir, "programs", fmt.Sprintf("%x.fib", third.GetFibs()[0].GetHash()))
	if err != nil || !slices.Contains(files, current) || len(files) > 2 {
		t.Errorf("the tables on disk are %v (%v), want those of the current program and of the one before at most", files, err)
	}
}

// A table of the Internet behind 8,550 rules, and 1,000 of its routes that change: how long does it take until the engine runs them?
func TestTheInternetsRoutesAreSoonInForce(t *testing.T) {
	f, err := os.Open("../../test/data/routes/table.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := routes.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	const neighbours = 16
	texts := make([]bytes.Buffer, neighbours)
	for i, p := range table {
		fmt.Fprintln(&texts[i%neighbours], p)
	}
	store := agenttest.NewStore(t)
	fields := make([]string, neighbours)
	for i := range texts {
		fields[i] = store.Put(fmt.Sprint("full-", i), texts[i].Bytes())
	}
	acl, err := filepath.Abs("../../test/data/classbench/acl1_8550")
	if err != nil {
		t.Fatal(err)
	}
	rules := "  - {name: fw, firewall: {rulesFrom: {file: " + acl + ", format: ClassBench, actions: OddAcceptEvenDrop}}}"
	began := time.Now()
	first := agenttest.Stored(t, routed(rules, "fw, ", fields...))
	t.Logf("compiled in %s", time.Since(began))
	lines := bytes.SplitAfter(texts[5].Bytes(), []byte("\n"))
	for i := range 1000 {
		lines[i*50] = nil
	}
	fields[5] = store.Put("changed", bytes.Join(lines, nil))
	second := agenttest.Stored(t, routed(rules, "fw, ", fields...))
	c := agenttest.NewCluster(t, agenttest.Instance("edge-1"), agenttest.ChainProgram(t, "edge-1", first), agenttest.ChainProgram(t, "edge-2", second))
	p := &pod{dir: agenttest.Folder(t)}
	p.engine = agenttest.StartWith(t, filepath.Join(p.dir, "s"), "5", agenttest.Quiet, "--memory", "512", "--buffers", "2047", "--rx-desc", "64", "--tx-desc", "64", "--idle-sleep", "2000")
	began = time.Now()
	p.startAgent(t, c)
	inForce := func(want *delivery.Program) time.Duration {
		t.Helper()
		agenttest.Eventually(t, func() error {
			if s := p.loader.State(); s.Hash != want.Hash {
				return errors.Join(fmt.Errorf("program %.10s is in force, want %.10s", s.Hash, want.Hash), s.Wanted.Err, s.Refused)
			}
			return nil
		})
		return time.Since(began)
	}
	t.Logf("in force after %s; the engine built for %s", inForce(first), time.Duration(p.loader.State().Loaded.GetBuildNs()))
	agenttest.Eventually(t, func() error { return hasTable(c, t, first, int64(len(table))+3) })
	began = time.Now()
	want(t, c, "edge-2")
	t.Logf("1,000 routes changed in %s; the engine built for %s", inForce(second), time.Duration(p.loader.State().Loaded.GetBuildNs()))
}
