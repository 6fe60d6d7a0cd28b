package oracle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
)

// Timeouts of the tests' connections.
var countedTimeouts = element.Timeouts{TCP: 100 * time.Second, TCPTransitory: 20 * time.Second, TCPClosing: 7 * time.Second, UDP: 10 * time.Second, ICMP: 5 * time.Second}

// limited is inside ⇄ limiter ⇄ outside. Each host may have two connections, all together four. What goes to port 9 is dropped behind the
// limiter as "behind".
type limited struct {
	*testing.T
	c   *interp.Chain
	now time.Duration
}

func limiter(change func(l *element.ConnLimit)) element.ConnLimit {
	l := element.ConnLimit{
		Table: "cl", Timeouts: countedTimeouts, Max: 4, Full: "full",
		PerHost: element.SubscriberLimits{PrefixLen: 32, MaxSessions: 2, Reason: "limit"},
	}
	if change != nil {
		change(&l)
	}
	return l
}

// chain is that of a limiter.
func chain(l element.ConnLimit) *testbed.Builder {
	b := testbed.New()
	n, drop := b.Add("cl/connections", l), b.Add("behind", element.Discard{Reason: "behind"})
	judge := b.Add("judge", element.Classifier{Outs: 2, Rules: []element.Rule{
		{Name: "r", Out: 1, Filters: []headerspace.Filter{testbed.Filter(headerspace.DPort, testbed.One(9))}},
	}})
	b.Wire(b.In(testbed.Inside), 0, n, element.ConnLimitInside)
	b.Wire(n, element.ConnLimitOutside, judge, 0)
	b.Wire(judge, 0, b.Out(testbed.Outside), 0)
	b.Wire(judge, 1, drop, 0)
	b.Wire(b.In(testbed.Outside), 0, n, element.ConnLimitOutside)
	b.Wire(n, element.ConnLimitInside, b.Out(testbed.Inside), 0)
	return b
}

func limiting(t *testing.T, change func(l *element.ConnLimit)) *limited {
	t.Helper()
	return &limited{T: t, c: interp.New(&chain(limiter(change)).Graph, interp.Options{})}
}

// becomes has the limiter go on with other limits.
func (l *limited) becomes(change func(l *element.ConnLimit)) {
	l.c = l.c.Continue(&chain(limiter(change)).Graph, interp.Options{})
}

// fate is what becomes of a packet from inside, or of one with its ends changed over from outside: "passes", or the reason of its drop.
func (l *limited) fate(from int, p testbed.Packet) string {
	l.Helper()
	p.Complete()
	if from == testbed.Outside {
		p.Src, p.Dst, p.Sport, p.Dport = p.Dst, p.Src, p.Dport, p.Sport
		p.To, p.From = testbed.OutsideMAC, testbed.RouterMAC
	}
	return l.runs(from, p.Frame())
}

func (l *limited) runs(from int, frame []byte) string {
	l.Helper()
	switch r := l.c.Process(l.now, from, frame, nil); {
	case len(r.Drops) == 1 && len(r.Out) == 0:
		return r.Drops[0].Reason
	case len(r.Drops) > 0 || len(r.Out) != 1:
		l.Fatalf("%+v", r)
	}
	return passes
}

const passes = "passes"

// sees fails unless that becomes of a packet.
func (l *limited) sees(from int, p testbed.Packet, want string) {
	l.Helper()
	if got := l.fate(from, p); got != want {
		l.Errorf("%+v from %d at %v: %s, want %s", p, from, l.now, got, want)
	}
}

// says has a side of the TCP connection from a port of 10.0.0.2 send a segment.
func (l *limited) says(from int, port uint16, flags, want string) {
	l.Helper()
	l.sees(from, segment(port, flags), want)
}

func segment(port uint16, flags string) testbed.Packet {
	return testbed.Packet{Proto: layers.IPProtocolTCP, Sport: port, Dport: 80, Flags: flags, Window: 512}
}

func (l *limited) opens(port uint16) {
	l.Helper()
	l.says(testbed.Inside, port, "S", passes)
	l.says(testbed.Outside, port, "SA", passes)
	l.says(testbed.Inside, port, "A", passes)
}

