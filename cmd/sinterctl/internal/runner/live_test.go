package runner

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/enginetest"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
	"github.com/sinter-nfv/sinter/test/routes"
)

const (
	testData = "../../../../test/data"
	liveHead = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: live}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/8, gateway: 10.0.0.2, neighbors: [{address: 10.0.0.2, mac: "02:00:00:00:00:aa"}]}
`
	aclChain = liveHead + `  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1, neighbors: [{address: 203.0.113.1, mac: "02:00:00:00:00:bb"}]}
  functions:
  - name: fw
    firewall:
      rules:
      - {name: replies, from: Outside, action: Accept}
      - {name: staff, from: Inside, source: [10.1.0.0/16], action: Accept}
      rulesFrom: {file: acl, format: ClassBench, from: Inside, actions: OddAcceptEvenDrop}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [203.0.113.64/28]}}
  path: [inside, fw, rt, nat, outside]
`
)

// change is a chain of which one line of a file changes.
type change struct {
	chain string
	files map[string][]byte
	file  string               // with the line that changes
	at    int                  // its index
	to    string               // what it becomes: marked packets fare otherwise then
	also  func(lines [][]byte) // what else becomes of the file; nil: nothing
}

// ruleChange is a firewall with 8,550 rules; one in the middle accepts what the marked host sends, or not.
func ruleChange(tb testing.TB) change {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(testData, "classbench/acl1_8550"))
	if err != nil {
		tb.Fatal(err)
	}
	return change{
		chain: aclChain, files: map[string][]byte{"acl": text},
		file: "acl", at: 4274, to: "@10.9.9.9/32\t0.0.0.0/0\t0 : 65535\t0 : 65535\t0x00/0x00\t0x0000/0x0000\n", // an odd line accepts
	}
}

const neighbours = 16

// routeChange is a router with all routes of the Internet; that to the marked packets' destination leads to nowhere, or is another one.
func routeChange(tb testing.TB) change {
	tb.Helper()
	f, err := os.Open(filepath.Join(testData, "routes/table.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	table, err := routes.Read(f)
	if err != nil {
		tb.Fatal(err)
	}
	var texts [neighbours]bytes.Buffer
	for _, p := range table {
		a := p.Addr().As4()
		fmt.Fprintln(&texts[(binary.BigEndian.Uint32(a[:])>>8+uint32(p.Bits()))*0x9e3779b1>>28], p)
	}
	var known, from []string
	c := change{file: "discarded", files: map[string][]byte{"discarded": []byte("198.51.100.0/25\n198.51.100.128/25\n")}, at: 1, to: "198.18.9.0/24\n"}
	for i := range texts {
		name := fmt.Sprintf("routes-%d", i)
		c.files[name] = texts[i].Bytes()
		known = append(known, fmt.Sprintf(`{address: 203.0.113.%d, mac: "02:00:00:00:01:%02x"}`, 16+i, i))
		from = append(from, fmt.Sprintf("{file: %s, port: outside, via: 203.0.113.%d}", name, 16+i))
	}
	c.chain = liveHead + fmt.Sprintf(`  - {name: outside, address: 203.0.113.2/24, neighbors: [%s]}
  functions:
  - name: rt
    router:
      routes: [{prefix: 0.0.0.0/0, port: outside, via: 203.0.113.16}, {prefix: 10.0.0.0/8, port: inside}]
      routesFrom: [{file: discarded, type: Discard}, %s]
  path: [inside, rt, outside]
