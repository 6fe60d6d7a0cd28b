package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/stop/oracle"
)

// Timeouts of the tests' flows.
var timeouts = element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 20 * time.Second, TCPClosing: 7 * time.Second, UDP: 10 * time.Second, ICMP: 5 * time.Second}

// passing is inside ⇄ (function, or past it) ⇄ outside. The function drops packets of TTL 7 as "function"; those of TTL 9 are dropped behind it, and
// behind the way past it, as "behind".
type passing struct {
	*testing.T
	c    *interp.Chain
	now  time.Duration
	went map[string]uint64 // packets by where they went
}

// Ways of packets.
const (
	through = "through"
	past    = "past"
)

func table(change func(p *element.Passing)) element.Passing {
	p := element.Passing{Table: "ips", Timeouts: timeouts, Max: 100, Packets: 3}
	if change != nil {
		change(&p)
	}
	return p
}

// dropping passes all packets but those of a TTL.
func dropping(ttl uint64) element.Classifier {
	return element.Classifier{Outs: 2, Rules: []element.Rule{{Name: "r", Out: 1, Filters: []headerspace.Filter{testbed.Filter(headerspace.TTL, testbed.One(ttl))}}}}
}

func chain(p element.Passing) *testbed.Builder {
	b := testbed.New()
	lost, behind := b.Add("lost", element.Discard{Reason: "function"}), b.Add("behind", element.Discard{Reason: "behind"})
	for from := range 2 {
		name, outside := fmt.Sprint(from), from == testbed.Outside
		before, passed := b.Add("ips/bypass-"+name, element.Bypass{Passing: p, FromOutside: outside}), b.Add("ips/passed-"+name, element.Passed{Passing: p, FromOutside: outside})
		inside, over := b.Add("ips/through-"+name, element.Counter{}), b.Add("ips/past-"+name, element.Counter{})
		function, judge := b.Add("ips/function-"+name, dropping(7)), b.Add("judge-"+name, dropping(9))
		b.Wire(b.In(from), 0, before, 0)
		b.Wire(before, element.BypassThrough, inside, 0)
		b.Wire(inside, 0, function, 0)
		b.Wire(function, 0, passed, 0)
		b.Wire(function, 1, lost, 0)
		b.Wire(passed, 0, judge, 0)
		b.Wire(before, element.BypassPast, over, 0)
		b.Wire(over, 0, judge, 0)
		b.Wire(judge, 0, b.Out(1-from), 0)
		b.Wire(judge, 1, behind, 0)
	}
	return b
}

func counting(t *testing.T, change func(p *element.Passing)) *passing {
	t.Helper()
	return &passing{T: t, c: interp.New(&chain(table(change)).Graph, interp.Options{}), went: map[string]uint64{}}
}

// becomes has the chain go on with another table.
func (s *passing) becomes(change func(p *element.Passing)) {
	s.c = s.c.Continue(&chain(table(change)).Graph, interp.Options{})
}

// sees fails unless a packet from inside, or one with its ends changed over from outside, goes that way and leaves, or is dropped on it if it has such
// a TTL.
func (s *passing) sees(from int, p testbed.Packet, want string) {
	s.Helper()
	p.Complete()
	if from == testbed.Outside {
		p.Src, p.Dst, p.Sport, p.Dport = p.Dst, p.Src, p.Dport, p.Sport
		p.To, p.From = testbed.OutsideMAC, testbed.RouterMAC
	}
	s.sends(from, p.Frame(), p.TTL, want)
}

func (s *passing) sends(from int, frame []byte, ttl uint8, want string) {
	s.Helper()
	r := s.c.Process(s.now, from, frame, nil)
	var got []string
	for _, way := range []string{through, past} {
		n := s.c.Counters()["ips/"+way+"-0"].Packets + s.c.Counters()["ips/"+way+"-1"].Packets
		if n > s.went[way] {
			got = append(got, way)
		}
		s.went[way] = n
	}
	if !slices.Equal(got, []string{want}) {
		s.Errorf("a packet from %d at %v went %v, want %s", from, s.now, got, want)
	}
	switch {
	case ttl == 9:
		testbed.Dropped(s.T, r, "behind")
	case ttl == 7 && want == through:
		testbed.Dropped(s.T, r, "function")
	default:
		testbed.Only(s.T, r)
	}
}