// has fails unless the connections that are counted have these states.
func (l *limited) has(states ...string) {
	l.Helper()
	var got []string
	for _, c := range oracle.ConnectionsOf(l.c.Chain, l.now) {
		got = append(got, c.State)
	}
	slices.Sort(got)
	if strings.Join(got, " ") != strings.Join(states, " ") {
		l.Errorf("connections at %v are %v, want %v", l.now, got, states)
	}
}

func from(host string, sport uint16) testbed.Packet {
	return testbed.Packet{Src: host, Sport: sport, Dport: 53}
}

func TestEachHostHasAsManyConnectionsAsItMay(t *testing.T) {
	l := limiting(t, func(l *element.ConnLimit) { l.Max = 100 })
	for _, host := range []string{"10.0.0.2", "10.0.0.3", "10.200.0.2"} {
		l.sees(testbed.Inside, from(host, 1), passes)
		l.sees(testbed.Inside, from(host, 2), passes)
		l.sees(testbed.Inside, from(host, 3), "limit")
		l.sees(testbed.Inside, from(host, 1), passes) // known
	}
	l.has("open", "open", "open", "open", "open", "open")
}

func TestAHostIsAllAddressesOfItsPrefix(t *testing.T) {
	for length, want := range map[int][4]string{
		32: {passes, passes, passes, passes}, 31: {passes, passes, "limit", passes}, 24: {passes, passes, "limit", passes}, 23: {passes, passes, "limit", "limit"},
		8: {passes, passes, "limit", "limit"}, 1: {passes, passes, "limit", "limit"},
	} {
		l := limiting(t, func(l *element.ConnLimit) { l.PerHost.PrefixLen, l.Max = length, 100 })
		for i, p := range []testbed.Packet{from("10.0.0.2", 1), from("10.0.0.3", 1), from("10.0.0.3", 2), from("10.0.1.2", 1)} {
			if got := l.fate(testbed.Inside, p); got != want[i] {
				t.Errorf("/%d, connection %d: %s, want %s", length, i, got, want[i])
			}
		}
	}
}

