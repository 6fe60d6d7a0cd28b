package oracle_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/balancer/oracle"
)

// serving is clients (inside) ⇄ balancer ⇄ backends (outside); the virtual address is 198.51.100.1.
func serving(backends ...element.Backend) element.Balancer {
	return element.Balancer{
		Virtual: []netip.Addr{testbed.Addr("198.51.100.1"), testbed.Addr("198.51.100.2")}, Backends: backends, MaxSessions: 100,
		Timeouts:  element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 10 * time.Second, UDP: 20 * time.Second},
		NoBackend: "no-backend", Full: "full", NoSession: "no-session",
	}
}

func served(e element.Balancer) *testbed.Builder {
	b := testbed.New()
	n := b.Add("lb", e)
	b.Wire(b.In(testbed.Inside), 0, n, element.BalancerClients)
	b.Wire(n, element.BalancerBackends, b.Out(testbed.Outside), 0)
	b.Wire(b.In(testbed.Outside), 0, n, element.BalancerBackends)
	b.Wire(n, element.BalancerClients, b.Out(testbed.Inside), 0)
	return b
}

// backendOf is where a client's packet goes.
func backendOf(t *testing.T, r pass.Result) string {
	t.Helper()
	if len(r.Out) != 1 {
		t.Fatalf("got %+v, want a frame", r)
	}
	return header.Addr(header.Dst(r.Out[0].Frame[14:])).String()
}

func TestAFlowGoesToItsBackendAndBack(t *testing.T) {
	for name, k := range map[string]struct {
		backend                            element.Backend
		there, balanced, reply, unbalanced testbed.Packet
	}{
		"UDP": {
			oracle.BackendsOf(1)[0], testbed.UDP(1000, 53),
			testbed.Packet{Dst: "198.51.100.11", Sport: 1000, Dport: 53},
			testbed.UDP(53, 1000),
			testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 53, Dport: 1000},
		},
		"TCP, another port": {
			element.Backend{Addr: testbed.Addr("198.51.100.11"), Port: 8080, Weight: 1},
			testbed.Packet{Proto: 6, Sport: 1000, Dport: 80, Flags: "S"},
			testbed.Packet{Proto: 6, Dst: "198.51.100.11", Sport: 1000, Dport: 8080, Flags: "S"},
			testbed.Packet{Proto: 6, Sport: 8080, Dport: 1000, Flags: "SA"},
			testbed.Packet{Proto: 6, Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 80, Dport: 1000, Flags: "SA"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := interp.New(&served(serving(k.backend)).Graph, interp.Options{})
			testbed.Want(t, c.Process(0, testbed.Inside, k.there.Frame(), nil), testbed.Sent(k.balanced))
			k.reply = testbed.Back(k.reply, "10.0.0.2")
			k.reply.Src = "198.51.100.11"
			testbed.Want(t, c.Process(1, testbed.Outside, k.reply.Frame(), nil), testbed.Delivered(k.unbalanced))
			k.reply.Dport++
			other := k.reply
			other.To, other.From = nil, nil
			testbed.Want(t, c.Process(2, testbed.Outside, k.reply.Frame(), nil), testbed.Delivered(other)) // of no session: as it came
		})
	}
}

func TestAKnownFlowStaysWhereItIsUntilItsBackendIsGone(t *testing.T) {
	b := oracle.BackendsOf(1, 1, 1)
	c := interp.New(&served(serving(b...)).Graph, interp.Options{})
	first := map[uint16]string{}
	for port := range uint16(50) {
		first[port] = backendOf(t, c.Process(0, testbed.Inside, testbed.UDP(1000+port, 53).Frame(), nil))
	}
	b = oracle.BackendsOf(1, 0, 1) // drained
	c = c.Continue(&served(serving(b...)).Graph, interp.Options{})
	for port := range uint16(50) {
		if got := backendOf(t, c.Process(time.Second, testbed.Inside, testbed.UDP(1000+port, 53).Frame(), nil)); got != first[port] {
			t.Errorf("drained: port %d went to %s, now to %s", 1000+port, first[port], got)
		}
		if got := backendOf(t, c.Process(time.Second, testbed.Inside, testbed.UDP(2000+port, 53).Frame(), nil)); got == "198.51.100.12" {
			t.Errorf("a new flow went to a drained backend")
		}
	}
	b = []element.Backend{b[0], b[2]}
	c = c.Continue(&served(serving(b...)).Graph, interp.Options{})
	for port := range uint16(50) {
		got := backendOf(t, c.Process(2*time.Second, testbed.Inside, testbed.UDP(1000+port, 53).Frame(), nil))
		if got != first[port] && first[port] != "198.51.100.12" || got == "198.51.100.12" {
			t.Errorf("removed: port %d went to %s, now to %s", 1000+port, first[port], got)
		}
	}
}

