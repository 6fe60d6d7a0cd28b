package walk_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/program"
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
	return parsed(tb, ispChain)
}

// parsed is a chain's graph. Its files are those of the repository's rule sets.
func parsed(tb testing.TB, text string) *graph.Graph {
	tb.Helper()
	bundle, findings := manifest.Parse("isp.yaml", []byte(text), func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("../../../test/data/classbench", name))
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

// yardstick is the processor time of work that is always the same, of the compiler's kind: sorting, and a map of small slices. Bounds that are
// told by it hold on slow machines and beside other work, too.
func yardstick(tb testing.TB) time.Duration {
	tb.Helper()
	const n = 1 << 20
	start := processorTime(tb)
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = rng.Uint64()
	}
	slices.Sort(numbers)
	lists := map[uint64][]uint64{}
	for _, x := range numbers {
		lists[x>>44] = append(lists[x>>44], x)
	}
	if len(lists) < n/4 {
		tb.Fatalf("%d lists", len(lists))
	}
	return processorTime(tb) - start
}

// cost is what a synthesis took of the processor, in yardsticks, and by how much the process has grown for it, in bytes.
type cost struct {
	yardsticks float64
	grown      int
}

// synthesizeTimed synthesizes until it took at most limit yardsticks, three times at most: what else runs makes memory slow, and so the
// processors' time longer. It returns the last result, and the cost of the fastest.
func synthesizeTimed(tb testing.TB, g *graph.Graph, limit float64) (r *synth.Result, least cost) {
	tb.Helper()
	const tries = 3
	least.yardsticks = math.Inf(1)
	for range tries {
		before := yardstick(tb)
		debug.FreeOSMemory() // what tests before this one used
		heap := held()
		start := processorTime(tb)
		var err error
		if r, err = synth.Synthesize(g, synth.Options{}); err != nil {
			tb.Fatal(err)
		}
		spent, grown := processorTime(tb)-start, held()-heap
		if took := 2 * float64(spent) / float64(before+yardstick(tb)); took < least.yardsticks {
			least = cost{took, grown}
		}
		tb.Logf("%v, %.1f yardsticks, grown by %d MB", spent, least.yardsticks, grown>>20)
		if least.yardsticks <= limit {
			break
		}
	}
	return r, least
}

// held is the memory, in bytes, that the process has of the system.
func held() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Sys - m.HeapReleased)
}