// has fails unless the flows are, by their states and the packets to come, "through 2" and "past" for example.
func (s *passing) has(want ...string) {
	s.Helper()
	var got []string
	for _, f := range oracle.FlowsOf(s.c.Chain, s.now) {
		text := f.State
		if f.Remaining > 0 {
			text += fmt.Sprint(" ", f.Remaining)
		}
		got = append(got, text)
	}
	slices.Sort(got)
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.Errorf("flows at %v are %q, want %q", s.now, got, want)
	}
}

// segment is of the connection from port 1025 of 10.0.0.2.
func segment(flags string) testbed.Packet {
	return testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 1025, Dport: 80, Flags: flags, Window: 512}
}

// with gives a packet a TTL, by which it is dropped.
func with(ttl uint8, p testbed.Packet) testbed.Packet {
	p.TTL = ttl
	return p
}

// The TTLs of packets that are dropped.
const (
	atFunction = 7
	behindIt   = 9
)

func TestPacketsOfBothDirectionsCountTogether(t *testing.T) {
	s := counting(t, nil)
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	s.has("through 2")
	s.sees(testbed.Outside, testbed.UDP(1, 53), through)
	s.has("through 1")
	s.sees(testbed.Outside, testbed.UDP(1, 53), through)
	s.has("past")
	for side := range 2 {
		s.sees(side, testbed.UDP(1, 53), past)
		s.sees(side, testbed.UDP(2, 53), through) // another one
	}
	s.has("past", "through 1")
}

func TestTheFirstPacketsGoThroughAndTheNextPast(t *testing.T) {
	for _, n := range []int{1, 2, 5, 65535} {
		s := counting(t, func(p *element.Passing) { p.Packets = n })
		for range n {
			s.sees(testbed.Inside, testbed.UDP(1, 53), through)
		}
		s.has("past")
		s.sees(testbed.Inside, testbed.UDP(1, 53), past)
		s.sees(testbed.Inside, testbed.UDP(2, 53), through)
	}
}

func TestAFlowIsToldBySides(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 1 })
	p := testbed.Packet{Dst: "10.0.0.9", Sport: 1, Dport: 53}
	s.sees(testbed.Inside, p, through)
	p.Complete()
	p.To, p.From = testbed.OutsideMAC, testbed.RouterMAC
	s.sends(testbed.Outside, p.Frame(), 64, through) // the same ends, from the other side
	s.has("past", "past")
	flows := oracle.FlowsOf(s.c.Chain, s.now)
	for _, f := range flows {
		if f.From != testbed.AddrPort("10.0.0.2:1") || f.To != testbed.AddrPort("10.0.0.9:53") || f.Table != "ips" || f.Proto != 17 {
			t.Errorf("a flow is %v", f)
		}
	}
	if flows[0].FromOutside == flows[1].FromOutside {
		t.Errorf("want a flow of each side, got %v", flows)
	}
}

func TestDroppedPacketsDoNotCount(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 2 })
	for _, ttl := range []uint8{atFunction, behindIt} {
		s.sees(testbed.Inside, with(ttl, testbed.UDP(1, 53)), through)
		s.has() // nor does a flow begin
	}
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	s.now += timeouts.UDP
	for _, ttl := range []uint8{atFunction, behindIt} {
		s.sees(testbed.Outside, with(ttl, testbed.UDP(1, 53)), through)
	}
	s.has("through 1")
	s.now++
	s.has() // nor do they refresh it
}

func TestAPacketThatIsDroppedOnItsWayPastRefreshesNothing(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 1 })
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	s.now += timeouts.UDP
	s.sees(testbed.Inside, with(behindIt, testbed.UDP(1, 53)), past)
	s.sees(testbed.Inside, with(atFunction, testbed.UDP(1, 53)), past) // it leaves, and refreshes
	s.now += timeouts.UDP
	s.sees(testbed.Inside, with(behindIt, testbed.UDP(1, 53)), past)
	s.has("past")
	s.now++
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
}

func TestPacketsBeforeTheFunctionRefreshNothing(t *testing.T) {
	s := counting(t, nil)
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	s.now += timeouts.UDP
	s.sees(testbed.Inside, with(atFunction, testbed.UDP(1, 53)), through)
	s.now++
	s.has()
}

