package netns

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/test/cpu"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// ispChain is SNF's chain 3 (Figure 9) with its largest rule set; %s is what the changing rule does.
const ispChain = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: isp}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/8, gateway: 10.0.0.2, neighbors: [{address: 10.0.0.2, mac: "02:00:00:00:00:aa"}]}
  - {name: outside, address: 203.0.113.2/24, gateway: 203.0.113.1, neighbors: [{address: 203.0.113.1, mac: "02:00:00:00:00:bb"}]}
  functions:
  - name: fw
    firewall:
      rules:
      - {name: changing, from: Inside, protocol: udp, destinationPorts: [7001], action: %s}
      - {name: staff, from: Inside, source: [10.0.0.0/8], action: Accept}
      - {name: replies, from: Outside, action: Accept}
      rulesFrom: {file: acl, format: ClassBench, from: Inside, actions: OddAcceptEvenDrop}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [203.0.113.64/28]}}
  path: [inside, fw, rt, nat, outside]
`

// The chain's world: MAC addresses of its neighbours (the devices have others: their kernels
// must not look), the port of the changing rule, the reason under which it drops.
var (
	hostMAC    = packets.MAC{2, 0, 0, 0, 0, 0xaa}
	gatewayMAC = packets.MAC{2, 0, 0, 0, 0, 0xbb}
)

const (
	markedPort = 7001
	dropReason = "fw/drop"
	ispHost    = "10.0.0.2"
)

// Flows of the test under load.
const (
	aclFlows    = 512 // each of another rule of the ACL
	staffFlows  = 128 // answered
	markedFlows = 64  // those of the changing rule, answered, too
)

// isp is the chain under load.
type isp struct {
	dir     string
	chain   string
	engine  *lab.Engine
	worker  cpu.Worker
	gen     *generator
	session synth.Session
}

func startISP(t *testing.T) *isp {
	t.Helper()
	lab.Require(t)
	cpus := cpu.Usable(t)
	if len(cpus) < 2 {
		t.Skip("needs two CPUs: one for the engine's worker, one for the rest")
	}
	cpu.Confine(t, cpus[0])
	in, out, box := lab.New(t, "inside"), lab.New(t, "outside"), lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: in, Device: "eth0"}, lab.End{Space: box, Device: "inside"})
	lab.Cable(t, lab.End{Space: out, Device: "eth0"}, lab.End{Space: box, Device: "outside"})
	s := &isp{dir: t.TempDir()}
	acl := aclText(t)
	write(t, s.dir, "acl", acl)
	s.chain = s.write(t, "Accept")
	s.engine = lab.StartSinterctl(t, box, s.chain, officeBinds, "--", "-l", fmt.Sprintf("%d,%d", cpus[0], cpus[1]))
	s.worker = cpu.FavourWorkers(t, s.engine.Process.PID())[0]
	s.gen = newGenerator(in.Wire(t, "eth0", lab.SmallSlot), out.Wire(t, "eth0", lab.SmallSlot), box.MAC(t, "inside"), box.MAC(t, "outside"))
	for _, f := range accepted(t, acl, aclFlows) {
		s.gen.add(f, false)
	}
	for i := range uint16(staffFlows) {
		s.gen.add(tuple{src: number(ispHost), dst: number("198.18.0.1") + uint32(i), proto: packets.ProtoUDP, sport: 2000 + i, dport: 53}, true)
	}
	for i := range uint16(markedFlows) {
		f := tuple{src: number(ispHost), dst: number("198.18.1.1"), proto: packets.ProtoUDP, sport: 4000 + i, dport: markedPort}
		s.gen.add(f, true).marked = true
	}
	return s
}

// write writes the chain's file; sinterctl sees it.
func (s *isp) write(t *testing.T, action string) string {
	t.Helper()
	return write(t, s.dir, "chain.yaml", fmt.Sprintf(ispChain, action))
}

func TestARuleChangesUnderLoadWithoutLosingAPacket(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as sinterctl does
	s := startISP(t)
	s.run(t, 20_000, uint64(4*len(s.gen.lanes))) // opens all flows
	if err := s.gen.verdict(false); err != nil {
		t.Fatal(err)
	}
	t.Run("by sinterctl when the file changes", func(t *testing.T) {
		s.underLoad(t, func(action string) {
			mark := s.engine.Process.Mark()
			s.write(t, action)
			t.Log(s.engine.Process.Said(t, mark, "reloaded", "reload"))
		})
	})
	bundles := map[string]*manifest.Bundle{}
	for _, action := range []string{"Accept", "Drop"} {
		// Not the file that sinterctl watches.
		bundles[action] = lab.Parse(t, write(t, s.dir, action+".yaml", fmt.Sprintf(ispChain, action)))
	}
	t.Run("by the compiler and the control socket", func(t *testing.T) {
		s.underLoad(t, func(action string) { s.load(t, bundles[action]) })
	})
	t.Run("each packet of the changed rule is counted under its reason", func(t *testing.T) {
		for _, action := range changes {
			s.load(t, bundles[action])
		}
		s.load(t, bundles["Drop"])
		s.countsDrops(t)
	})
}

// load makes a parsed chain's program live, and logs how long each step took. How soon a change has to be live is for
// TestAChangedRuleIsLiveInTimeAtFourFifthsOfTheWorkersLoad: here the generator takes most of the CPU that compiler and
// engine build on.
func (s *isp) load(t *testing.T, b *manifest.Bundle) {
	t.Helper()
	began := time.Now()
	p := lab.CompileAgain(t, &s.session, b)
	sent := time.Now()
	loaded := s.engine.Load(t, p)
	live := time.Since(began)
	build, swap := time.Duration(loaded.GetBuildNs()), time.Duration(loaded.GetSwapNs())
	t.Logf("live %s after parsing: graph %s, synthesis and encoding %s, engine's build %s, swap %s, the way to it %s; %d sessions kept, %d dropped",
		round(live), round(p.Took.Build), round(p.Took.Synthesize), round(build), round(swap),
		round(time.Since(sent)-build-swap), loaded.GetSessionsKept(), loaded.GetSessionsDropped())
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// highestRate is the highest rate at which nothing is lost, the packets of both directions counted, as far as the
// generator gets. 80 % of it must be carried for longer, too.
func (s *isp) highestRate(t *testing.T) float64 {
	t.Helper()
	good := 25_000.0
	for step := 2.0; step > 1.1; {
		aim := good * step
		carried := s.carries(t, aim, 300*time.Millisecond)
		good = max(good, carried)
		if carried < 0.95*aim {
			step = math.Sqrt(step)
		}
	}
	for s.carries(t, 0.8*good, 1500*time.Millisecond) == 0 {
		if good *= 0.85; good < 10_000 {
			t.Fatalf("packets are lost even at %.0f packets/s", good)
		}
	}
	return good
}

// carries is the rate without loss that comes of trying a rate, twice if need be; 0 if packets are lost.
func (s *isp) carries(t *testing.T, rate float64, d time.Duration) float64 {
	t.Helper()
	best := 0.0
	for range 2 {
		l := s.run(t, rate, uint64(rate*d.Seconds()))
		if s.gen.verdict(false) == nil {
			best = max(best, l.rate())
		}
		if best >= 0.95*rate {
			break
		}
	}
	return best
}

// outcome is a load, or why there was none.
type outcome struct {
	load
	err error
}

// start has the generator run on a thread of its own.
func (s *isp) start(rate float64, count uint64, stop <-chan struct{}) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		l, err := s.gen.run(rate, count, stop)
		done <- outcome{l, err}
	}()
	return done
}

func (s *isp) run(t *testing.T, rate float64, count uint64) load {
	t.Helper()
	r := <-s.start(rate, count, nil)
	if r.err != nil {
		t.Fatal(r.err)
	}
	s.noOverflow(t)
	return r.load
}

func (s *isp) noOverflow(t *testing.T) {
	t.Helper()
	if n := s.gen.overflow(t); n > 0 {
		t.Fatalf("the generator failed to read %d packets: the test knows nothing", n)
	}
}

// changes of the rule under load; it ends as it began.
var changes = []string{"Drop", "Accept", "Drop", "Accept", "Drop", "Accept"}

// engineRing is how many frames wait for an engine that is kept from its CPU, on one interface.
const engineRing = 4096

// underLoad has a rule changed again and again while packets flow at 80 % of what can be carried, and wants all
// of them back. A loss while the worker was kept from its CPU for so long that its ring may have
// overflown proves nothing: that is tried again.
func (s *isp) underLoad(t *testing.T, change func(action string)) {
	t.Helper()
	const tries = 3
	for try := 1; ; try++ {
		full := s.highestRate(t)
		rate := 0.8 * full
		t.Logf("highest rate without loss: %.0f packets/s; changes at %.0f packets/s", full, rate)
		waited, err := s.changesAt(t, rate, change)
		if err == nil {
			return
		}
		err = fmt.Errorf("rule changed at %.0f packets/s, where the worker waited %s for its CPU: %w", rate, round(waited), err)
		if harmless := time.Duration(engineRing / rate * float64(time.Second)); waited < harmless || try == tries {
			t.Fatal(err)
		}
		t.Logf("try %d of %d proves nothing, the machine is busy: %.300s", try, tries, err)
	}
}

func (s *isp) changesAt(t *testing.T, rate float64, change func(action string)) (waited time.Duration, err error) {
	t.Helper()
	before := s.worker.Waited(t)
	stop := make(chan struct{})
	done := s.start(rate, math.MaxUint64, stop)
	for _, action := range changes {
		change(action)
		s.inForce(t, action)
	}
	close(stop)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	s.noOverflow(t)
	waited = s.worker.Waited(t) - before
	t.Logf("%d packets in %s (%.0f/s, the generator was late by %s in all), %d changes of the rule; the worker waited %s for its CPU",
		r.sent, round(r.took), r.rate(), round(r.delayed), len(changes), round(waited))
	return waited, s.gen.verdict(true)
}

// inForce waits until packets of the changing rule fare as it says: dropped under the firewall's reason, or
// through, by the binding that their flow has had all the time (see lane).
func (s *isp) inForce(t *testing.T, action string) {
	t.Helper()
	out, dropped := s.gen.markedOut.Load(), s.engine.Dropped(t, dropReason)
	lab.Until(t, lab.Patience, func() error {
		switch action {
		case "Accept":
			if s.gen.markedOut.Load() < out+3*markedFlows {
				return errors.New("flows that are allowed again do not get through")
			}
		case "Drop":
			if n := s.engine.Dropped(t, dropReason) - dropped; n < 3*markedFlows {
				return fmt.Errorf("%d packets dropped as %s since the rule says so", n, dropReason)
			}
		}
		return nil
	})
}

func (s *isp) countsDrops(t *testing.T) {
	t.Helper()
	before := s.engine.Dropped(t, dropReason)
	s.run(t, 20_000, 20_000)
	var want uint64
	for _, l := range s.gen.lanes {
		if l.marked {
			want += l.sent
			if l.next > 0 {
				t.Errorf("%d packets of %s got through", l.next, l)
			}
		}
	}
	if got := s.engine.Dropped(t, dropReason) - before; got != want {
		t.Errorf("%d packets are counted as %s, want %d", got, dropReason, want)
	}
	if err := s.gen.verdict(true); err != nil {
		t.Error(err)
	}
}