func TestAConnectionIsToldByAllOfItsEnds(t *testing.T) {
	base := testbed.Packet{Sport: 1, Dport: 53}
	for name, c := range map[string]struct {
		change func(p *testbed.Packet)
		want   string
	}{
		"the same":             {func(*testbed.Packet) {}, passes},
		"another source port":  {func(p *testbed.Packet) { p.Sport = 2 }, "limit"},
		"another port":         {func(p *testbed.Packet) { p.Dport = 54 }, "limit"},
		"another remote":       {func(p *testbed.Packet) { p.Dst = "198.51.100.2" }, "limit"},
		"another protocol":     {func(p *testbed.Packet) { p.Proto, p.Flags = layers.IPProtocolTCP, "S" }, "limit"},
		"of a protocol of old": {func(p *testbed.Packet) { p.Proto = layers.IPProtocolGRE }, "limit"},
	} {
		l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
		l.sees(testbed.Inside, base, passes)
		p := base
		c.change(&p)
		if got := l.fate(testbed.Inside, p); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestTheTableIsFullOnlyForHostsThatMayHaveMore(t *testing.T) {
	l := limiting(t, nil)
	for _, host := range []string{"10.0.0.2", "10.0.0.3"} {
		l.sees(testbed.Inside, from(host, 1), passes)
		l.sees(testbed.Inside, from(host, 2), passes)
	}
	l.sees(testbed.Inside, from("10.0.0.2", 3), "limit")
	l.sees(testbed.Inside, from("10.0.0.4", 1), "full")
	l.now += time.Hour
	l.sees(testbed.Inside, from("10.0.0.4", 1), passes)
	l.has("open")
}

func TestNoConnectionEndsForAnotherOne(t *testing.T) {
	l := limiting(t, func(l *element.ConnLimit) { l.Max = 1 })
	l.says(testbed.Inside, 1, "S", passes)
	l.now += countedTimeouts.TCPTransitory
	l.says(testbed.Inside, 2, "S", "full")
	l.has("opening")
}

func TestConnectionsCountAsLongAsTheirTimeouts(t *testing.T) {
	closes := func(flags ...string) func(l *limited) {
		return func(l *limited) {
			l.opens(1)
			for i, f := range flags {
				l.says(i%2, 1, f, passes)
			}
		}
	}
	for name, c := range map[string]struct {
		begin   func(l *limited)
		timeout time.Duration
	}{
		"an opening":             {func(l *limited) { l.says(testbed.Inside, 1, "S", passes) }, countedTimeouts.TCPTransitory},
		"one that is answered":   {func(l *limited) { l.says(testbed.Inside, 1, "S", passes); l.says(testbed.Outside, 1, "SA", passes) }, countedTimeouts.TCPTransitory},
		"a connection":           {closes(), countedTimeouts.TCP},
		"one with a FIN":         {closes("FA"), countedTimeouts.TCPClosing},
		"one with FINs and ACK":  {closes("FA", "FA", "A"), countedTimeouts.TCPClosing},
		"one that is reset":      {closes("R"), countedTimeouts.TCPClosing},
		"one reset from outside": {closes("A", "R"), countedTimeouts.TCPClosing},
		"one that never opened":  {func(l *limited) { l.says(testbed.Inside, 1, "S", passes); l.says(testbed.Outside, 1, "FA", passes) }, countedTimeouts.TCPClosing},
		"one that is open again": {closes("FA", "FA", "S"), countedTimeouts.TCPTransitory},
		"datagrams":              {func(l *limited) { l.sees(testbed.Inside, testbed.UDP(1, 2), passes) }, countedTimeouts.UDP},
		"a ping":                 {func(l *limited) { l.sees(testbed.Inside, testbed.Ping(1), passes) }, countedTimeouts.ICMP},
		"GRE":                    {func(l *limited) { l.sees(testbed.Inside, testbed.Packet{Proto: layers.IPProtocolGRE}, passes) }, countedTimeouts.UDP},
	} {
		for late, want := range map[time.Duration]string{0: "limit", 1: passes} {
			l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
			c.begin(l)
			l.now += c.timeout + late
			if got := l.fate(testbed.Inside, testbed.UDP(9999, 53)); got != want {
				t.Errorf("%s, %v after its timeout: another one %s, want %s", name, late, got, want)
			}
		}
	}
}

func TestAnRSTOutOfWindowEndsNothing(t *testing.T) {
	l := limiting(t, nil)
	l.opens(1)
	p := segment(1, "R")
	p.Seq = 513 // the window's end is 512
	l.sees(testbed.Outside, p, passes)
	l.has("established")
	p.Seq = 512
	l.sees(testbed.Outside, p, passes)
	l.has("closing")
}

func TestASYNOpensAClosingConnectionAgain(t *testing.T) {
	l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
	l.opens(1)
	l.says(testbed.Inside, 1, "FA", passes)
	l.has("closing")
	l.opens(1) // it counts already
	l.has("established")
	l.now += countedTimeouts.TCP
	l.says(testbed.Inside, 2, "S", "limit")
}

func TestSegmentsThatBeginNoConnectionPassUncounted(t *testing.T) {
	for _, flags := range []string{"", "A", "SA", "R", "RA", "F", "FA", "SF", "SR", "SFRA"} {
		l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
		l.says(testbed.Inside, 1, flags, passes)
		l.has()
		l.says(testbed.Inside, 2, "S", passes)
		l.says(testbed.Inside, 1, flags, passes) // the host has as many as it may
		l.has("opening")
	}
}

func TestBothSidesKeepAConnection(t *testing.T) {
	for side := range 2 {
		l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
		l.sees(testbed.Inside, testbed.UDP(1, 53), passes)
		for range 3 {
			l.now += countedTimeouts.UDP
			l.sees(side, testbed.UDP(1, 53), passes)
		}
		l.now += countedTimeouts.UDP
		l.sees(testbed.Inside, testbed.UDP(2, 53), "limit")
	}
}

func TestWhatBeginsOutsideIsNotCounted(t *testing.T) {
	l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
	for port := range uint16(3) {
		l.says(testbed.Outside, 1+port, "S", passes)
		l.sees(testbed.Outside, testbed.UDP(1+port, 53), passes)
		l.says(testbed.Inside, 1+port, "SA", passes) // the answer begins none
	}
	l.has()
	l.sees(testbed.Inside, testbed.UDP(1, 53), passes) // a datagram tells not who began
	l.sees(testbed.Inside, testbed.UDP(2, 53), "limit")
}

func TestPingsAreToldByTheirIdentifierAndDirection(t *testing.T) {
	l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
	reply := func(id uint16) testbed.Packet {
		return testbed.Packet{Proto: layers.IPProtocolICMPv4, ICMP: testbed.EchoReply, Sport: id}
	}
	inside := reply(0)
	inside.Dport = 7 // a reply's identifier
	l.sees(testbed.Inside, inside, passes)
	request := testbed.Ping(0)
	request.Dport = 7
	l.sees(testbed.Outside, request, passes)
	l.has() // neither begins one
	l.sees(testbed.Inside, testbed.Ping(7), passes)
	l.sees(testbed.Inside, testbed.Ping(8), "limit")
	timestamp := testbed.Ping(7)
	timestamp.ICMP = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeTimestampRequest, 0)
	l.sees(testbed.Inside, timestamp, passes) // of the same identifier
	l.now += countedTimeouts.ICMP
	l.sees(testbed.Inside, inside, passes)
	l.sees(testbed.Outside, reply(7), passes)
	l.now += countedTimeouts.ICMP
	l.has("open") // the reply from outside kept it
	l.now++
	l.has()
}

func TestProtocolsWithoutPortsAreToldByAddresses(t *testing.T) {
	for _, proto := range []layers.IPProtocol{layers.IPProtocolGRE, layers.IPProtocolESP, layers.IPProtocolSCTP, layers.IPProtocolAH, 33, layers.IPProtocolUDPLite} {
		l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
		p := testbed.Packet{Proto: proto, Payload: make([]byte, 20)}
		l.sees(testbed.Inside, p, passes)
		p.Payload = []byte("other ports, perhaps")
		l.sees(testbed.Inside, p, passes)
		l.has("open")
		p.Dst = "198.51.100.2"
		l.sees(testbed.Inside, p, "limit")
	}
}

func TestWhatTellsNoConnectionPasses(t *testing.T) {
	quoted := testbed.UDP(1, 53)
	for name, p := range map[string]testbed.Packet{
		"a first fragment":         {Frag: 0x2000, Payload: make([]byte, 16)},
		"a fragment amid":          {Frag: 0x2001, Payload: make([]byte, 16)},
		"a last fragment":          {Frag: 1, Payload: make([]byte, 16)},
		"an error":                 {Proto: layers.IPProtocolICMPv4, ICMP: testbed.Expired, Payload: quoted.Frame()[14:]},
		"an error without a quote": {Proto: layers.IPProtocolICMPv4, ICMP: testbed.Expired},
		"a router solicitation":    {Proto: layers.IPProtocolICMPv4, ICMP: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeRouterSolicitation, 0)},
		"a fragment of GRE":        {Proto: layers.IPProtocolGRE, Frag: 0x2000, Payload: make([]byte, 16)},
	} {
		for _, full := range []bool{false, true} {
			l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
			var want []string
			if full {
				l.sees(testbed.Inside, quoted, passes)
				want = []string{"open"}
			}
			l.now += countedTimeouts.UDP
			for side := range 2 {
				if got := l.fate(side, p); got != passes {
					t.Errorf("%s from %d: %s", name, side, got)
				}
			}
			l.has(want...)
			l.now++
			l.has() // it kept nothing
		}
	}
}

