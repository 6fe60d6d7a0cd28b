package interp

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
)

// backendsOf have addresses from 198.51.100.11 on.
func backendsOf(weights ...int) (list []element.Backend) {
	for i, w := range weights {
		list = append(list, element.Backend{Addr: netip.AddrFrom4([4]byte{198, 51, 100, byte(11 + i)}), Weight: w})
	}
	return list
}

func sharesOf(table []int, n int) []int {
	out := make([]int, n)
	for _, b := range table {
		if b >= 0 {
			out[b]++
		}
	}
	return out
}

// TestMaglevTables has the vectors of the engine's test, too (test_balancer.c): the FNV-1a sum of the entries as big-endian numbers.
func TestMaglevTables(t *testing.T) {
	tcp := flow{proto: protoTCP, src: 0xcb007107, dst: 0xc6336401, sport: 40000, dport: 443}
	for _, k := range []struct {
		backends []element.Backend
		shares   string
		sum      uint32
	}{
		{backendsOf(1, 1, 1), "[21846 21846 21845]", 0x1dfd1577},
		{backendsOf(2, 1, 0), "[43692 21845 0]", 0xd9d53a82},
		{backendsOf(256, 1), "[65282 255]", 0x6c84411a},
		{backendsOf(0, 0), "[0 0]", 0x3b08bca3},
		{backendsOf(5, 3, 7, 1, 1, 100, 2), "[2753 1652 3855 550 550 55076 1101]", 0xd4fe5791},
	} {
		table := maglev(k.backends)
		h := fnv.New32a()
		for _, b := range table {
			_, _ = h.Write([]byte{byte(b >> 8), byte(b)}) // never fails
		}
		if got := fmt.Sprint(sharesOf(table, len(k.backends))); got != k.shares || h.Sum32() != k.sum {
			t.Errorf("%v: shares %s, sum %#x, want %s, %#x", k.backends, got, h.Sum32(), k.shares, k.sum)
		}
	}
	if a, b := entryOf(tcp, false), entryOf(tcp, true); a != 13474 || b != 22229 {
		t.Errorf("entries %d and %d", a, b)
	}
}

func TestOnlyAFewEntriesOfOtherBackendsChangeWhenOneGoes(t *testing.T) {
	before, after := maglev(backendsOf(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)), maglev(backendsOf(1, 1, 1, 1, 0, 1, 1, 1, 1, 1))
	moved := 0
	for i := range before {
		if before[i] != 4 && before[i] != after[i] {
			moved++
		}
	}
	if moved > maglevSize/50 {
		t.Errorf("%d of %d entries moved, want 2 %% at most", moved, maglevSize)
	}
}

// serving is clients (inside) ⇄ balancer ⇄ backends (outside); the virtual address is 198.51.100.1.
func serving(backends ...element.Backend) element.Balancer {
	return element.Balancer{
		Virtual: []netip.Addr{ip("198.51.100.1"), ip("198.51.100.2")}, Backends: backends, MaxSessions: 100,
		Timeouts:  element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 10 * time.Second, UDP: 20 * time.Second},
		NoBackend: "no-backend", Full: "full", NoSession: "no-session",
	}
}

func served(e element.Balancer) *builder {
	b := newBuilder()
	n := b.add("lb", e)
	b.wire(b.in(inside), 0, n, element.BalancerClients)
	b.wire(n, element.BalancerBackends, b.out(outside), 0)
	b.wire(b.in(outside), 0, n, element.BalancerBackends)
	b.wire(n, element.BalancerClients, b.out(inside), 0)
	return b
}

// backendOf is where a client's packet goes.
func backendOf(t *testing.T, r Result) string {
	t.Helper()
	if len(r.Out) != 1 {
		t.Fatalf("got %+v, want a frame", r)
	}
	return addr(dstOf(r.Out[0].Frame[14:])).String()
}

func TestAFlowGoesToItsBackendAndBack(t *testing.T) {
	for name, k := range map[string]struct {
		backend                            element.Backend
		there, balanced, reply, unbalanced pkt
	}{
		"UDP": {
			backendsOf(1)[0], udp(1000, 53),
			pkt{dst: "198.51.100.11", sport: 1000, dport: 53},
			udp(53, 1000),
			pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1000},
		},
		"TCP, another port": {
			element.Backend{Addr: ip("198.51.100.11"), Port: 8080, Weight: 1},
			pkt{proto: 6, sport: 1000, dport: 80, flags: "S"},
			pkt{proto: 6, dst: "198.51.100.11", sport: 1000, dport: 8080, flags: "S"},
			pkt{proto: 6, sport: 8080, dport: 1000, flags: "SA"},
			pkt{proto: 6, src: "198.51.100.1", dst: "10.0.0.2", sport: 80, dport: 1000, flags: "SA"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := served(serving(k.backend)).chain()
			want(t, c.Process(0, inside, k.there.frame(), nil), sent(k.balanced))
			k.reply = back(k.reply, "10.0.0.2")
			k.reply.src = "198.51.100.11"
			want(t, c.Process(1, outside, k.reply.frame(), nil), delivered(k.unbalanced))
			k.reply.dport++
			other := k.reply
			other.to, other.from = nil, nil
			want(t, c.Process(2, outside, k.reply.frame(), nil), delivered(other)) // of no session: as it came
		})
	}
}

