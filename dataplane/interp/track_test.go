package interp

import (
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Timeouts of the tests' flows.
var followedTimeouts = element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 20 * time.Second, UDP: 10 * time.Second, ICMP: 5 * time.Second}

// followed is inside → stateful firewall → outside: inside may begin flows, outside those to port 80. Established and related packets pass, new
// ones that are refused are dropped as "denied", invalid ones as "invalid".
type followed struct {
	*testing.T
	c   *Chain
	now time.Duration
}

func following(t *testing.T, change func(k *element.Tracking)) *followed {
	t.Helper()
	k := element.Tracking{Table: "fw/flows", Max: 100, Full: "full", Timeouts: followedTimeouts}
	change(&k)
	b := newBuilder()
	denied, invalid := b.add("fw/denied", element.Discard{Reason: "denied"}), b.add("fw/invalid", element.Discard{Reason: "invalid"})
	for from := range 2 {
		to := b.out(1 - from)
		track, admit := b.add("fw/track", element.Track{Tracking: k, FromOutside: from == outside}), b.add("fw/admit", element.Admit{Tracking: k, FromOutside: from == outside})
		rules := element.Classifier{Outs: 2}
		if from == outside {
			rules.Default = 1
			rules.Rules = []element.Rule{{Name: "web", Filters: []headerspace.Filter{filter(headerspace.DPort, one(80))}}}
		}
		judge := b.add("fw/rules", rules)
		b.wire(b.in(from), 0, track, 0)
		for out, n := range []int{judge, to, to, invalid} {
			b.wire(track, out, n, 0)
		}
		b.wire(judge, 0, admit, 0)
		b.wire(judge, 1, denied, 0)
		b.wire(admit, 0, to, 0)
	}
	return &followed{T: t, c: b.chain()}
}

// sees tells what becomes of a packet from inside, or of one with its ends changed over from outside: "passes", or the reason of its drop.
func (f *followed) sees(from int, p pkt) string {
	f.Helper()
	if from == outside {
		p.complete()
		p.src, p.dst, p.sport, p.dport = "198.51.100.1", "10.0.0.2", p.dport, p.sport
		p.to, p.from = outsideMAC, routerMAC
	}
	r := f.c.Process(f.now, from, p.frame(), nil)
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
	if got := f.sees(from, pkt{proto: layers.IPProtocolTCP, sport: 1025, dport: 80, flags: flags, window: 512}); got != want {
		f.Errorf("%s from %d at %v: %s, want %s", flags, from, f.now, got, want)
	}
}

// is fails unless the table's flows have these states.
func (f *followed) is(states ...string) {
	f.Helper()
	var got []string
	for _, l := range f.c.Flows(f.now) {
		got = append(got, l.State)
	}
	if strings.Join(got, ",") != strings.Join(states, ",") {
		f.Errorf("flows at %v are %v, want %v", f.now, got, states)
	}
}

func (f *followed) opens() {
	f.Helper()
	f.says(inside, "S", "passes")
	f.says(outside, "SA", "passes")
	f.says(inside, "A", "passes")
}

func TestAConnectionIsFollowedFromItsSYNToTheNext(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	f.says(outside, "SA", "invalid")
	f.says(inside, "S", "passes")
	f.is("opening")
	f.says(outside, "SA", "passes")
	f.is("opening")
	f.says(inside, "A", "passes")
	f.is("established")
	f.says(outside, "S", "passes") // its receiver answers with a challenge ACK (RFC 5961)
	f.is("established")
	f.says(outside, "FA", "passes")
	f.is("closing")
	f.says(outside, "S", "denied") // new again, and to another port than 80
	f.is("closing")
	f.says(inside, "S", "passes")
	f.is("opening")
}

func TestAConnectionThatTheOtherSideBeginsAgainIsThatSides(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	web := pkt{proto: layers.IPProtocolTCP, sport: 80, dport: 5000, window: 512}
	for _, s := range []struct {
		from  int
		flags string
	}{{outside, "S"}, {inside, "FA"}, {inside, "S"}} {
		web.flags = s.flags
		if got := f.sees(s.from, web); got != "passes" {
			t.Errorf("%s from %d: %s", s.flags, s.from, got)
		}
	}
	if l := f.c.Flows(f.now); len(l) != 1 || l[0].From != ap("10.0.0.2:80") || l[0].State != "opening" {
		t.Errorf("flows are %v, want one that 10.0.0.2:80 began", l)
	}
}

