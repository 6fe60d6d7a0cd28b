package oracle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/firewall/oracle"
)

// Timeouts of the tests' flows.
var followedTimeouts = element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 20 * time.Second, UDP: 10 * time.Second, ICMP: 5 * time.Second}

// followed is inside → stateful firewall → outside: inside may begin flows, outside those to port 80. Established and related packets pass, new
// ones that are refused are dropped as "denied", invalid ones as "invalid".
type followed struct {
	*testing.T
	c   *interp.Chain
	now time.Duration
}

func following(t *testing.T, change func(k *element.Tracking)) *followed {
	t.Helper()
	k := element.Tracking{Table: "fw/flows", Max: 100, Full: "full", Timeouts: followedTimeouts}
	change(&k)
	b := testbed.New()
	denied, invalid := b.Add("fw/denied", element.Discard{Reason: "denied"}), b.Add("fw/invalid", element.Discard{Reason: "invalid"})
	for from := range 2 {
		to := b.Out(1 - from)
		track, admit := b.Add("fw/track", element.Track{Tracking: k, FromOutside: from == testbed.Outside}), b.Add("fw/admit", element.Admit{Tracking: k, FromOutside: from == testbed.Outside})
		rules := element.Classifier{Outs: 2}
		if from == testbed.Outside {
			rules.Default = 1
			rules.Rules = []element.Rule{{Name: "web", Filters: []headerspace.Filter{testbed.Filter(headerspace.DPort, testbed.One(80))}}}
		}
		judge := b.Add("fw/rules", rules)
		b.Wire(b.In(from), 0, track, 0)
		for out, n := range []int{judge, to, to, invalid} {
			b.Wire(track, out, n, 0)
		}
		b.Wire(judge, 0, admit, 0)
		b.Wire(judge, 1, denied, 0)
		b.Wire(admit, 0, to, 0)
	}
	return &followed{T: t, c: interp.New(&b.Graph, interp.Options{})}
}

// sees tells what becomes of a packet from inside, or of one with its ends changed over from outside: "passes", or the reason of its drop.
func (f *followed) sees(from int, p testbed.Packet) string {
	f.Helper()
	if from == testbed.Outside {
		p.Complete()
		p.Src, p.Dst, p.Sport, p.Dport = "198.51.100.1", "10.0.0.2", p.Dport, p.Sport
		p.To, p.From = testbed.OutsideMAC, testbed.RouterMAC
	}
	r := f.c.Process(f.now, from, p.Frame(), nil)
	switch {
	case len(r.Out) == 1 && len(r.Drops) == 0:
		return "passes"
	case len(r.Out) == 0 && len(r.Drops) == 1:
		return r.Drops[0].Reason
	}
	f.Fatalf("%+v", r)
	return ""
}

// says has a side of the connection between 10.0.0.2:1025 and 198.51.100.1:80 send a segment.
func (f *followed) says(from int, flags, want string) {
	f.Helper()
	if got := f.sees(from, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 1025, Dport: 80, Flags: flags, Window: 512}); got != want {
		f.Errorf("%s from %d at %v: %s, want %s", flags, from, f.now, got, want)
	}
}

// is fails unless the table's flows have these states.
func (f *followed) is(states ...string) {
	f.Helper()
	var got []string
	for _, l := range oracle.FlowsOf(f.c.Chain, f.now) {
		got = append(got, l.State)
	}
	if strings.Join(got, ",") != strings.Join(states, ",") {
		f.Errorf("flows at %v are %v, want %v", f.now, got, states)
	}
}

func (f *followed) opens() {
	f.Helper()
	f.says(testbed.Inside, "S", "passes")
	f.says(testbed.Outside, "SA", "passes")
	f.says(testbed.Inside, "A", "passes")
}

func TestAConnectionIsFollowedFromItsSYNToTheNext(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	f.says(testbed.Outside, "SA", "invalid")
	f.says(testbed.Inside, "S", "passes")
	f.is("opening")
	f.says(testbed.Outside, "SA", "passes")
	f.is("opening")
	f.says(testbed.Inside, "A", "passes")
	f.is("established")
	f.says(testbed.Outside, "S", "passes") // its receiver answers with a challenge ACK (RFC 5961)
	f.is("established")
	f.says(testbed.Outside, "FA", "passes")
	f.is("closing")
	f.says(testbed.Outside, "S", "denied") // new again, and to another port than 80
	f.is("closing")
	f.says(testbed.Inside, "S", "passes")
	f.is("opening")
}

func TestAConnectionThatTheOtherSideBeginsAgainIsThatSides(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	web := testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 80, Dport: 5000, Window: 512}
	for _, s := range []struct {
		from  int
		flags string
	}{{testbed.Outside, "S"}, {testbed.Inside, "FA"}, {testbed.Inside, "S"}} {
		web.Flags = s.flags
		if got := f.sees(s.from, web); got != "passes" {
			t.Errorf("%s from %d: %s", s.flags, s.from, got)
		}
	}
	if l := oracle.FlowsOf(f.c.Chain, f.now); len(l) != 1 || l[0].From != testbed.AddrPort("10.0.0.2:80") || l[0].State != "opening" {
		t.Errorf("flows are %v, want one that 10.0.0.2:80 began", l)
	}
}

