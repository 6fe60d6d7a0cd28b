package netns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// watched has a function of somebody else's between a firewall and a NAPT.
const watched = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: watched}
spec:
  interfaces:
  - {name: inside, address: 10.1.0.1/16}
  - {name: outside, address: 198.51.100.1/24}
  - {name: ips-inside, wire: true}
  - {name: ips-outside, wire: true}
  functions:
  - {name: fw, firewall: {stateful: true, rules: [{from: Inside, action: Accept}], default: Drop}}
  - {name: ips, blackbox: {inside: ips-inside, outside: ips-outside}}
  - {name: nat, napt: {pool: [198.51.100.16]}}
  path: [inside, fw, ips, nat, outside]
`

// bridged is such a chain at work: the kernel bridges frames between its wires. It learns MAC addresses as a switch does.
type bridged struct {
	lan, ips *lab.Space
	engine   *lab.Engine
	program  *lab.Program
}

func startBridged(t *testing.T, chain string) *bridged {
	t.Helper()
	lan, wan, box := lanAndWAN(t)
	ips := lab.New(t, "ips")
	ips.Run(t, "ip", "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0") // else it announces that it snoops
	for _, side := range []string{"inside", "outside"} {
		lab.Cable(t, lab.End{Space: ips, Device: side}, lab.End{Space: box, Device: "ips-" + side})
		ips.Run(t, "ip", "link", "set", side, "master", "bridge")
	}
	ips.Run(t, "ip", "link", "set", "bridge", "up")
	serveEcho(t, wan, "0.0.0.0:80")
	serveEcho(t, wan, "0.0.0.0:53")
	binds := []string{"inside=lan", "outside=wan", "ips-inside=ips-inside", "ips-outside=ips-outside"}
	engine := lab.StartEngine(t, box, binds, "--workers", "2")
	program := lab.Compile(t, lab.ParseText(t, chain))
	engine.Load(t, program)
	return &bridged{lan, ips, engine, program}
}

// exchange has each client send something, and wants it back.
func exchange(t *testing.T, clients []*client, when string) {
	t.Helper()
	for i, c := range clients {
		if err := c.answered([]byte(strings.Repeat(fmt.Sprint(i, when), 300))); err != nil {
			t.Fatalf("connection %d, %s: %v", i, when, err)
		}
	}
}

// TestAKernelsBridgeIsAFunctionOfAChain has a rule of nftables on the way.
func TestAKernelsBridgeIsAFunctionOfAChain(t *testing.T) {
	lab.Require(t, "nft")
	b := startBridged(t, watched)
	lan, ips, engine := b.lan, b.ips, b.engine
	ips.Run(t, "nft", "table bridge t { chain c { type filter hook forward priority 0; tcp dport 53 counter drop; }; }")
	clients := connect(t, lan, "10.1.0.2", 50)
	exchange(t, clients, "through the bridge")
	if c, err := dialWithin(300*time.Millisecond, lan, "tcp", "10.1.0.2:0", "198.51.100.2:53"); err == nil {
		_ = c.Close()
		t.Error("there is a connection to port 53, which the rule on the bridge drops")
	}
	if rules := ips.Run(t, "nft", "list", "ruleset"); strings.Contains(rules, "packets 0 ") {
		t.Errorf("the rule on the bridge has seen no packet:\n%s", rules)
	}
	s := engine.Counters(t)
	for _, c := range s.GetCounters() {
		if c.GetPackets() != 0 {
			t.Errorf("the chain counted %v, want no packet without its continuation", c)
		}
	}
	lab.Until(t, lab.Patience, func() error {
		s := engine.Counters(t)
		in, out := port(t, s, "ips-inside"), port(t, s, "ips-outside")
		if left, back := in.GetTxPackets(), out.GetRxPackets(); left < 100 || left != back+1 {
			return fmt.Errorf("%d packets left by ips-inside, and %d came back by ips-outside, want all but the one to port 53", left, back)
		}
		if left, back := out.GetTxPackets(), in.GetRxPackets(); left < 100 || left != back {
			return fmt.Errorf("%d packets left by ips-outside, and %d came back by ips-inside, want all", left, back)
		}
		return nil
	})
	b.changes(t, clients)
	exchange(t, clients, "with the last program")
}

// changes loads programs while connections go on: no packet that is at the bridge meanwhile is unknown when it comes back.
func (b *bridged) changes(t *testing.T, clients []*client) {
	t.Helper()
	next := lab.Compile(t, lab.ParseText(t, strings.ReplaceAll(watched, "action: Accept}]", "action: Accept}, {from: Outside, protocol: UDP, action: Drop}]")))
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := clients[n%len(clients)].answered([]byte(strings.Repeat("more", 5000))); err != nil {
				ended <- fmt.Errorf("connection %d while programs change: %w", n%len(clients), err)
				return
			}
		}
	}()
	for range 10 {
		b.engine.Load(t, next)
		b.engine.Load(t, b.program)
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, c := range b.engine.Counters(t).GetCounters() {
		if c.GetPackets() != 0 {
			t.Errorf("the chain counted %v while programs changed, want no packet without its continuation", c)
		}
	}
}

// toggle takes the bridge down, or brings it up, and waits until the engine knows.
func (b *bridged) toggle(t *testing.T, up bool) {
	t.Helper()
	b.ips.Run(t, "ip", "link", "set", "bridge", map[bool]string{true: "up", false: "down"}[up])
	b.knows(t, up)
}

// knows waits until the engine knows whether both ways through the function are up.
func (b *bridged) knows(t *testing.T, up bool) {
	t.Helper()
	lab.Until(t, lab.Patience, func() error {
		wires := b.engine.Counters(t).GetWires()
		if len(wires) != 2 {
			t.Fatalf("the engine knows %v, want both ways through the bridge", wires)
		}
		for _, w := range wires {
			if w.GetDown() == up || up && w.GetProbes() == 0 { // of a wire that is not there none leaves
				return fmt.Errorf("the engine knows %v, want up: %t", w, up)
			}
		}
		return nil
	})
}

// passedBy is how many packets went past the bridge.
func (b *bridged) passedBy(t *testing.T) uint64 {
	t.Helper()
	n := slices.Index(b.program.GetCounters(), "ips/bypassed")
	return b.engine.Counters(t).GetCounters()[n].GetPackets()
}

// TestConnectionsGoOnPastABlackboxThatIsDown takes the bridge down under TCP connections, and brings it up again.
func TestConnectionsGoOnPastABlackboxThatIsDown(t *testing.T) {
	lab.Require(t)
	b := startBridged(t, strings.Replace(watched, "outside: ips-outside", "outside: ips-outside, whenDown: Open", 1))
	b.toggle(t, true)
	clients := connect(t, b.lan, "10.1.0.2", 20)
	exchange(t, clients, "through the bridge")
	before := b.passedBy(t)
	b.toggle(t, false)
	exchange(t, clients, "past the bridge")
	clients = append(clients, connect(t, b.lan, "10.1.0.2", 20)...)
	exchange(t, clients, "past the bridge again")
	if n := b.passedBy(t) - before; n < uint64(2*len(clients)) {
		t.Errorf("%d packets passed by the bridge, want those of %d connections", n, len(clients))
	}
	b.toggle(t, true)
	lab.Until(t, lab.Patience, func() error { // a machine that is busy may stop the bridge for a moment
		before := b.passedBy(t)
		exchange(t, clients, "through the bridge, which is up")
		if n := b.passedBy(t) - before; n > 0 {
			return fmt.Errorf("%d packets passed by the bridge, want none", n)
		}
		return nil
	})
}

// TestPacketsForABlackboxThatIsDownAreDroppedAndCounted takes the bridge down, and brings it up again.
func TestPacketsForABlackboxThatIsDownAreDroppedAndCounted(t *testing.T) {
	lab.Require(t)
	b := startBridged(t, strings.Replace(watched, "outside: ips-outside", "outside: ips-outside, whenDown: Closed", 1))
	b.toggle(t, true)
	c, err := dial(b.lan, "udp", "10.1.0.2:4000", "198.51.100.2:80")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answered := func() error { return c.answered([]byte("is there anybody?")) }
	lab.Until(t, lab.Patience, answered)
	b.toggle(t, false)
	const n = 30
	before := b.engine.Dropped(t, "ips/down")
	for range n {
		if _, err := c.Write([]byte("is there nobody?")); err != nil {
			t.Fatal(err)
		}
	}
	lab.Until(t, lab.Patience, func() error {
		if dropped := b.engine.Dropped(t, "ips/down") - before; dropped != n {
			return fmt.Errorf("%d packets are dropped as ips/down, want %d", dropped, n)
		}
		return nil
	})
	b.toggle(t, true)
	lab.Until(t, lab.Patience, answered)
}

// port is the counters of an interface.
func port(t *testing.T, s *controlpb.Stats, name string) *controlpb.PortStats {
	t.Helper()
	for _, p := range s.GetPorts() {
		if p.GetInterface() == name {
			return p
		}
	}
	t.Fatalf("no counters of %s", name)
	return nil
}

// checks are what the engine found of packets that leave by ips-inside.
func (b *bridged) checks(t *testing.T) *controlpb.WireStats {
	t.Helper()
	wires := b.engine.Counters(t).GetWires()
	i := slices.IndexFunc(wires, func(w *controlpb.WireStats) bool { return w.GetOut() == "ips-inside" })
	if i < 0 || wires[i].GetBack() != "ips-outside" {
		t.Fatalf("the engine knows %v, want the way from ips-inside to ips-outside", wires)
	}
	return wires[i]
}

// TestWhatABridgeChangesAgainstItsDeclarationIsFound has nftables set DSCP on the way.
func TestWhatABridgeChangesAgainstItsDeclarationIsFound(t *testing.T) {
	lab.Require(t, "nft")
	b := startBridged(t, watched)
	clients := connect(t, b.lan, "10.1.0.2", 20)
	lab.Until(t, lab.Patience, func() error {
		exchange(t, clients, "as it is")
		w := b.checks(t)
		var times uint64
		for _, n := range w.GetTimes() {
			times += n
		}
		if w.GetReturned() < 5 || times != w.GetReturned() || len(w.GetContradictions()) > 0 {
			return fmt.Errorf("the engine found %v, want packets that came back as they were", w)
		}
		return nil
	})

	b.ips.Run(t, "nft", "table bridge t { chain c { type filter hook forward priority 0; iif inside ip dscp set af21; }; }")
	lab.Until(t, lab.Patience, func() error {
		exchange(t, clients, "with another DSCP")
		if c := b.checks(t).GetContradictions(); len(c) != 1 || c[0].GetWhat() != "DSCP" || !c[0].GetLately() {
			return fmt.Errorf("the engine found changes %v, want DSCP", c)
		}
		return nil
	})

	declared := strings.Replace(watched, "outside: ips-outside}}", "outside: ips-outside, behavior: {writes: [DSCP]}}}", 1)
	b.engine.Load(t, lab.Compile(t, lab.ParseText(t, declared)))
	exchange(t, clients, "when it has just been declared") // packets of the program before have come back then
	before := b.checks(t)
	lab.Until(t, lab.Patience, func() error {
		exchange(t, clients, "as it is declared")
		if n := b.checks(t).GetReturned() - before.GetReturned(); n < 5 {
			return fmt.Errorf("%d packets came back that were checked, want some more", n)
		}
		return nil
	})
	if was, is := before.GetContradictions()[0], b.checks(t).GetContradictions()[0]; is.GetPackets() != was.GetPackets() || is.GetLately() {
		t.Errorf("the engine found %v, then %v; want no further change, as it is declared now", was, is)
	}
}

// TestABridgeThatDropsAgainstItsDeclarationIsFound has nftables drop the packets of a port.
func TestABridgeThatDropsAgainstItsDeclarationIsFound(t *testing.T) {
	lab.Require(t, "nft")
	b := startBridged(t, strings.Replace(watched, "outside: ips-outside}}", "outside: ips-outside, behavior: {drops: false, resizes: false, originates: false}}}", 1))
	clients := connect(t, b.lan, "10.1.0.2", 20)
	exchange(t, clients, "through the bridge")
	if w := b.checks(t); len(w.GetContradictions()) > 0 {
		t.Errorf("the engine found %v, want nothing of a bridge that drops nothing", w)
	}
	b.ips.Run(t, "nft", "table bridge t { chain c { type filter hook forward priority 0; tcp dport 53 drop; }; }")
	lab.Until(t, lab.Patience, func() error {
		if c, err := dialWithin(50*time.Millisecond, b.lan, "tcp", "10.1.0.2:0", "198.51.100.2:53"); err == nil { // few packets, so some are checked
			_ = c.Close()
			t.Fatal("there is a connection to port 53, which the rule on the bridge drops")
		}
		w := b.checks(t)
		if c := w.GetContradictions(); len(c) != 1 || c[0].GetWhat() != "Dropped" || !c[0].GetLately() || w.GetLost() != c[0].GetPackets() {
			return fmt.Errorf("the engine found %v, want lost packets alone", w)
		}
		return nil
	})
}
