package netns

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// office is a firewall, a router and a NAPT between a host inside and one outside; its interface
// outside has a smaller MTU.
const office = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: office}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24, mtu: 1400}
  functions:
  - {name: fw, firewall: {rules: [{from: Inside, action: Accept}, {from: Outside, action: Accept}]}}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [198.51.100.16-198.51.100.19]}}
` + officePath

// Addresses of the office's world.
const (
	officeRouter  = "10.0.0.1"
	officeOutside = "198.51.100.1"
	officeHost    = "10.0.0.10"
	officePeer    = "198.51.100.80"
)

// agingTime is how long the engine remembers a neighbour that nobody uses (docs/elements.md, "ARP").
const agingTime = 60 * time.Second

type site struct {
	host, peer, box *lab.Space
	engine          *lab.Engine
}

// newSite lays the cables of an office chain; the engine is still to be started.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{host: lab.New(t, "host"), peer: lab.New(t, "peer"), box: lab.New(t, "engine")}
	lab.Cable(t, lab.End{Space: s.host, Device: "eth0", Address: officeHost + "/24"}, lab.End{Space: s.box, Device: "inside"})
	lab.Cable(t, lab.End{Space: s.peer, Device: "eth0", Address: officePeer + "/24"}, lab.End{Space: s.box, Device: "outside"})
	s.host.Run(t, "ip", "route", "add", "default", "via", officeRouter)
	s.peer.Sysctl(t, "net.ipv4.neigh.eth0.delay_first_probe_time", "600") // its probes would count as use
	return s
}

var officeBinds = []string{"inside=inside", "outside=outside"}

func TestNeighborsAndMTU(t *testing.T) {
	lab.Require(t, "ping")
	s := newSite(t)
	// The engine idles while other tests run: let it sleep long.
	s.engine = lab.StartEngine(t, s.box, officeBinds, "--idle-sleep", "2000")
	s.engine.Load(t, lab.Compile(t, lab.Parse(t, write(t, t.TempDir(), "chain.yaml", office))))
	t.Run("an interface answers ARP for its address and its NAPT pool, and for nothing else", s.answersARP)
	t.Run("a neighbour is resolved by the first packet to it", s.resolves)
	t.Run("who sends to a neighbour that does not answer is told", s.unresolved)
	t.Run("a packet that is too big and must not be fragmented is told the MTU", s.tooBig)
	t.Run("a neighbour that nobody uses is forgotten", func(t *testing.T) {
		if testing.Short() {
			t.Skip("-short: test_neigh_table has it on a clock that it sets; here it takes a minute")
		}
		s.host.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", officePeer)
		used := time.Now()
		t.Parallel() // waits for the other tests to end
		s.ages(t, used)
	})
}

func (s *site) answersARP(t *testing.T) {
	w := s.peer.Wire(t, "eth0", lab.LargeSlot)
	const sender = "198.51.100.99" // not the kernel's, which would answer for itself
	ask := func(target string) {
		m := packets.ARP(packets.ARPRequest, w.MAC, number(sender), packets.MAC{}, number(target))
		if err := w.Send(packets.Ethernet(packets.Broadcast, w.MAC, nil, packets.EtherARP, m, nil)); err != nil {
			t.Fatal(err)
		}
	}
	var answered []string
	var mac packets.MAC
	collect := func(f []byte) bool {
		v, ok := packets.Parse(f)
		if !ok || v.EtherType != packets.EtherARP || len(f) < 42 || binary.BigEndian.Uint16(f[20:]) != packets.ARPReply {
			return false
		}
		a := address(binary.BigEndian.Uint32(f[28:])).String()
		answered = append(answered, a)
		if len(answered) == 1 {
			mac = v.SrcMAC
		}
		if v.DstMAC != w.MAC || v.SrcMAC != mac || packets.MAC(f[22:28]) != mac {
			t.Errorf("the answer for %s gives another MAC address than the one before, or came to another host:\n%s", a, packets.Describe(f))
		}
		return a == officeOutside
	}
	// The last question is one that is answered: what came before it has come.
	for _, target := range []string{
		"198.51.100.16", "198.51.100.19", "198.51.100.20", "198.51.100.15", "10.0.0.1", officeOutside,
	} {
		ask(target)
	}
	w.Wait(t, "the ARP answer for "+officeOutside, collect)
	if got, want := strings.Join(answered, " "), "198.51.100.16 198.51.100.19 "+officeOutside; got != want {
		t.Errorf("ARP was answered for %s, want %s", got, want)
	}
}

func (s *site) resolves(t *testing.T) {
	if state := s.neighbor(t, officePeer); state != "" {
		t.Fatalf("the neighbour %s is known before a packet went to it: %s", officePeer, state)
	}
	s.host.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", officePeer)
	if state := s.neighbor(t, officePeer); state != "reachable" {
		t.Errorf("the neighbour %s is %q after a ping, want reachable", officePeer, state)
	}
}

// neighbor is the state of a neighbour, empty if the engine knows none.
func (s *site) neighbor(t *testing.T, a string) string {
	t.Helper()
	list, err := s.engine.Neighbors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		if n.GetAddress() == number(a) {
			return n.GetState()
		}
	}
	return ""
}

// unresolved has the host ping an address that nobody has: it is told so after three questions, and meanwhile
// no packet is dropped.
func (s *site) unresolved(t *testing.T) {
	const nobody = "198.51.100.200"
	before, unanswered := s.engine.Dropped(t, "host-unreachable"), s.engine.Dropped(t, "neighbor-unresolved")
	w := s.peer.Wire(t, "eth0", lab.LargeSlot)
	began := time.Now()
	out, err := s.host.Try("ping", "-n", "-c", "20", "-i", "0.1", "-W", "5", nobody)
	if err == nil {
		t.Fatalf("somebody answered for %s:\n%s", nobody, out)
	}
	if took := time.Since(began); took < 3*time.Second || took > 10*time.Second {
		t.Errorf("the host was told after %s, want 3 s", took)
	}
	if n := strings.Count(out, "From "+officeRouter+" icmp_seq="); n != 20 || !strings.Contains(out, "Destination Host Unreachable") {
		t.Errorf("ping was told %d times of 20:\n%s", n, out)
	}
	if n := s.engine.Dropped(t, "host-unreachable") - before; n != 20 {
		t.Errorf("%d packets are counted as host-unreachable, want 20", n)
	}
	if n := s.engine.Dropped(t, "neighbor-unresolved") - unanswered; n != 0 {
		t.Errorf("%d packets are counted as neighbor-unresolved, want none", n)
	}
	if n := questions(w, nobody); n != 3 {
		t.Errorf("the peer saw %d ARP requests for %s, want 3", n, nobody)
	}
	lab.Until(t, lab.Patience, func() error {
		if state := s.neighbor(t, nobody); state != "" {
			return fmt.Errorf("the neighbour that did not answer is still %s", state)
		}
		return nil
	})
}

// questions counts the ARP requests for an address that have come by a wire.
func questions(w *lab.Wire, target string) (n int) {
	for {
		frames := w.Poll()
		if len(frames) == 0 {
			return n
		}
		for _, f := range frames {
			v, ok := packets.Parse(f)
			if ok && v.EtherType == packets.EtherARP && len(f) >= 42 && binary.BigEndian.Uint32(f[38:]) == number(target) {
				n++
			}
		}
	}
}

func (s *site) tooBig(t *testing.T) {
	const headers = 28 // IP and ICMP
	out, err := s.host.Try("ping", "-n", "-c", "1", "-W", "5", "-M", "do", "-s", fmt.Sprint(1401-headers), officePeer)
	if err == nil {
		t.Fatalf("a packet of 1401 bytes crossed an interface whose MTU is 1400:\n%s", out)
	}
	if want := "From " + officeRouter + " icmp_seq=1 Frag needed and DF set (mtu = 1400)"; !strings.Contains(out, want) {
		t.Errorf("ping said\n%s\nwant %q", out, want)
	}
	s.host.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", "-M", "do", "-s", fmt.Sprint(1400-headers), officePeer)
	if route := s.host.Run(t, "ip", "route", "get", officePeer); !strings.Contains(route, "mtu 1400") {
		t.Errorf("the host's route to %s has no MTU of 1400: %s", officePeer, route)
	}
}

func (s *site) ages(t *testing.T, used time.Time) {
	if wait := time.Until(used.Add(agingTime - 5*time.Second)); wait > 0 {
		time.Sleep(wait) // the engine's clock is the machine's
		if state := s.neighbor(t, officePeer); state != "stale" {
			t.Errorf("the neighbour %s is %q %s after its last use, want stale", officePeer, state, time.Since(used))
		}
	}
	lab.Until(t, time.Until(used.Add(agingTime+2*time.Second)), func() error {
		if state := s.neighbor(t, officePeer); state != "" {
			return fmt.Errorf("the neighbour %s is still %s %s after its last use", officePeer, state, time.Since(used))
		}
		return nil
	})
	s.host.Run(t, "ping", "-n", "-q", "-c", "1", "-W", "5", officePeer) // and is resolved again
}