`, strings.Join(known, ", "), strings.Join(from, ", "))
	return c
}

// routesChange is routeChange with 1,000 routes of a neighbour that become longer by a bit.
func routesChange(tb testing.TB) change {
	tb.Helper()
	c := routeChange(tb)
	c.file, c.at = "routes-5", 0
	longer := func(line []byte) []byte {
		p := netip.MustParsePrefix(strings.TrimSpace(string(line)))
		return fmt.Appendln(nil, netip.PrefixFrom(p.Addr(), min(p.Bits()+1, 32)))
	}
	lines := bytes.SplitAfter(c.files[c.file], []byte("\n"))
	c.to = string(longer(lines[0]))
	c.also = func(lines [][]byte) {
		for i := 1; i < 1000; i++ {
			at := i * (len(lines) - 1) / 1000
			lines[at] = longer(lines[at])
		}
	}
	return c
}

// liveRig is a running chain whose files are watched.
type liveRig struct {
	tb     testing.TB
	dir    string
	change change
	said   chan string
	socket string
}

// Flows of the load: one in 32 is marked.
const (
	liveFlows  = 2048
	markedEach = 32
)

// frames are of flows that the chain passes, whatever the marked ones fare.
func frames() (out [][]byte) {
	for i := range uint32(liveFlows) {
		src, dst := uint32(10)<<24|1<<16|i, uint32(198)<<24|18<<16|1<<8|i%200
		if i%markedEach == 0 {
			src, dst = 10<<24|9<<16|9<<8|9, 198<<24|18<<16|9<<8|1
		}
		out = append(out, enginetest.UDP(src, dst, uint16(2000+i), 53))
	}
	return out
}

// run runs the chain, with as many packets as its worker can do, or none.
func (c change) run(tb testing.TB, loaded bool) *liveRig {
	tb.Helper()
	if _, err := engine.Find("sinter-engine", engineDir); err != nil {
		tb.Skipf("the engine is not built (make engine): %v", err)
	}
	dir, err := os.MkdirTemp("", "live") // a socket's path must be short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &liveRig{tb: tb, dir: dir, change: c, said: make(chan string, 1000), socket: filepath.Join(dir, "engine.sock")}
	r.write("chain.yaml", []byte(c.chain))
	for name, text := range c.files {
		r.write(name, text)
	}
	device := "net_null0,no-rx=1"
	if loaded {
		path := filepath.Join(dir, "in.pcap")
		if err := packets.WriteCapture(path, frames()); err != nil {
			tb.Fatal(err)
		}
		device = fmt.Sprintf("net_pcap0,rx_pcap=%s,infinite_rx=1", path)
	}
	config := Config{
		Input: compile.Input{Paths: []string{filepath.Join(dir, "chain.yaml")}}, Every: time.Hour, View: silent{}, Watch: true,
		Binds: map[string]string{"inside": device, "outside": "net_null1,no-rx=1"},
		Engine: engine.Config{
			Dir: engineDir, Socket: r.socket, Workers: 1, NoHuge: true, EAL: []string{"--no-pci", "--no-telemetry"}, Log: tb.Output(),
		},
		Say: func(format string, args ...any) { r.said <- fmt.Sprintf(format, args...) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, config, nil) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("the chain did not stop cleanly: %v", err)
		}
	})
	r.wait("running chain live")
	return r
}

// silent is a view that shows nothing.
type silent struct{}

func (silent) Show(*programpb.Program, *controlpb.Stats, *controlpb.Stats) error { return nil }

func (r *liveRig) write(name string, text []byte) {
	r.tb.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		r.tb.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // so that nobody reads half of it
		r.tb.Fatal(err)
	}
}

// wait waits until something is said. Warnings are not what is waited for.
func (r *liveRig) wait(words string) string {
	r.tb.Helper()
	over := time.After(2 * time.Minute)
	for {
		select {
		case s := <-r.said:
			if strings.HasPrefix(s, "warning: ") || readAgain(s) {
				continue
			}
			if !strings.Contains(s, words) {
				r.tb.Fatalf("it said %q, want %q", s, words)
			}
			return s
		case <-over:
			r.tb.Fatalf("it did not say %q", words)
		}
	}
}

// turn changes the line, or changes it back. It tells how soon after the file was written the engine answered that all packets go by the new
// program, and what was said.
func (r *liveRig) turn(changed bool) (time.Duration, string) {
	r.tb.Helper()
	text := r.change.files[r.change.file]
	if changed {
		lines := bytes.SplitAfter(text, []byte("\n"))
		lines[r.change.at] = []byte(r.change.to)
		if r.change.also != nil {
			r.change.also(lines)
		}
		text = bytes.Join(lines, nil)
	}
	r.write(r.change.file, text)
	began := time.Now()
	said := r.wait("reloaded: ")
	return time.Since(began), said
}

func (r *liveRig) stats() *controlpb.Stats {
	r.tb.Helper()
	c, err := control.Dial(r.tb.Context(), r.socket)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer c.Close()
	s, err := c.Stats(r.tb.Context())
	if err != nil {
		r.tb.Fatal(err)
	}
	return s
}

// dropped are the packets that were dropped, by reason, and how many came.
func (r *liveRig) dropped() (reasons map[string]uint64, received uint64) {
	s := r.stats()
	reasons = map[string]uint64{}
	for _, d := range s.GetDrops() {
		reasons[d.GetReason()] += d.GetPackets()
	}
	for _, p := range s.GetPorts() {
		received += p.GetRxPackets()
	}
	return reasons, received
}

// after are the drops some time later: when packets of the rule have come that would have been dropped, if they still are.
func (r *liveRig) after(drops uint64, passed bool) (reasons map[string]uint64, received uint64) {
	for over := time.Now().Add(20 * time.Second); ; {
		time.Sleep(50 * time.Millisecond)
		if reasons, received = r.dropped(); passed || reasons["fw/drop"] > drops || time.Now().After(over) {
			return reasons, received
		}
	}
}

// A rule changes while the worker has as much to do as it can. Packets of other rules are all passed, by the old program or the new one, and the
// sessions stay. Those of the rule fare as it says from when the change is told to be live.
func TestARuleChangesUnderFullLoadAndNothingElseIsDropped(t *testing.T) {
	r := ruleChange(t).run(t, true)
	turns := func(changed bool) {
		took, said := r.turn(changed)
		t.Log(took, said)
		if !strings.Contains(said, " 0 dropped;") {
			t.Errorf("sessions were dropped: %s", said)
		}
		before, _ := r.dropped()
		after, received := r.after(before["fw/drop"], changed)
		for reason, n := range after {
			if most := received/markedEach + 64; reason != "fw/drop" || n > most {
				t.Errorf("%d packets were dropped as %s; want %d as fw/drop at most, those of the rule", n, reason, most)
			}
		}
		if rises := after["fw/drop"] > before["fw/drop"]; rises == changed {
			t.Errorf("packets of the rule are dropped: %v; want %v", rises, !changed)
		}
	}
	for range 5 {
		turns(true)
		turns(false)
	}
}

// The same of a route of a table with all routes of the Internet: the engine makes the new table of the one that it runs.
func TestARouteOfAFullTableChangesUnderFullLoadAndNothingElseIsDropped(t *testing.T) {
	const discarded = "rt/discard"
	r := routeChange(t).run(t, true)
	for n := range 6 {
		changed := n%2 == 0
		took, said := r.turn(changed)
		t.Log(took, said)
		before, _ := r.dropped()
		after, received := before, uint64(0)
		for over := time.Now().Add(20 * time.Second); time.Now().Before(over); {
			time.Sleep(50 * time.Millisecond)
			if after, received = r.dropped(); !changed || after[discarded] > before[discarded] {
				break
			}
		}
		for reason, n := range after {
			if most := received/markedEach + 64; reason != discarded || n > most {
				t.Errorf("%d packets were dropped as %s; want %d as %s at most, those to the route", n, reason, most, discarded)
			}
		}
		if rises := after[discarded] > before[discarded]; rises != changed {
			t.Errorf("packets to the route are dropped: %v; want %v", rises, changed)
		}
	}
}

var stages = regexp.MustCompile(`compiled in (\S+), built in (\S+), swapped in (\S+),`)

func (c change) bench(b *testing.B, loaded bool) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as sinterctl does
	r := c.run(b, loaded)
	times := map[string][]time.Duration{}
	r.turn(true)
	r.turn(false)
	for n := 0; b.Loop(); n++ {
		took, said := r.turn(n%2 == 0)
		times["live"] = append(times["live"], took)
		m := stages.FindStringSubmatch(said)
		for i, stage := range []string{"compile", "build", "swap"} {
			d, err := time.ParseDuration(m[i+1])
			if err != nil {
				b.Fatal(err)
			}
			times[stage] = append(times[stage], d)
		}
	}
	for stage, list := range times {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, stage+"-ms")
		b.ReportMetric(float64(list[0].Microseconds())/1000, stage+"-least-ms")
	}
}

// How soon is a change live after its file was written, and what takes the time (medians, and the least)? Run it on a machine that does nothing else.
func BenchmarkLive(b *testing.B) {
	b.Run("rule/idle", func(b *testing.B) { ruleChange(b).bench(b, false) })
	b.Run("rule/loaded", func(b *testing.B) { ruleChange(b).bench(b, true) })
	b.Run("route/idle", func(b *testing.B) { routeChange(b).bench(b, false) })
	b.Run("route/loaded", func(b *testing.B) { routeChange(b).bench(b, true) })
	b.Run("routes/idle", func(b *testing.B) { routesChange(b).bench(b, false) })
	b.Run("routes/loaded", func(b *testing.B) { routesChange(b).bench(b, true) })
}
