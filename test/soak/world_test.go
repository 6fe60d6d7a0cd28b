package soak

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/cpu"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// chain has several kinds of state, and a function of somebody else. What changes from swap to swap stands for the words in capitals.
const chain = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: soak}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24, mtu: 1400}
  - {name: ips-inside, wire: true}
  - {name: ips-outside, wire: true}
  functions:
  - name: fw
    firewall:
      stateful: true
      rules:
      - {from: Inside, protocol: udp, destinationPorts: [7001], action: ACTION}RULES
      - {from: Inside, action: Accept}
      default: Drop
  - {name: busy, connectionLimiter: {maxPerHost: 4000}}
  - name: rate
    rateLimiter:
      limits:
      - {name: discard, protocol: udp, destinationPorts: [9], rate: RATE}
  - {name: ips, blackbox: {inside: ips-inside, outside: ips-outside}}
  - {name: nat, napt: {pool: [198.51.100.16-198.51.100.23]}}
  path: [inside, fw, busy, rate, ips, nat, outside]
`

// variant is the chain as it is after the n-th swap. No change is one for flows that lanes have.
func variant(n int) string {
	var rules strings.Builder
	for i := range n % 5 * 40 {
		fmt.Fprintf(&rules, "\n      - {from: Inside, destination: [172.%d.%d.0/24], action: Drop}", 16+i/200, i%200)
	}
	return strings.NewReplacer(
		"ACTION", []string{"Accept", "Drop"}[n%2],
		"RULES", rules.String(),
		"RATE", fmt.Sprintf("%dkpps", 1+n%3),
	).Replace(chain)
}

// The sides of the chain.
const (
	inside = iota
	outside
)

var names = [...]string{inside: "inside", outside: "outside"}

// own are the chain's addresses.
var own = [...]uint32{inside: number("10.1.0.1"), outside: number("198.51.100.1")}

func number(a string) uint32 { return packets.Number(netip.MustParseAddr(a)) }

// side is a network of the chain, whose hosts are all this test.
type side struct {
	wire   *lab.Wire
	router packets.MAC // the engine's
	queue  [][]byte
	// Frames of hosts, and ICMP errors that the engine has made. Its questions and answers by ARP are not counted.
	sent, received, errors uint64
}

type world struct {
	sides   [2]*side
	ips     [2]*lab.Wire // the function of somebody else: it gives the frames of each wire to the other
	engine  *lab.Engine
	dir     string
	swaps   int
	swapped time.Time
	moves   int // of all shards
	moved   time.Time
	mark    int // in what sinterctl says
}

func newWorld(t *testing.T) *world {
	t.Helper()
	lab.Require(t)
	if len(cpu.Usable(t)) < 2 {
		t.Skip("needs two CPUs: one for each of the engine's workers")
	}
	w := &world{dir: t.TempDir()}
	box := lab.New(t, "engine")
	var binds []string
	cable := func(name string) (*lab.Wire, packets.MAC) {
		s := lab.New(t, name)
		lab.Cable(t, lab.End{Space: s, Device: "eth0"}, lab.End{Space: box, Device: name})
		binds = append(binds, name+"="+name)
		return s.Wire(t, "eth0", lab.LargeSlot), box.MAC(t, name)
	}
	for i, name := range names {
		w.sides[i] = new(side)
		w.sides[i].wire, w.sides[i].router = cable(name)
		w.ips[i], _ = cable("ips-" + name)
	}
	w.write(t, 0)
	w.engine = lab.StartSinterctl(t, box, w.path(), binds, "--workers", "2")
	w.swapped = time.Now()
	return w
}

func (w *world) path() string { return filepath.Join(w.dir, "chain.yaml") }

// write has the file change at once, as editors and ConfigMaps do.
func (w *world) write(t *testing.T, n int) {
	t.Helper()
	next := w.path() + ".next"
	if err := os.WriteFile(next, []byte(variant(n)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, w.path()); err != nil {
		t.Fatal(err)
	}
}

// swap has another program loaded if a second has passed, and the one before is live.
func (w *world) swap(t *testing.T) {
	t.Helper()
	if time.Since(w.swapped) < time.Second {
		return
	}
	w.live(t)
	w.swapped = time.Now()
	w.mark = w.engine.Process.Mark()
	w.swaps++
	w.write(t, w.swaps)
}

// live waits until the last program is.
func (w *world) live(t *testing.T) {
	t.Helper()
	if w.swaps == 0 {
		return
	}
	said := w.engine.Process.Said(t, w.mark, "reloaded: ", "reload refused", "reload failed", "changed while it was read")
	if !strings.Contains(said, "reloaded: ") || !strings.Contains(said, " 0 dropped;") {
		t.Fatalf("swap %d: sinterctl said %q", w.swaps, said)
	}
}

// send sends what waits on both sides, no more than the engine takes: frames that a device loses would show nothing.
func (w *world) send(t *testing.T) {
	t.Helper()
	for _, s := range w.sides {
		for len(s.queue) > 0 {
			n := min(len(s.queue), lab.Batch)
			if err := s.wire.Send(s.queue[:n]...); err != nil {
				t.Fatal(err)
			}
			s.sent += uint64(n)
			s.queue = s.queue[n:]
		}
		s.queue = s.queue[:0]
	}
	for end := time.Now().Add(lab.Patience); ; {
		w.pass(t)
		err := w.taken(t)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// queued tells whether frames are still to be sent.
func (w *world) queued() bool { return len(w.sides[inside].queue)+len(w.sides[outside].queue) > 0 }

// taken says what the engine has not taken yet.
func (w *world) taken(t *testing.T) error {
	t.Helper()
	for _, p := range w.engine.Counters(t).GetPorts() {
		for i, s := range w.sides {
			if got := p.GetRxPackets() + p.GetRxMissed(); p.GetInterface() == names[i] && got < s.sent {
				return fmt.Errorf("the engine has taken %d of %d frames of %s", got, s.sent, names[i])
			}
		}
	}
	return nil
}

// move gives each shard to a worker by lot.
func (w *world) move(t *testing.T, rng *rand.Rand) {
	t.Helper()
	if time.Since(w.moved) < 700*time.Millisecond {
		return
	}
	w.moved = time.Now()
	stats := w.engine.Counters(t)
	var moves []*controlpb.ShardMove
	for i := range stats.GetShards() {
		moves = append(moves, &controlpb.ShardMove{Shard: uint32(i), Worker: uint32(rng.IntN(len(stats.GetWorkers())))})
	}
	if _, err := w.engine.MoveShards(t.Context(), moves); err != nil {
		t.Fatal(err)
	}
	w.moves++
}

// pass is the work of the function of somebody else.
func (w *world) pass(t *testing.T) {
	t.Helper()
	for i, wire := range w.ips {
		for {
			frames := wire.Poll()
			if len(frames) == 0 {
				break
			}
			if err := w.ips[1-i].Send(frames...); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// receive gives the frames of hosts to take. The engine's questions by ARP it answers, as all hosts are there but those that are dead.
func (w *world) receive(take func(at int, v packets.View)) {
	for at, s := range w.sides {
		for {
			frames := s.wire.Poll()
			if len(frames) == 0 {
				break
			}
			for _, f := range frames {
				v, ok := packets.Parse(f)
				switch {
				case v.EtherType == packets.EtherARP:
					s.answer(f)
				case ok && v.EtherType == packets.EtherIPv4 && isError(v.IP):
					s.errors++
				default:
					s.received++
					take(at, v)
				}
			}
		}
	}
}

// isError tells whether the engine made a packet that says why it dropped another one. ("Time exceeded" is the packet whose time is, and is
// not dropped.)
func isError(p packets.IPv4) bool {
	return p.Proto == packets.ProtoICMP && len(p.Payload) > 0 && p.Payload[0] == packets.ICMPUnreachable && (p.Src == own[inside] || p.Src == own[outside])
}

// answer answers a question by ARP.
func (s *side) answer(frame []byte) {
	arp := frame[14:]
	if len(arp) < 28 || binary.BigEndian.Uint16(arp[6:]) != packets.ARPRequest {
		return
	}
	asker, target := binary.BigEndian.Uint32(arp[14:]), binary.BigEndian.Uint32(arp[24:])
	if isDead(target) {
		return
	}
	s.queue = append(s.queue, packets.Ethernet(s.router, macOf(target), nil, packets.EtherARP,
		packets.ARP(packets.ARPReply, macOf(target), target, s.router, asker), nil))
}

// macOf is the MAC address of a host.
func macOf(a uint32) packets.MAC {
	return packets.MAC{0x0a, 1, byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}
}

// account is how many frames were sent, and what became of them.
type account struct {
	sent, received, dropped, missed uint64
	// ICMP errors that the engine has made, and those that came to hosts: they may be dropped, too.
	made, came uint64
	drops      map[string]uint64 // by reason
}

// answered are reasons under which packets are dropped about which the engine makes an ICMP error.
var answered = []string{"host-unreachable", "too-big-answered"}

func (w *world) account(t *testing.T) account {
	t.Helper()
	s := w.engine.Counters(t)
	a := account{drops: dropsOf(s)}
	for i, at := range w.sides {
		a.sent += at.sent
		a.received += at.received
		a.came += at.errors
		for _, p := range s.GetPorts() {
			if p.GetInterface() == names[i] {
				a.missed += p.GetRxMissed()
			}
		}
	}
	for _, n := range a.drops {
		a.dropped += n
	}
	for _, reason := range answered {
		a.made += a.drops[reason]
	}
	return a
}

func dropsOf(s *controlpb.Stats) map[string]uint64 {
	out := map[string]uint64{}
	for _, d := range s.GetDrops() {
		out[d.GetReason()] = d.GetPackets()
	}
	return out
}

// lost is how many packets were lost because a worker had no CPU: by devices that it did not ask, or before a full ring that it did not read
// (docs/sharding.md). The harness and sinterctl work beside the two workers.
func (a account) lost() uint64 { return a.missed + a.drops["handover-full"] }

// open is what is still on its way: zero when all frames are accounted for.
func (a account) open() int64 {
	return int64(a.sent+a.made) - int64(a.received+a.came+a.dropped+a.missed)
}

func (a account) String() string {
	return fmt.Sprintf("%d frames sent and %d errors made, %d and %d received, %d dropped, %d missed: %d without a fate; dropped %v",
		a.sent, a.made, a.received, a.came, a.dropped, a.missed, a.open(), a.drops)
}

// examine says what is known where a packet of a lane has no answer.
func (w *world) examine(t *testing.T, l *lane) {
	t.Helper()
	list, err := w.engine.Neighbors(t.Context())
	for _, n := range list {
		if n.GetAddress() == l.flow.Src || n.GetAddress() == l.flow.Dst {
			t.Logf("the engine has neighbor %v", n)
		}
	}
	t.Logf("the engine has %d neighbors (%v); %s", len(list), err, w.account(t))
	said := w.engine.Process.Text()
	t.Logf("sinterctl said last:\n%s", said[max(0, len(said)-4096):])
}