func TestEachPacketThatPassesRefreshesItsFlow(t *testing.T) {
	for side := range 2 {
		s := counting(t, nil)
		for _, want := range []string{through, through, through, past, past} {
			s.sees(side, testbed.UDP(1, 53), want)
			s.now += timeouts.UDP
		}
		s.has("past")
		s.now++
		s.has()
	}
}

func TestASYNBeginsAgain(t *testing.T) {
	for _, flags := range []string{"S", "SF", "SR"} {
		s := counting(t, nil)
		for i, f := range []string{"S", "SA", "A"} {
			s.sees(i%2, segment(f), through)
		}
		s.sees(testbed.Inside, segment("A"), past)
		s.sees(testbed.Inside, with(atFunction, segment(flags)), through) // it has not passed
		s.has("past")
		s.sees(testbed.Outside, segment(flags), through)
		s.has("through 2")
		if f := oracle.FlowsOf(s.c.Chain, s.now); !f[0].FromOutside {
			t.Errorf("%v, want that its inside is the side which sent the SYN", f)
		}
		s.sees(testbed.Inside, segment("SA"), through)
		s.sees(testbed.Inside, segment("S"), through) // one that is still counted, too
		s.has("through 2")
	}
}

func TestASYNEndsItsFlowEvenIfItIsDropped(t *testing.T) {
	for _, before := range []int{1, 3} { // counted, past
		s := counting(t, nil)
		for range before {
			s.sees(testbed.Inside, segment("A"), through)
		}
		s.sees(testbed.Inside, with(behindIt, segment("S")), through)
		s.has()
		s.sees(testbed.Inside, segment("A"), through)
		s.has("through 2")
	}
}

func TestASYNThatIsLookedAtAloneEndsNothing(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 1 })
	s.sees(testbed.Inside, segment("A"), through)
	s.c.Peek(s.now, testbed.Inside, segment("S").Frame(), nil)
	s.c.Peek(s.now, testbed.Inside, testbed.UDP(1, 53).Frame(), nil)
	s.has("past")
	s.sees(testbed.Inside, segment("A"), past)
}

func TestSYNACKsAreAsAnySegment(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 1 })
	s.sees(testbed.Inside, segment("SA"), through)
	s.sees(testbed.Inside, segment("SA"), past)
	s.sees(testbed.Outside, segment("SA"), past)
}

func TestFlowsLiveAsLongAsTheirTimeouts(t *testing.T) {
	says := func(flags ...string) func(s *passing) {
		return func(s *passing) {
			for i, f := range flags {
				s.sees(i%2, segment(f), map[bool]string{true: through, false: past}[i < 3])
			}
		}
	}
	one := func(p testbed.Packet) func(s *passing) {
		return func(s *passing) { s.sees(testbed.Inside, p, through) }
	}
	for name, k := range map[string]struct {
		begin   func(s *passing)
		timeout time.Duration
	}{
		"a SYN":                   {says("S"), timeouts.TCPTransitory},
		"one that is answered":    {says("S", "SA"), timeouts.TCPTransitory},
		"a connection":            {says("S", "SA", "A"), timeouts.TCP},
		"one that was there":      {says("A", "A", "A"), timeouts.TCP},
		"one that is used past":   {says("S", "SA", "A", "A", "A"), timeouts.TCP},
		"one with a FIN":          {says("S", "SA", "FA"), timeouts.TCPClosing},
		"one with a FIN past":     {says("S", "SA", "A", "FA"), timeouts.TCPClosing},
		"one that is reset past":  {says("S", "SA", "A", "R"), timeouts.TCPClosing},
		"a reset alone":           {says("R"), timeouts.TCPTransitory},
		"datagrams":               {one(testbed.UDP(1, 53)), timeouts.UDP},
		"a ping":                  {one(testbed.Ping(1)), timeouts.ICMP},
		"GRE":                     {one(testbed.Packet{Proto: layers.IPProtocolGRE}), timeouts.UDP},
		"one that is open at all": {says("S", "SA", "A", "A"), timeouts.TCP},
	} {
		s := counting(t, nil)
		k.begin(s)
		s.now += k.timeout
		if n := len(oracle.FlowsOf(s.c.Chain, s.now)); n != 1 {
			t.Errorf("%s: %d flows at its timeout, want 1", name, n)
		}
		s.now++
		if n := len(oracle.FlowsOf(s.c.Chain, s.now)); n != 0 {
			t.Errorf("%s: %d flows a nanosecond after its timeout, want none", name, n)
		}
	}
}