func TestWhatFindsNoBackendOrNoRoomIsDropped(t *testing.T) {
	c := interp.New(&served(serving(oracle.BackendsOf(0, 0)...)).Graph, interp.Options{})
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil), "no-backend")
	one := serving(oracle.BackendsOf(1)...)
	one.MaxSessions = 1
	c = interp.New(&served(one).Graph, interp.Options{})
	backendOf(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil))
	testbed.Dropped(t, c.Process(20*time.Second, testbed.Inside, testbed.UDP(1001, 53).Frame(), nil), "full")
	backendOf(t, c.Process(20*time.Second+1, testbed.Inside, testbed.UDP(1001, 53).Frame(), nil))
}

// TestTwoServicesDoNotSendOneClientsPortToOneBackend: replies would not tell which service they come from.
func TestTwoServicesDoNotSendOneClientsPortToOneBackend(t *testing.T) {
	c := interp.New(&served(serving(oracle.BackendsOf(1, 1)...)).Graph, interp.Options{})
	a := backendOf(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil))
	second := testbed.UDP(1000, 53)
	second.Dst = "198.51.100.2"
	if b := backendOf(t, c.Process(0, testbed.Inside, second.Frame(), nil)); a == b {
		t.Errorf("both went to %s", a)
	}
	c = interp.New(&served(serving(oracle.BackendsOf(1)...)).Graph, interp.Options{})
	backendOf(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil))
	testbed.Dropped(t, c.Process(0, testbed.Inside, second.Frame(), nil), "full")
}

func TestAClientsFlowsGoToOneBackendIfItTells(t *testing.T) {
	e := serving(oracle.BackendsOf(1, 1, 1, 1, 1)...)
	e.ByClient = true
	c := interp.New(&served(e).Graph, interp.Options{})
	first := backendOf(t, c.Process(0, testbed.Inside, testbed.UDP(1000, 53).Frame(), nil))
	for port := range uint16(50) {
		if got := backendOf(t, c.Process(0, testbed.Inside, testbed.UDP(2000+port, 80).Frame(), nil)); got != first {
			t.Errorf("a flow of the client went to %s, another to %s", first, got)
		}
	}
}

func TestErrorsAboutBalancedPacketsAreTranslated(t *testing.T) {
	c := interp.New(&served(serving(oracle.BackendsOf(1)...)).Graph, interp.Options{})
	there, balanced := testbed.UDP(1000, 53), testbed.Packet{Dst: "198.51.100.11", Sport: 1000, Dport: 53}
	testbed.Want(t, c.Process(0, testbed.Inside, there.Frame(), nil), testbed.Sent(balanced))
	// A backend's port is closed.
	unreachable := layers.CreateICMPv4TypeCode(3, 3)
	e := testbed.Packet{Proto: 1, ICMP: unreachable, Src: "198.51.100.11", Dst: "10.0.0.2", Payload: balanced.Frame()[14:], To: testbed.OutsideMAC, From: testbed.RouterMAC}
	seen := testbed.Packet{Proto: 1, ICMP: unreachable, Src: "198.51.100.1", Dst: "10.0.0.2", Payload: there.Frame()[14:]}
	testbed.Want(t, c.Process(0, testbed.Outside, e.Frame(), nil), testbed.Delivered(seen))
	// A router before the client says that a reply is too big.
	reply := testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 53, Dport: 1000}
	inner := testbed.Packet{Src: "198.51.100.11", Dst: "10.0.0.2", Sport: 53, Dport: 1000}
	tooBig := layers.CreateICMPv4TypeCode(3, 4)
	e = testbed.Packet{Proto: 1, ICMP: tooBig, Src: "10.0.0.9", Dst: "198.51.100.1", Payload: reply.Frame()[14:]}
	testbed.Want(t, c.Process(0, testbed.Inside, e.Frame(), nil), testbed.Sent(testbed.Packet{Proto: 1, ICMP: tooBig, Src: "10.0.0.9", Dst: "198.51.100.11", Payload: inner.Frame()[14:]}))
	reply.Dport++
	e.Payload = reply.Frame()[14:]
	testbed.Dropped(t, c.Process(0, testbed.Inside, e.Frame(), nil), "no-session")
}