func TestAKnownFlowStaysWhereItIsUntilItsBackendIsGone(t *testing.T) {
	b := backendsOf(1, 1, 1)
	c := served(serving(b...)).chain()
	first := map[uint16]string{}
	for port := range uint16(50) {
		first[port] = backendOf(t, c.Process(0, inside, udp(1000+port, 53).frame(), nil))
	}
	b = backendsOf(1, 0, 1) // drained
	c = c.Continue(&served(serving(b...)).g, Options{})
	for port := range uint16(50) {
		if got := backendOf(t, c.Process(time.Second, inside, udp(1000+port, 53).frame(), nil)); got != first[port] {
			t.Errorf("drained: port %d went to %s, now to %s", 1000+port, first[port], got)
		}
		if got := backendOf(t, c.Process(time.Second, inside, udp(2000+port, 53).frame(), nil)); got == "198.51.100.12" {
			t.Errorf("a new flow went to a drained backend")
		}
	}
	b = []element.Backend{b[0], b[2]}
	c = c.Continue(&served(serving(b...)).g, Options{})
	for port := range uint16(50) {
		got := backendOf(t, c.Process(2*time.Second, inside, udp(1000+port, 53).frame(), nil))
		if got != first[port] && first[port] != "198.51.100.12" || got == "198.51.100.12" {
			t.Errorf("removed: port %d went to %s, now to %s", 1000+port, first[port], got)
		}
	}
}

func TestWhatFindsNoBackendOrNoRoomIsDropped(t *testing.T) {
	c := served(serving(backendsOf(0, 0)...)).chain()
	dropped(t, c.Process(0, inside, udp(1000, 53).frame(), nil), "no-backend")
	one := serving(backendsOf(1)...)
	one.MaxSessions = 1
	c = served(one).chain()
	backendOf(t, c.Process(0, inside, udp(1000, 53).frame(), nil))
	dropped(t, c.Process(20*time.Second, inside, udp(1001, 53).frame(), nil), "full")
	backendOf(t, c.Process(20*time.Second+1, inside, udp(1001, 53).frame(), nil))
}

// TestTwoServicesDoNotSendOneClientsPortToOneBackend: replies would not tell which service they come from.
func TestTwoServicesDoNotSendOneClientsPortToOneBackend(t *testing.T) {
	c := served(serving(backendsOf(1, 1)...)).chain()
	a := backendOf(t, c.Process(0, inside, udp(1000, 53).frame(), nil))
	second := udp(1000, 53)
	second.dst = "198.51.100.2"
	if b := backendOf(t, c.Process(0, inside, second.frame(), nil)); a == b {
		t.Errorf("both went to %s", a)
	}
	c = served(serving(backendsOf(1)...)).chain()
	backendOf(t, c.Process(0, inside, udp(1000, 53).frame(), nil))
	dropped(t, c.Process(0, inside, second.frame(), nil), "full")
}

func TestAClientsFlowsGoToOneBackendIfItTells(t *testing.T) {
	e := serving(backendsOf(1, 1, 1, 1, 1)...)
	e.ByClient = true
	c := served(e).chain()
	first := backendOf(t, c.Process(0, inside, udp(1000, 53).frame(), nil))
	for port := range uint16(50) {
		if got := backendOf(t, c.Process(0, inside, udp(2000+port, 80).frame(), nil)); got != first {
			t.Errorf("a flow of the client went to %s, another to %s", first, got)
		}
	}
}

func TestErrorsAboutBalancedPacketsAreTranslated(t *testing.T) {
	c := served(serving(backendsOf(1)...)).chain()
	there, balanced := udp(1000, 53), pkt{dst: "198.51.100.11", sport: 1000, dport: 53}
	want(t, c.Process(0, inside, there.frame(), nil), sent(balanced))
	// A backend's port is closed.
	unreachable := layers.CreateICMPv4TypeCode(3, 3)
	e := pkt{proto: 1, icmp: unreachable, src: "198.51.100.11", dst: "10.0.0.2", payload: balanced.frame()[14:], to: outsideMAC, from: routerMAC}
	seen := pkt{proto: 1, icmp: unreachable, src: "198.51.100.1", dst: "10.0.0.2", payload: there.frame()[14:]}
	want(t, c.Process(0, outside, e.frame(), nil), delivered(seen))
	// A router before the client says that a reply is too big.
	reply := pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1000}
	inner := pkt{src: "198.51.100.11", dst: "10.0.0.2", sport: 53, dport: 1000}
	tooBig := layers.CreateICMPv4TypeCode(3, 4)
	e = pkt{proto: 1, icmp: tooBig, src: "10.0.0.9", dst: "198.51.100.1", payload: reply.frame()[14:]}
	want(t, c.Process(0, inside, e.frame(), nil), sent(pkt{proto: 1, icmp: tooBig, src: "10.0.0.9", dst: "198.51.100.11", payload: inner.frame()[14:]}))
	reply.dport++
	e.payload = reply.frame()[14:]
	dropped(t, c.Process(0, inside, e.frame(), nil), "no-session")
}