func TestAFlowThatIsOverBeginsAnew(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 1 })
	for range 2 {
		s.sees(testbed.Inside, testbed.UDP(1, 53), through)
		s.now += timeouts.UDP + 1
	}
	s.sees(testbed.Inside, with(behindIt, testbed.UDP(1, 53)), through)
	s.has()
}

func TestFragmentsAndErrorsAlwaysGoThrough(t *testing.T) {
	about := testbed.UDP(1, 53)
	solicitation := layers.CreateICMPv4TypeCode(layers.ICMPv4TypeRouterSolicitation, 0)
	for name, p := range map[string]testbed.Packet{
		"a first fragment":        {Sport: 1, Dport: 53, Frag: 0x2000, Payload: make([]byte, 16)},
		"a fragment amid":         {Sport: 1, Dport: 53, Frag: 0x2001, Payload: make([]byte, 16)},
		"a last fragment":         {Sport: 1, Dport: 53, Frag: 1, Payload: make([]byte, 16)},
		"a fragment of GRE":       {Proto: layers.IPProtocolGRE, Frag: 0x2000, Payload: make([]byte, 16)},
		"a SYN in a fragment":     {Proto: layers.IPProtocolTCP, Sport: 1, Dport: 53, Flags: "S", Frag: 0x2000, Payload: make([]byte, 16)},
		"an error":                {Proto: layers.IPProtocolICMPv4, ICMP: testbed.Expired, Payload: about.Frame()[14:]},
		"a router's solicitation": {Proto: layers.IPProtocolICMPv4, ICMP: solicitation},
	} {
		t.Run(name, func(t *testing.T) {
			s := counting(t, func(p *element.Passing) { p.Packets = 1 })
			for side := range 2 {
				s.sees(side, p, through)
			}
			s.has()
			s.sees(testbed.Inside, about, through)
			s.sees(testbed.Inside, testbed.Packet{Proto: layers.IPProtocolGRE}, through)
			s.sees(testbed.Inside, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 1, Dport: 53, Flags: "A"}, through)
			for side := range 2 {
				s.sees(side, p, through)
			}
			s.has("past", "past", "past")
		})
	}
}

func TestHeadersThatNoHostTakesTellNoFlow(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 1 })
	short := testbed.UDP(1, 53).Frame()
	short[14+20+5] = 7 // UDP's length
	torn := segment("S").Frame()
	torn[14+20+12] = 4 << 4
	for range 2 {
		s.sends(testbed.Inside, short, 64, through)
		s.sends(testbed.Inside, torn, 64, through)
	}
	s.has()
}

func TestPingsAreToldByTheirIdentifier(t *testing.T) {
	reply := testbed.Packet{Proto: layers.IPProtocolICMPv4, ICMP: testbed.EchoReply, Sport: 7}
	s := counting(t, func(p *element.Passing) { p.Packets = 2 })
	s.sees(testbed.Inside, testbed.Ping(7), through)
	s.sees(testbed.Outside, reply, through) // from the remote, with the requester's identifier
	s.has("past")
	s.sees(testbed.Inside, testbed.Ping(7), past)
	s.sees(testbed.Outside, reply, past)
	timestamp := testbed.Ping(7)
	timestamp.ICMP = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeTimestampRequest, 0)
	s.sees(testbed.Inside, timestamp, past) // of the same identifier
	s.sees(testbed.Inside, testbed.Ping(8), through)
	s.sees(testbed.Outside, testbed.Ping(7), through) // a request of the other side
	s.has("past", "through 1", "through 1")
}

func TestNobodyHasToAskFirst(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Packets = 1 })
	reply := testbed.Packet{Proto: layers.IPProtocolICMPv4, ICMP: testbed.EchoReply, Sport: 7}
	s.sees(testbed.Outside, reply, through)
	s.sees(testbed.Outside, reply, past)
	s.sees(testbed.Inside, testbed.Ping(7), past)
}