func TestABalancerMayEndAnOpeningThatNoBackendAnsweredAndNoOtherSession(t *testing.T) {
	c := interp.New(&served(serving(oracle.BackendsOf(1)...)).Graph, interp.Options{})
	syn := testbed.Packet{Proto: 6, Sport: 1000, Dport: 80, Flags: "S"}
	backendOf(t, c.Process(0, testbed.Inside, syn.Frame(), nil))
	b := pass.Binding{Node: "lb", Proto: 6, Inside: testbed.AddrPort("198.51.100.11:80"), Remote: testbed.AddrPort("10.0.0.2:1000")}
	if err := c.Evict(time.Second-1, b); err == nil {
		t.Error("a session that was used a moment ago ended")
	}
	if err := c.Evict(time.Second, b); err != nil || len(c.Sessions(time.Second)) != 0 {
		t.Errorf("got %v and %v", err, c.Sessions(time.Second))
	}
}

// hopOf is the next hop of a packet that leaves as it came.
func hopOf(t *testing.T, r pass.Result, there testbed.Packet) string {
	t.Helper()
	if len(r.Out) != 1 {
		t.Fatalf("got %+v, want a frame", r)
	}
	if got, want := header.Addr(header.Dst(r.Out[0].Frame[14:])).String(), there.Dst; got != want {
		t.Errorf("its destination is %s, want %s", got, want)
	}
	return r.Out[0].NextHop.String()
}

func TestADirectBalancerChoosesTheNextHopAlone(t *testing.T) {
	for name, stateless := range map[string]bool{"with sessions": false, "stateless": true} {
		t.Run(name, func(t *testing.T) {
			e := serving(oracle.BackendsOf(1, 1)...)
			e.Direct, e.Stateless = true, stateless
			c := interp.New(&served(e).Graph, interp.Options{})
			there := testbed.UDP(1000, 53)
			there.Dst = "198.51.100.1"
			first := hopOf(t, c.Process(0, testbed.Inside, there.Frame(), nil), there)
			if first != "198.51.100.11" && first != "198.51.100.12" {
				t.Errorf("it goes by %s, want a backend", first)
			}
			// A router says that a reply, which nobody saw, is too big.
			reply := testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 53, Dport: 1000}
			tooBig := testbed.Packet{Proto: 1, ICMP: layers.CreateICMPv4TypeCode(3, 4), Src: "10.0.0.9", Dst: "198.51.100.1", Payload: reply.Frame()[14:]}
			if got := hopOf(t, c.Process(0, testbed.Inside, tooBig.Frame(), nil), tooBig); got != first {
				t.Errorf("an error about what %s sent goes by %s", first, got)
			}
			if n := len(c.Sessions(0)); (n == 0) != stateless {
				t.Errorf("there are %d sessions", n)
			}
			// Known flows stay; without sessions the table tells.
			e.Backends = oracle.BackendsOf(1, 0)
			if first == "198.51.100.11" {
				e.Backends = oracle.BackendsOf(0, 1)
			}
			c = c.Continue(&served(e).Graph, interp.Options{})
			if got := hopOf(t, c.Process(1, testbed.Inside, there.Frame(), nil), there); (got == first) == stateless {
				t.Errorf("after its backend %s is drained the flow goes by %s", first, got)
			}
		})
	}
}

func TestADirectBalancersSessionIsEstablishedByItsClient(t *testing.T) {
	e := serving(oracle.BackendsOf(1)...)
	e.Direct = true
	c := interp.New(&served(e).Graph, interp.Options{})
	lives := func(after time.Duration) bool { return len(c.Sessions(after)) > 0 }
	say := func(now time.Duration, flags string) {
		c.Process(now, testbed.Inside, testbed.Packet{Proto: 6, Sport: 1000, Dport: 80, Flags: flags, Window: 512}.Frame(), nil)
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