func TestHeadersThatNoHostTakesTellNoConnection(t *testing.T) {
	l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
	frame := testbed.UDP(1, 53).Frame()
	frame[14+20+5] = 7 // UDP's length
	if got := l.runs(testbed.Inside, frame); got != passes {
		t.Error(got)
	}
	frame = segment(1, "S").Frame()
	frame[14+20+12] = 4 << 4
	if got := l.runs(testbed.Inside, frame); got != passes {
		t.Error(got)
	}
	l.has()
}

func TestAConnectionOfAPacketThatIsDroppedLaterIsTakenBack(t *testing.T) {
	l := limiting(t, func(l *element.ConnLimit) { l.PerHost.MaxSessions = 1 })
	refused := testbed.UDP(1, 9)
	for range 3 {
		l.sees(testbed.Inside, refused, "behind")
		l.has()
	}
	l.sees(testbed.Inside, testbed.UDP(2, 53), passes)
	l.sees(testbed.Inside, refused, "limit") // it comes to the limiter first
}

func TestAPacketThatIsDroppedLaterUsesNoConnection(t *testing.T) {
	l := limiting(t, nil)
	b := chain(limiter(nil))
	b.Wire(b.Node("cl/connections"), element.ConnLimitOutside, b.Out(testbed.Outside), 0)
	l.c = interp.New(&b.Graph, interp.Options{}) // nothing is dropped behind this one
	syn := segment(1, "S")
	syn.Dport = 9
	l.sees(testbed.Inside, syn, passes)
	l.becomes(nil)
	l.now += countedTimeouts.TCPTransitory
	l.sees(testbed.Inside, syn, "behind")
	l.has("opening")
	l.now++
	l.has()
}