func TestImpossibleFlagsAreInvalid(t *testing.T) {
	f := following(t, func(k *element.Tracking) { k.PickUp = true })
	f.says(inside, "S", "passes")
	for _, flags := range []string{"", "F", "SF", "SR", "FR", "SFA", "SRA", "FRA", "SFRA"} {
		f.says(outside, flags, "invalid")
	}
	f.is("opening")
	for _, flags := range []string{"SA", "A", "R", "RA", "S", "FA"} {
		f.says(outside, flags, "passes")
	}
}

func TestConnectionsArePickedUpIfThatIsAskedFor(t *testing.T) {
	for pickUp, want := range map[bool]string{false: "invalid", true: "passes"} {
		f := following(t, func(k *element.Tracking) { k.PickUp = pickUp })
		f.says(inside, "R", "invalid")
		f.says(inside, "SA", "invalid")
		f.says(inside, "A", want)
		f.says(outside, "A", want)
		f.says(inside, "A", want)
		if pickUp {
			f.is("established")
		}
	}
}

func TestFlowsLiveAsLongAsTheirTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		begin   func(f *followed)
		back    pkt
		timeout time.Duration
		over    string
	}{
		"an opening":    {func(f *followed) { f.says(inside, "S", "passes") }, pkt{proto: layers.IPProtocolTCP, flags: "SA"}, followedTimeouts.TCPTransitory, "invalid"},
		"a connection":  {(*followed).opens, pkt{proto: layers.IPProtocolTCP, flags: "A"}, followedTimeouts.TCP, "invalid"},
		"one that ends": {func(f *followed) { f.opens(); f.says(inside, "FA", "passes") }, pkt{proto: layers.IPProtocolTCP, flags: "A"}, followedTimeouts.TCPTransitory, "invalid"},
		"datagrams":     {func(f *followed) { f.sees(inside, pkt{sport: 1025, dport: 80}) }, pkt{}, followedTimeouts.UDP, "denied"},
		"a ping":        {func(f *followed) { f.sees(inside, ping(7)) }, pkt{proto: layers.IPProtocolICMPv4, icmp: echoReply, sport: 7}, followedTimeouts.ICMP, "invalid"},
		"ESP":           {func(f *followed) { f.sees(inside, pkt{proto: 50}) }, pkt{proto: 50}, followedTimeouts.UDP, "denied"},
	} {
		for late, want := range map[time.Duration]string{0: "passes", 1: c.over} {
			f := following(t, func(*element.Tracking) {})
			c.begin(f)
			f.now += c.timeout + late
			if c.back.sport == 0 {
				c.back.sport, c.back.dport = 1025, 80
			}
			if got := f.sees(outside, c.back); got != want {
				t.Errorf("%s, %v after its timeout: %s, want %s", name, late, got, want)
			}
		}
	}
}

func TestOfPingsRequestsComeFromTheSideThatBegan(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	// With identifier 0, both directions look alike.
	request := pkt{proto: layers.IPProtocolICMPv4, icmp: echoRequest}
	reply := pkt{proto: layers.IPProtocolICMPv4, icmp: echoReply}
	zero := func(from int, p pkt) string {
		p.complete()
		p.sport, p.dport = 0, 0
		if from == outside {
			p.src, p.dst, p.to, p.from = "198.51.100.1", "10.0.0.2", outsideMAC, routerMAC
		}
		frame := p.frame()
		copy(frame[14+20+4:], []byte{0, 0})
		r := f.c.Process(f.now, from, frame, nil)
		if len(r.Drops) > 0 {
			return r.Drops[0].Reason
		}
		return "passes"
	}
	for _, s := range []struct {
		from int
		p    pkt
		want string
	}{{outside, reply, "invalid"}, {inside, request, "passes"}, {inside, reply, "invalid"}, {outside, request, "invalid"}, {outside, reply, "passes"}} {
		if got := zero(s.from, s.p); got != s.want {
			t.Errorf("%v from %d: %s, want %s", s.p.icmp, s.from, got, s.want)
		}
	}
}