func TestImpossibleFlagsAreInvalid(t *testing.T) {
	f := following(t, func(k *element.Tracking) { k.PickUp = true })
	f.says(testbed.Inside, "S", "passes")
	for _, flags := range []string{"", "F", "SF", "SR", "FR", "SFA", "SRA", "FRA", "SFRA"} {
		f.says(testbed.Outside, flags, "invalid")
	}
	f.is("opening")
	for _, flags := range []string{"SA", "A", "R", "RA", "S", "FA"} {
		f.says(testbed.Outside, flags, "passes")
	}
}

func TestConnectionsArePickedUpIfThatIsAskedFor(t *testing.T) {
	for pickUp, want := range map[bool]string{false: "invalid", true: "passes"} {
		f := following(t, func(k *element.Tracking) { k.PickUp = pickUp })
		f.says(testbed.Inside, "R", "invalid")
		f.says(testbed.Inside, "SA", "invalid")
		f.says(testbed.Inside, "A", want)
		f.says(testbed.Outside, "A", want)
		f.says(testbed.Inside, "A", want)
		if pickUp {
			f.is("established")
		}
	}
}

func TestFlowsLiveAsLongAsTheirTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		begin   func(f *followed)
		back    testbed.Packet
		timeout time.Duration
		over    string
	}{
		"an opening":    {func(f *followed) { f.says(testbed.Inside, "S", "passes") }, testbed.Packet{Proto: layers.IPProtocolTCP, Flags: "SA"}, followedTimeouts.TCPTransitory, "invalid"},
		"a connection":  {(*followed).opens, testbed.Packet{Proto: layers.IPProtocolTCP, Flags: "A"}, followedTimeouts.TCP, "invalid"},
		"one that ends": {func(f *followed) { f.opens(); f.says(testbed.Inside, "FA", "passes") }, testbed.Packet{Proto: layers.IPProtocolTCP, Flags: "A"}, followedTimeouts.TCPTransitory, "invalid"},
		"datagrams":     {func(f *followed) { f.sees(testbed.Inside, testbed.Packet{Sport: 1025, Dport: 80}) }, testbed.Packet{}, followedTimeouts.UDP, "denied"},
		"a ping":        {func(f *followed) { f.sees(testbed.Inside, testbed.Ping(7)) }, testbed.Packet{Proto: layers.IPProtocolICMPv4, ICMP: testbed.EchoReply, Sport: 7}, followedTimeouts.ICMP, "invalid"},
		"ESP":           {func(f *followed) { f.sees(testbed.Inside, testbed.Packet{Proto: 50}) }, testbed.Packet{Proto: 50}, followedTimeouts.UDP, "denied"},
	} {
		for late, want := range map[time.Duration]string{0: "passes", 1: c.over} {
			f := following(t, func(*element.Tracking) {})
			c.begin(f)
			f.now += c.timeout + late
			if c.back.Sport == 0 {
				c.back.Sport, c.back.Dport = 1025, 80
			}
			if got := f.sees(testbed.Outside, c.back); got != want {
				t.Errorf("%s, %v after its timeout: %s, want %s", name, late, got, want)
			}
		}
	}
}

func TestOfPingsRequestsComeFromTheSideThatBegan(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	// With identifier 0, both directions look alike.
	request := testbed.Packet{Proto: layers.IPProtocolICMPv4, ICMP: testbed.EchoRequest}
	reply := testbed.Packet{Proto: layers.IPProtocolICMPv4, ICMP: testbed.EchoReply}
	zero := func(from int, p testbed.Packet) string {
		p.Complete()
		p.Sport, p.Dport = 0, 0
		if from == testbed.Outside {
			p.Src, p.Dst, p.To, p.From = "198.51.100.1", "10.0.0.2", testbed.OutsideMAC, testbed.RouterMAC
		}
		frame := p.Frame()
		copy(frame[14+20+4:], []byte{0, 0})
		r := f.c.Process(f.now, from, frame, nil)
		if len(r.Drops) > 0 {
			return r.Drops[0].Reason
		}
		return "passes"
	}
	for _, s := range []struct {
		from int
		p    testbed.Packet
		want string
	}{{testbed.Outside, reply, "invalid"}, {testbed.Inside, request, "passes"}, {testbed.Inside, reply, "invalid"}, {testbed.Outside, request, "invalid"}, {testbed.Outside, reply, "passes"}} {
		if got := zero(s.from, s.p); got != s.want {
			t.Errorf("%v from %d: %s, want %s", s.p.ICMP, s.from, got, s.want)
		}
	}
}