func TestConnectionsOutliveAChangeOfTheChain(t *testing.T) {
	l := limiting(t, nil)
	l.opens(1)
	l.sees(testbed.Inside, testbed.UDP(1, 53), passes)
	l.becomes(nil)
	l.says(testbed.Inside, 2, "S", "limit")
	l.has("established", "open")
}

func TestConnectionsBeyondALowerLimitStay(t *testing.T) {
	l := limiting(t, nil)
	l.opens(1)
	l.opens(2)
	lower := func(l *element.ConnLimit) { l.Max, l.PerHost.MaxSessions = 1, 1 }
	l.becomes(lower)
	l.has("established", "established")
	l.says(testbed.Inside, 1, "A", passes)
	l.says(testbed.Inside, 3, "S", "limit")
	l.sees(testbed.Inside, from("10.0.0.3", 1), "full")
	l.says(testbed.Inside, 2, "FA", passes)
	l.now += countedTimeouts.TCPClosing + 1
	l.says(testbed.Inside, 3, "S", "limit") // one is left
	l.says(testbed.Inside, 1, "FA", passes)
	l.now += countedTimeouts.TCPClosing + 1
	l.says(testbed.Inside, 3, "S", passes)
}

func TestConnectionsCountForTheHostsOfNow(t *testing.T) {
	l := limiting(t, nil)
	l.sees(testbed.Inside, from("10.0.0.2", 1), passes)
	l.sees(testbed.Inside, from("10.0.0.3", 1), passes)
	l.becomes(func(l *element.ConnLimit) { l.PerHost.PrefixLen = 31 })
	l.sees(testbed.Inside, from("10.0.0.3", 2), "limit")
	l.becomes(nil)
	l.sees(testbed.Inside, from("10.0.0.3", 2), passes)
}

func TestConnectionsEndWithTheTimeoutsOfNow(t *testing.T) {
	l := limiting(t, nil)
	l.sees(testbed.Inside, testbed.UDP(1, 53), passes)
	l.becomes(func(l *element.ConnLimit) { l.Timeouts.UDP = time.Second })
	l.now += time.Second
	l.has("open")
	l.now++
	l.has()
}

func TestALimiterTellsHowManyConnectionsAHostHas(t *testing.T) {
	var notes []string
	c := interp.New(&chain(limiter(nil)).Graph, interp.Options{Trace: func(s interp.Step) {
		if s.Node == "cl/connections" {
			notes = append(notes, s.Note)
		}
	}})
	for port := range uint16(3) {
		c.Process(0, testbed.Inside, testbed.UDP(1+port, 53).Frame(), nil)
	}
	want := []string{"a connection begins, the host has 1 of 2", "a connection begins, the host has 2 of 2", "drop limit"}
	if !slices.Equal(notes, want) {
		t.Errorf("%q, want %q", notes, want)
	}
}