func TestErrorsAboutAFlowAreRelated(t *testing.T) {
	quoting := func(q pkt, to string) []byte {
		q.ttl = 1
		return pkt{
			src: "203.0.113.9", dst: to, proto: layers.IPProtocolICMPv4, icmp: expired, to: outsideMAC, from: routerMAC, payload: q.frame()[14:],
		}.frame()
	}
	about := pkt{sport: 1025, dport: 80}
	f := following(t, func(*element.Tracking) {})
	fate := func(what string, frame []byte, want string) {
		t.Helper()
		r := f.c.Process(f.now, outside, frame, nil)
		got := "passes"
		if len(r.Drops) > 0 {
			got = r.Drops[0].Reason
		}
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	fate("about no flow", quoting(about, "10.0.0.2"), "invalid")
	f.sees(inside, about)
	fate("about the flow", quoting(about, "10.0.0.2"), "passes")
	fate("about the flow, to another host", quoting(about, "10.0.0.3"), "invalid")
	fate("about another flow", quoting(pkt{sport: 1026, dport: 80}, "10.0.0.2"), "invalid")
	later := about
	later.frag = 1
	fate("about a later fragment", quoting(later, "10.0.0.2"), "invalid")
	f.now += followedTimeouts.UDP + 1
	fate("about a flow that is over", quoting(about, "10.0.0.2"), "invalid")
}

func TestFragmentsAreInvalid(t *testing.T) {
	f := following(t, func(*element.Tracking) {})
	for _, frag := range []uint16{0x2000, 0x2001, 1} {
		if got := f.sees(inside, pkt{frag: frag, payload: make([]byte, 16)}); got != "invalid" {
			t.Errorf("fragment %#x: %s", frag, got)
		}
	}
}

func TestNoMoreFlowsBeginThanThereIsRoomFor(t *testing.T) {
	f := following(t, func(k *element.Tracking) { k.Max = 2 })
	syn := func(port uint16, want string) {
		t.Helper()
		if got := f.sees(inside, pkt{proto: layers.IPProtocolTCP, sport: port, dport: 80, flags: "S"}); got != want {
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
	b := Binding{Node: "fw/flows", Proto: protoTCP, Inside: ap("10.0.0.2:1025"), Remote: ap("198.51.100.1:80")}
	if f.c.Evict(f.now, b) == nil {
		t.Error("a flow that is not there ended")
	}
	f.says(inside, "S", "passes")
	if f.c.Evict(f.now, b) == nil {
		t.Error("an opening that was used a moment ago ended")
	}
	f.now += openingIdle
	if err := f.c.Evict(f.now, b); err != nil {
		t.Error(err)
	}
	f.is()
	f.opens()
	f.now += openingIdle
	if f.c.Evict(f.now, b) == nil {
		t.Error("a connection ended")
	}
}

// TestEvictionEndsTheFlowOfTheSideThatIsNamed has two flows with the same ends, one from each side.
func TestEvictionEndsTheFlowOfTheSideThatIsNamed(t *testing.T) {
	for _, side := range []int{inside, outside} {
		f := following(t, func(*element.Tracking) {})
		web := pkt{proto: layers.IPProtocolTCP, src: "198.51.100.1", dst: "10.0.0.2", sport: 1025, dport: 80, flags: "S"}
		for from := range 2 {
			if from == outside {
				web.to, web.from = outsideMAC, routerMAC
			}
			if r := f.c.Process(f.now, from, web.frame(), nil); len(r.Out) != 1 {
				t.Fatalf("a SYN from side %d: %v", from, r.Drops)
			}
		}
		f.now += openingIdle
		b := Binding{Node: "fw/flows", Proto: protoTCP, Inside: ap("198.51.100.1:1025"), Remote: ap("10.0.0.2:80"), FromOutside: side == outside}
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
	f.says(outside, "S", "denied")
	f.is()
	f.says(inside, "SA", "invalid")
}