func TestErrorsAboutAFlowAreRelated(t *testing.T) {
	quoting := func(q testbed.Packet, to string) []byte {
		q.TTL = 1
		return testbed.Packet{
			Src: "203.0.113.9", Dst: to, Proto: layers.IPProtocolICMPv4, ICMP: testbed.Expired, To: testbed.OutsideMAC, From: testbed.RouterMAC, Payload: q.Frame()[14:],
		}.Frame()
	}
	about := testbed.Packet{Sport: 1025, Dport: 80}
	f := following(t, func(*element.Tracking) {})
	fate := func(what string, frame []byte, want string) {
		t.Helper()
		r := f.c.Process(f.now, testbed.Outside, frame, nil)
		got := "passes"
		if len(r.Drops) > 0 {
			got = r.Drops[0].Reason
		}
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	fate("about no flow", quoting(about, "10.0.0.2"), "invalid")
	f.sees(testbed.Inside, about)
	fate("about the flow", quoting(about, "10.0.0.2"), "passes")
	fate("about the flow, to another host", quoting(about, "10.0.0.3"), "invalid")
	fate("about another flow", quoting(testbed.Packet{Sport: 1026, Dport: 80}, "10.0.0.2"), "invalid")
	later := about
	later.Frag = 1
	fate("about a later fragment", quoting(later, "10.0.0.2"), "invalid")
	f.now += followedTimeouts.UDP + 1
	fate("about a flow that is over", quoting(about, "10.0.0.2"), "invalid")
}

func TestFragmentsAreInvalid(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	for _, frag := range []uint16{0x2000, 0x2001, 1} {
		if got := f.sees(testbed.Inside, testbed.Packet{Frag: frag, Payload: make([]byte, 16)}); got != "invalid" {
			t.Errorf("fragment %#x: %s", frag, got)
		}
	}
}

func TestNoMoreFlowsBeginThanThereIsRoomFor(t *testing.T) {
	f := following(t, func(k *element.Tracking) { k.Max = 2 })
	syn := func(port uint16, want string) {
		t.Helper()
		if got := f.sees(testbed.Inside, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: port, Dport: 80, Flags: "S"}); got != want {
			t.Errorf("SYN from port %d at %v: %s, want %s", port, f.now, got, want)
		}
	}
	syn(1, "passes")
	syn(2, "passes")
	syn(3, "full")
	syn(1, "passes")
	f.now += followedTimeouts.TCPTransitory + 1
	syn(3, "passes")
}

func TestOnlyOpeningsThatAreStuckGiveWay(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	b := pass.Binding{Node: "fw/flows", Proto: header.TCP, Inside: testbed.AddrPort("10.0.0.2:1025"), Remote: testbed.AddrPort("198.51.100.1:80")}
	if f.c.Evict(f.now, b) == nil {
		t.Error("a flow that is not there ended")
	}
	f.says(testbed.Inside, "S", "passes")
	if f.c.Evict(f.now, b) == nil {
		t.Error("an opening that was used a moment ago ended")
	}
	f.now += flow.OpeningIdle
	if err := f.c.Evict(f.now, b); err != nil {
		t.Error(err)
	}
	f.is()
	f.opens()
	f.now += flow.OpeningIdle
	if f.c.Evict(f.now, b) == nil {
		t.Error("a connection ended")
	}
}

// TestEvictionEndsTheFlowOfTheSideThatIsNamed has two flows with the same ends, one from each side.
func TestEvictionEndsTheFlowOfTheSideThatIsNamed(t *testing.T) {
	for _, side := range []int{testbed.Inside, testbed.Outside} {
		f := following(t, func(*element.Tracking) {})
		web := testbed.Packet{Proto: layers.IPProtocolTCP, Src: "198.51.100.1", Dst: "10.0.0.2", Sport: 1025, Dport: 80, Flags: "S"}
		for from := range 2 {
			if from == testbed.Outside {
				web.To, web.From = testbed.OutsideMAC, testbed.RouterMAC
			}
			if r := f.c.Process(f.now, from, web.Frame(), nil); len(r.Out) != 1 {
				t.Fatalf("a SYN from side %d: %v", from, r.Drops)
			}
		}
		f.now += flow.OpeningIdle
		b := pass.Binding{Node: "fw/flows", Proto: header.TCP, Inside: testbed.AddrPort("198.51.100.1:1025"), Remote: testbed.AddrPort("10.0.0.2:80"), FromOutside: side == testbed.Outside}
		if err := f.c.Evict(f.now, b); err != nil {
			t.Fatal(err)
		}
		if f.c.Evict(f.now, b) == nil {
			t.Errorf("the flow from side %d ended twice", side)
		}
		b.FromOutside = !b.FromOutside
		if err := f.c.Evict(f.now, b); err != nil {
			t.Errorf("with the flow from side %d the other one ended, too: %v", side, err)
		}
	}
}

func TestARefusedPacketBeginsNoFlow(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	f.says(testbed.Outside, "S", "denied")
	f.is()
	f.says(testbed.Inside, "SA", "invalid")
}