func TestAFirewallOf8550RulesIsSynthesizedInHalfASecond(t *testing.T) {
	g := largeChain(t)
	const limit = 2 // five times what it takes, and half a second on a machine where a yardstick takes 0.27 s
	r, took := synthesizeTimed(t, g, limit)
	for i, s := range r.Segments {
		t.Logf("%s: %d leaves, %d classes, %d boxes", s.Name, s.NumLeaves(), len(s.Classes), len(r.Program.Segments[i].Table.Classes))
	}
	t.Logf("%d warnings", len(r.Warnings))
	if took.grown > 300<<20 {
		t.Errorf("the process grew by %d MB, at most 300 are allowed", took.grown>>20)
	}
	if took.yardsticks > limit {
		t.Errorf("synthesis took %.1f yardsticks, at most %d are allowed", took.yardsticks, limit)
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

// fullTable is a router with as many routes as the Internet has, by 16 neighbours.
func fullTable(tb testing.TB) (*v1alpha1.ServiceChain, graph.Inputs) {
	tb.Helper()
	const neighbours = 16
	rng := rand.New(rand.NewPCG(3, 4))
	files := rules.Files{Prefixes: map[string][]netip.Prefix{}}
	for range 900_000 {
		a := netip.AddrFrom4([4]byte{byte(rng.IntN(200) + 1), byte(rng.Uint32()), byte(rng.Uint32()), 0})
		name := fmt.Sprintf("by%d", rng.IntN(neighbours))
		files.Prefixes[name] = append(files.Prefixes[name], netip.PrefixFrom(a, 16+rng.IntN(9)).Masked())
	}
	router := &v1alpha1.Router{}
	for i := range neighbours {
		router.RoutesFrom = append(router.RoutesFrom, v1alpha1.RoutesFrom{
			File: v1alpha1.FilePath(fmt.Sprintf("by%d", i)), Port: "outside", Via: v1alpha1.Address(fmt.Sprintf("203.0.113.%d", 10+i)),
		})
	}
	c := &v1alpha1.ServiceChain{}
	c.Name = "full"
	c.Spec = v1alpha1.ServiceChainSpec{
		Interfaces: []v1alpha1.Interface{
			{Name: "inside", Address: "10.0.0.1/24", MTU: 1500}, {Name: "outside", Address: "203.0.113.1/24", MTU: 1500},
		},
		Functions: []v1alpha1.Function{{Name: "rt", FunctionKinds: v1alpha1.FunctionKinds{Router: router}}},
		Path:      []v1alpha1.Endpoint{"inside", "rt", "outside"},
	}
	return c, graph.Inputs{Files: files}
}

// allocated is how many bytes a call allocates: on a busy machine as many as on an idle one.
func allocated(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

func TestARouteOfAFullTableCostsFewBytes(t *testing.T) {
	c, in := fullTable(t)
	var (
		g    *graph.Graph
		r    *synth.Result
		text []byte
	)
	built := allocated(func() {
		var found finding.List
		if g, found = graph.Build(c, in); g == nil {
			t.Fatal(found)
		}
	})
	made := allocated(func() {
		var err error
		if r, err = synth.Synthesize(g, synth.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	wrote := allocated(func() {
		var err error
		if text, err = program.Encode(r.Program); err != nil {
			t.Fatal(err)
		}
	})
	boxes := 0
	for _, s := range r.Program.Segments {
		boxes += len(s.GetTable().GetClasses()) + len(s.GetLow().GetClasses())
	}
	n := 0
	for _, node := range g.Nodes {
		if l, ok := node.Element.(element.Lookup); ok {
			n += len(l.Routes)
		}
	}
	t.Logf("%d routes, %d boxes: %d bytes for the graph, %d for the program, %d for its encoding, which has %d", n, boxes, built, made, wrote, len(text))
	if built > 200*n {
		t.Errorf("the graph took %d bytes for each route, at most 200 are allowed", built/n)
	}
	// The boxes themselves have 12 to 20 bytes, and are there for three segments, twice.
	if made > 250*n {
		t.Errorf("the synthesis took %d bytes for each route, at most 250 are allowed", made/n)
	}
	if wrote > len(text)+len(text)/8 {
		t.Errorf("the encoding took %d bytes, its result has %d", wrote, len(text))
	}
}

func BenchmarkFullTable(b *testing.B) {
	c, in := fullTable(b)
	b.ReportAllocs()
	for b.Loop() {
		g, _ := graph.Build(c, in)
		if _, err := synth.Synthesize(g, synth.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Lists whose rules differ in one column alone take memory in proportion to their number, however long they are.
func TestARuleOfALongListCostsFewBytes(t *testing.T) {
	const n, line = 20_000, "@%s\t%s\t0 : 65535\t%s\t%s\t0x0000/0x0000\n"
	const every, ports, all, tcp = "0.0.0.0/0", "0 : 65535", "0x00/0x00", "0x06/0xFF"
	for name, rule := range map[string]func(i int) string{
		"destinations alone": func(i int) string {
			return fmt.Sprintf(line, every, fmt.Sprintf("20.%d.%d.7/32", i>>8, i&255), ports, all)
		},
		"sources": func(i int) string {
			return fmt.Sprintf(line, fmt.Sprintf("20.%d.%d.7/32", i>>8, i&255), every, ports, all)
		},
		"ports": func(i int) string { return fmt.Sprintf(line, every, every, fmt.Sprintf("%d : %[1]d", i+1), tcp) },
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for i := range n {
				text.WriteString(rule(i))
			}
			bundle, findings := manifest.Parse("isp.yaml", []byte(ispChain), func(string) ([]byte, error) { return []byte(text.String()), nil })
			g, found := graph.Build(bundle.Chains[0], graph.Inputs{Functions: bundle.Functions, Files: bundle.Files})
			if err := append(findings, found...).Err(); err != nil {
				t.Fatal(err)
			}
			bytes := allocated(func() {
				if _, err := synth.Synthesize(g, synth.Options{}); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%d bytes for each rule", bytes/n)
			if bytes > 7_000*n {
				t.Errorf("the synthesis took %d bytes for each rule, at most 7,000 are allowed", bytes/n)
			}
		})
	}
}