func TestABalancerMayEndAnOpeningThatNoBackendAnsweredAndNoOtherSession(t *testing.T) {
	c := served(serving(backendsOf(1)...)).chain()
	syn := pkt{proto: 6, sport: 1000, dport: 80, flags: "S"}
	backendOf(t, c.Process(0, inside, syn.frame(), nil))
	b := Binding{Node: "lb", Proto: 6, Inside: ap("198.51.100.11:80"), Remote: ap("10.0.0.2:1000")}
	if err := c.Evict(time.Second-1, b); err == nil {
		t.Error("a session that was used a moment ago ended")
	}
	if err := c.Evict(time.Second, b); err != nil || len(c.Sessions(time.Second)) != 0 {
		t.Errorf("got %v and %v", err, c.Sessions(time.Second))
	}
}

// hopOf is the next hop of a packet that leaves as it came.
func hopOf(t *testing.T, r Result, there pkt) string {
	t.Helper()
	if len(r.Out) != 1 {
		t.Fatalf("got %+v, want a frame", r)
	}
	if got, want := addr(dstOf(r.Out[0].Frame[14:])).String(), there.dst; got != want {
		t.Errorf("its destination is %s, want %s", got, want)
	}
	return r.Out[0].NextHop.String()
}

func TestADirectBalancerChoosesTheNextHopAlone(t *testing.T) {
	for name, stateless := range map[string]bool{"with sessions": false, "stateless": true} {
		t.Run(name, func(t *testing.T) {
			e := serving(backendsOf(1, 1)...)
			e.Direct, e.Stateless = true, stateless
			c := served(e).chain()
			there := udp(1000, 53)
			there.dst = "198.51.100.1"
			first := hopOf(t, c.Process(0, inside, there.frame(), nil), there)
			if first != "198.51.100.11" && first != "198.51.100.12" {
				t.Errorf("it goes by %s, want a backend", first)
			}
			// A router says that a reply, which nobody saw, is too big.
			reply := pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: 53, dport: 1000}
			tooBig := pkt{proto: 1, icmp: layers.CreateICMPv4TypeCode(3, 4), src: "10.0.0.9", dst: "198.51.100.1", payload: reply.frame()[14:]}
			if got := hopOf(t, c.Process(0, inside, tooBig.frame(), nil), tooBig); got != first {
				t.Errorf("an error about what %s sent goes by %s", first, got)
			}
			if n := len(c.Sessions(0)); (n == 0) != stateless {
				t.Errorf("there are %d sessions", n)
			}
			// Known flows stay; without sessions the table tells.
			e.Backends = backendsOf(1, 0)
			if first == "198.51.100.11" {
				e.Backends = backendsOf(0, 1)
			}
			c = c.Continue(&served(e).g, Options{})
			if got := hopOf(t, c.Process(1, inside, there.frame(), nil), there); (got == first) == stateless {
				t.Errorf("after its backend %s is drained the flow goes by %s", first, got)
			}
		})
	}
}

func TestADirectBalancersSessionIsEstablishedByItsClient(t *testing.T) {
	e := serving(backendsOf(1)...)
	e.Direct = true
	c := served(e).chain()
	lives := func(after time.Duration) bool { return len(c.Sessions(after)) > 0 }
	say := func(now time.Duration, flags string) {
		c.Process(now, inside, pkt{proto: 6, sport: 1000, dport: 80, flags: flags, window: 512}.frame(), nil)
	}
	say(0, "S")
	if lives(e.Timeouts.TCPTransitory + 1) {
		t.Error("a SYN alone establishes a session")
	}
	say(0, "A")
	if !lives(e.Timeouts.TCP) {
		t.Error("the client's ACK does not establish the session")
	}
	say(0, "R")
	if lives(e.Timeouts.TCPTransitory + 1) {
		t.Error("the client's RST does not end it")
	}
	say(0, "S")
	say(0, "A")
	if !lives(e.Timeouts.TCP) {
		t.Error("a session that begins again is not established")
	}
}