func TestProtocolsWithoutPortsAreToldByAddresses(t *testing.T) {
	for _, proto := range []layers.IPProtocol{layers.IPProtocolGRE, layers.IPProtocolESP, layers.IPProtocolSCTP, layers.IPProtocolAH, 33, layers.IPProtocolUDPLite} {
		s := counting(t, func(p *element.Passing) { p.Packets = 2 })
		p := testbed.Packet{Proto: proto, Payload: make([]byte, 20)}
		s.sees(testbed.Inside, p, through)
		p.Payload = []byte("other ports, perhaps")
		s.sees(testbed.Outside, p, through)
		s.sees(testbed.Inside, p, past)
		p.Dst = "198.51.100.2"
		s.sees(testbed.Inside, p, through)
		s.has("past", "through 1")
	}
}

func TestWhereThereIsNoRoomPacketsGoThrough(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Max, p.Packets = 2, 1 })
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	s.now += timeouts.UDP
	s.sees(testbed.Inside, testbed.UDP(2, 53), through)
	for range 3 {
		s.sees(testbed.Inside, testbed.UDP(3, 53), through)
	}
	s.sees(testbed.Inside, testbed.UDP(2, 53), past)
	s.has("past", "past")
	s.now++ // the first is over
	s.sees(testbed.Inside, testbed.UDP(3, 53), through)
	s.sees(testbed.Inside, testbed.UDP(3, 53), past)
	s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	s.has("past", "past")
}

func TestAFlowThatBeginsAgainHasItsOwnRoom(t *testing.T) {
	s := counting(t, func(p *element.Passing) { p.Max, p.Packets = 1, 1 })
	s.sees(testbed.Inside, segment("A"), through)
	s.sees(testbed.Inside, segment("S"), through)
	s.sees(testbed.Inside, segment("A"), past)
	s.becomes(func(p *element.Passing) { p.Max = 0 })
	s.sees(testbed.Inside, segment("S"), through)
	s.has() // there is no room any more
}

func TestFlowsOutliveAChangeOfTheChainWithTheirNumbers(t *testing.T) {
	s := counting(t, nil)
	for range 3 {
		s.sees(testbed.Inside, testbed.UDP(1, 53), through)
	}
	s.sees(testbed.Inside, testbed.UDP(2, 53), through)
	s.becomes(func(p *element.Passing) { p.Packets, p.Timeouts.UDP = 5, time.Second })
	s.has("past", "through 2")
	s.sees(testbed.Inside, testbed.UDP(1, 53), past)
	s.sees(testbed.Outside, testbed.UDP(2, 53), through)
	s.sees(testbed.Outside, testbed.UDP(2, 53), through)
	s.sees(testbed.Inside, testbed.UDP(3, 53), through)
	s.has("past", "past", "through 4")
	s.becomes(func(p *element.Passing) { p.Packets, p.Timeouts.UDP = 1, time.Second })
	s.has("past", "past", "through 4")
	s.now += time.Second
	s.sees(testbed.Inside, testbed.UDP(1, 53), past)
	s.now++
	s.has("past") // with the timeouts of now
}

func TestExplanationsSayWhy(t *testing.T) {
	var notes []string
	c := interp.New(&chain(table(func(p *element.Passing) { p.Packets, p.Max = 2, 1 })).Graph, interp.Options{Trace: func(s interp.Step) {
		if strings.HasPrefix(s.Node, "ips/bypass") || strings.HasPrefix(s.Node, "ips/passed") {
			notes = append(notes, s.Note)
		}
	}})
	for _, p := range []testbed.Packet{segment("A"), segment("A"), segment("A"), segment("S"), testbed.UDP(1, 53), {Frag: 1, Payload: make([]byte, 16)}} {
		c.Process(0, testbed.Inside, p.Frame(), nil)
	}
	want := []string{
		"the function let no packet of the flow through yet: to it", "1 of 2 packets passed",
		"the function let 1 of 2 packets of the flow through: to it", "2 of 2 packets passed",
		"the function let 2 packets of the flow through: past it",
		"a SYN: to the function", "1 of 2 packets passed",
		"the function let no packet of the flow through yet: to it", "there is no room for its flow: not counted",
		"it tells no flow: to the function", "it tells no flow: not counted",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("%q, want %q", notes, want)
	}
}
