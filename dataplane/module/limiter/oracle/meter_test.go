package oracle_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/limiter/oracle"
)

// sized is a packet of so many bytes of IP.
func sized(bytes int) testbed.Packet { return testbed.Packet{Payload: make([]byte, bytes-28)} }

// marking is the meter with red packets dropped as "red" and yellow ones marked with DSCP 10.
func marking(m element.Meter) element.Meter {
	m.Yellow, m.Red = element.MeterAction{Mark: true, DSCP: 10}, element.MeterAction{Drop: "red"}
	return m
}

// packets that a meter measures in order: after a pause, of a size, with a DSCP; and the colour that is right.
type measured struct {
	pause time.Duration
	bytes int
	dscp  byte
	want  string
}

func (k measured) frame() []byte {
	f := sized(k.bytes).Frame()
	testbed.SetDSCP(f, k.dscp)
	return f
}

// colourOf is what a result says of the colour that a marking meter gave.
func colourOf(r pass.Result) string {
	switch {
	case len(r.Drops) == 1 && r.Drops[0].Reason == "red":
		return "red"
	case len(r.Out) != 1:
		return fmt.Sprintf("%+v", r)
	case r.Out[0].Frame[15]>>2 == 10:
		return "yellow"
	}
	return "green"
}

// colouring is a meter and what it makes of packets in order.
type colouring struct {
	meter   element.Meter
	packets []measured
}

const ms = time.Millisecond

// Meters that get a byte in a microsecond.
var (
	single = element.Meter{Rate: 8e6, Burst: 1000 * 8, ExcessBurst: 500 * 8}
	twice  = element.Meter{Rate: 8e6, Burst: 1000 * 8, PeakRate: 16e6, ExcessBurst: 1500 * 8}
)

func aware(m element.Meter) element.Meter {
	m.ComesYellow, m.ComesRed = 1<<11, 1<<13
	return m
}

var rfc2697 = map[string]colouring{
	"RFC 2697: first the burst, then the excess burst, then nothing": {single, []measured{
		{0, 1000, 0, "green"}, {0, 100, 0, "yellow"}, {0, 400, 0, "yellow"}, {0, 28, 0, "red"},
	}},
	"RFC 2697: a packet that the burst has no room for leaves it to smaller ones": {single, []measured{
		{0, 900, 0, "green"}, {0, 101, 0, "yellow"}, {0, 100, 0, "green"}, {0, 28, 0, "yellow"},
	}},
	"RFC 2697: a red packet takes nothing": {single, []measured{
		{0, 900, 0, "green"}, {0, 450, 0, "yellow"}, {0, 101, 0, "red"}, {0, 100, 0, "green"}, {0, 50, 0, "yellow"},
	}},
	"RFC 2697: time fills the burst first": {single, []measured{
		{0, 1000, 0, "green"}, {0, 500, 0, "yellow"}, {100 * time.Microsecond, 100, 0, "green"}, {0, 28, 0, "red"},
	}},
	"RFC 2697: a nanosecond too early": {single, []measured{
		{0, 1000, 0, "green"}, {0, 500, 0, "yellow"}, {100*time.Microsecond - 1, 100, 0, "red"}, {1, 100, 0, "green"},
	}},
	"RFC 2697: the rest of the time fills the excess burst": {single, []measured{
		{0, 1000, 0, "green"}, {0, 500, 0, "yellow"}, {1200 * time.Microsecond, 1000, 0, "green"}, {0, 200, 0, "yellow"}, {0, 28, 0, "red"},
	}},
	"RFC 2697: neither gets more than it holds": {single, []measured{
		{0, 1000, 0, "green"}, {time.Hour, 1000, 0, "green"}, {0, 500, 0, "yellow"}, {0, 28, 0, "red"},
	}},
	"RFC 2697: without an excess burst there is no yellow": {element.Meter{Rate: 8e6, Burst: 8000}, []measured{
		{0, 1000, 0, "green"}, {0, 28, 0, "red"}, {ms, 1000, 0, "green"},
	}},
	"RFC 2697: a thousand years are only a full burst": {single, []measured{
		{0, 1000, 0, "green"}, {100 * 365 * 24 * time.Hour, 1000, 0, "green"}, {0, 500, 0, "yellow"}, {0, 28, 0, "red"},
	}},
	"RFC 2697, colour-blind: DSCPs are ignored": {single, []measured{
		{0, 500, 13, "green"}, {0, 500, 11, "green"},
	}},
	"RFC 2697, colour-aware: yellow ones take from the excess burst alone, red ones nothing": {aware(single), []measured{
		{0, 100, 13, "red"}, {0, 400, 11, "yellow"}, {0, 101, 11, "red"}, {0, 1000, 0, "green"}, {0, 100, 0, "yellow"}, {0, 28, 0, "red"},
	}},
}

var rfc2698 = map[string]colouring{
	"RFC 2698: beyond the committed burst yellow, beyond the peak burst red": {twice, []measured{
		{0, 1000, 0, "green"}, {0, 500, 0, "yellow"}, {0, 28, 0, "red"},
	}},
	"RFC 2698: a packet that the peak burst has no room for takes nothing": {twice, []measured{
		{0, 900, 0, "green"}, {0, 601, 0, "red"}, {0, 500, 0, "yellow"}, {0, 100, 0, "green"}, {0, 28, 0, "red"},
	}},
	"RFC 2698: each burst fills at its own rate": {twice, []measured{
		{0, 1000, 0, "green"},
		{0, 500, 0, "yellow"},
		{100 * time.Microsecond, 100, 0, "green"},
		{0, 100, 0, "yellow"},
		{0, 28, 0, "red"},
	}},
	"RFC 2698: neither gets more than it holds": {twice, []measured{
		{0, 1000, 0, "green"}, {time.Hour, 1000, 0, "green"}, {0, 500, 0, "yellow"}, {0, 28, 0, "red"},
	}},
	"RFC 2698, colour-aware: yellow ones take no committed tokens, red ones nothing": {aware(twice), []measured{
		{0, 1000, 13, "red"},
		{0, 500, 11, "yellow"},
		{0, 1000, 0, "green"},
		{0, 28, 0, "red"},
		{50 * time.Microsecond, 50, 11, "yellow"},
		{0, 50, 0, "green"},
	}},
}

var otherMeters = map[string]colouring{
	"packets: size is ignored": {element.Meter{Packets: true, Rate: 1000, Burst: 2, ExcessBurst: 1}, []measured{
		{0, 1000, 0, "green"},
		{0, 28, 0, "green"},
		{0, 1400, 0, "yellow"},
		{0, 28, 0, "red"},
		{ms - 1, 28, 0, "red"},
		{1, 1400, 0, "green"},
		{0, 28, 0, "red"},
	}},
	"a slow rate loses nothing by packets that come often": {element.Meter{Packets: true, Rate: 3, Burst: 1}, []measured{
		{0, 28, 0, "green"}, {111111111, 28, 0, "red"}, {111111111, 28, 0, "red"}, {111111111, 28, 0, "red"}, {1, 28, 0, "green"},
	}},
	"the fastest rate and the largest burst": {element.Meter{Rate: 1e12, Burst: element.MaxBurst, PeakRate: 1e12, ExcessBurst: element.MaxBurst}, []measured{
		{0, 1500, 0, "green"}, {1 << 62, 1500, 0, "green"},
	}},
}

func TestAMeterColoursPackets(t *testing.T) {
	cases := maps.Clone(rfc2697)
	maps.Copy(cases, rfc2698)
	maps.Copy(cases, otherMeters)
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			c, now := interp.New(testbed.OneElement(marking(k.meter)), interp.Options{}), testbed.Seconds(1)
			for i, p := range k.packets {
				now += p.pause
				if got := colourOf(c.Process(now, testbed.Inside, p.frame(), nil)); got != p.want {
					t.Fatalf("packet %d, %d bytes with DSCP %d: %s, want %s", i, p.bytes, p.dscp, got, p.want)
				}
			}
		})
	}
}

func TestAMeterMarksThePacketAndItsChecksum(t *testing.T) {
	m := element.Meter{Packets: true, Rate: 1, Burst: 1, Red: element.MeterAction{Mark: true, DSCP: 46}}
	c := interp.New(testbed.OneElement(m), interp.Options{})
	p := testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 6, Payload: []byte("x")}
	frame := p.Frame() // those of this file have 46
	testbed.SetDSCP(frame, 0)
	green := testbed.Sent(p).Frame()
	testbed.SetDSCP(green, 0)
	if got := testbed.Only(t, c.Process(0, testbed.Inside, frame, nil)); !bytes.Equal(got, green) {
		t.Errorf("a green packet: got %x, want %x", got, green)
	}
	testbed.Want(t, c.Process(0, testbed.Inside, frame, nil), testbed.Sent(p))
}

func TestAMeterTellsSubscribersApart(t *testing.T) {
	for name, k := range map[string]struct {
		of   element.Subscribers
		src  []string
		dst  []string
		want string
	}{
		"by source":                 {element.Subscribers{PrefixLen: 32, Max: 9}, []string{"10.0.0.2", "10.0.0.3", "10.0.0.2", "10.0.0.3"}, nil, "green green red red"},
		"by prefix of the source":   {element.Subscribers{PrefixLen: 24, Max: 9}, []string{"10.0.0.2", "10.0.0.3", "10.0.1.2", "10.0.1.3"}, nil, "green red green red"},
		"by destination":            {element.Subscribers{PrefixLen: 32, Max: 9, Destination: true}, nil, []string{"8.8.8.8", "8.8.8.9", "8.8.8.8"}, "green green red"},
		"all together":              {element.Subscribers{}, []string{"10.0.0.2", "10.0.0.3"}, nil, "green red"},
		"the idlest one ends":       {element.Subscribers{PrefixLen: 32, Max: 2}, []string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.3", "10.0.0.2"}, nil, "green green green red green"},
		"by the first bit, if need": {element.Subscribers{PrefixLen: 1, Max: 2}, []string{"10.0.0.2", "99.0.0.3", "128.0.0.4"}, nil, "green red green"},
	} {
		t.Run(name, func(t *testing.T) {
			c := interp.New(testbed.OneElement(marking(element.Meter{Packets: true, Rate: 1, Burst: 1, Subscribers: k.of})), interp.Options{})
			var got []string
			for i := range max(len(k.src), len(k.dst)) {
				p := testbed.Packet{}
				if k.src != nil {
					p.Src = k.src[i]
				}
				if k.dst != nil {
					p.Dst = k.dst[i]
				}
				got = append(got, colourOf(c.Process(time.Duration(i), testbed.Inside, p.Frame(), nil)))
			}
			if s := strings.Join(got, " "); s != k.want {
				t.Errorf("got %s, want %s", s, k.want)
			}
		})
	}
}

func TestASubscriberWhoseBucketsAreFullMakesRoom(t *testing.T) {
	c := interp.New(testbed.OneElement(marking(element.Meter{Packets: true, Rate: 1, Burst: 2, Subscribers: element.Subscribers{PrefixLen: 32, Max: 2}})), interp.Options{})
	at := func(s float64, src string) string {
		return colourOf(c.Process(testbed.Seconds(s), testbed.Inside, testbed.Packet{Src: src}.Frame(), nil))
	}
	at(0, "10.0.0.2") // full again at 1
	at(0.1, "10.0.0.3")
	at(0.2, "10.0.0.3") // full again at 2.1: used later, but full later, too
	at(1.5, "10.0.0.4")
	if a, b := at(1.6, "10.0.0.3"), at(1.6, "10.0.0.3"); a != "green" || b != "red" {
		t.Errorf("the subscriber whose buckets were not full: %s, %s, want green, red", a, b)
	}
}

func TestTheSubscriberEndsThatTheEngineEnds(t *testing.T) {
	made := func(src string) pass.Told { return oracle.Subscriber{Meter: "f/e", New: testbed.Addr(src)} }
	instead := func(src, old string) pass.Told {
		return oracle.Subscriber{Meter: "f/e", New: testbed.Addr(src), Old: testbed.Addr(old)}
	}
	for name, k := range map[string]struct {
		told  []pass.Told // for the third subscriber of two that may be
		wrong bool
	}{
		"the idlest":                  {[]pass.Told{instead("10.0.0.4", "10.0.0.2")}, false},
		"not the idlest":              {[]pass.Told{instead("10.0.0.4", "10.0.0.3")}, true},
		"none":                        {[]pass.Told{made("10.0.0.4")}, true},
		"none, and none is made":      {nil, true},
		"another one is made as well": {[]pass.Told{instead("10.0.0.4", "10.0.0.2"), made("10.0.0.5")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := interp.New(testbed.OneElement(marking(element.Meter{Packets: true, Rate: 1, Burst: 1, Subscribers: element.Subscribers{PrefixLen: 32, Max: 2}})), interp.Options{})
			run := func(now time.Duration, src string, told ...pass.Told) []interp.Mismatch {
				frame := testbed.Packet{Src: src}.Frame()
				_, diff := c.ProcessAgainst(now, testbed.Inside, frame, interp.Seen{Result: c.Peek(now, testbed.Inside, frame, nil), Told: told})
				return diff
			}
			if diff := append(run(0, "10.0.0.2", made("10.0.0.2")), run(1, "10.0.0.3", made("10.0.0.3"))...); len(diff) > 0 {
				t.Fatal(diff)
			}
			diff := run(2, "10.0.0.4", k.told...)
			if found := slices.ContainsFunc(diff, func(m interp.Mismatch) bool { return m.Kind == interp.MismatchChoice }); found != k.wrong {
				t.Fatalf("mismatches are %v, want one of the choice: %t", diff, k.wrong)
			}
			if k.wrong {
				return
			}
			if got := colourOf(c.Process(3, testbed.Inside, testbed.Packet{Src: "10.0.0.3"}.Frame(), nil)); got != "red" {
				t.Errorf("who did not end is %s, want red", got)
			}
		})
	}
}

// TestTokensAreTakenWhateverBecomesOfThePacket has packets dropped behind a meter.
func TestTokensAreTakenWhateverBecomesOfThePacket(t *testing.T) {
	b := testbed.New()
	m := b.Add("f/m", marking(element.Meter{Packets: true, Rate: 1, Burst: 2}))
	web := headerspace.Filter{}.With(headerspace.DPort, headerspace.Of(80))
	cls := b.Add("f/c", element.Classifier{Rules: []element.Rule{{Filters: []headerspace.Filter{web}, Out: 0}}, Default: 1, Outs: 2})
	b.Line(m, cls)
	b.Wire(cls, 1, b.Add("f/drop", element.Discard{Reason: "later"}), 0)
	c := interp.New(&b.Graph, interp.Options{})
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil), "later")
	c.Peek(0, testbed.Inside, testbed.Packet{Sport: 9, Dport: 80}.Frame(), func(pass.Step) {}) // which takes none
	if got := colourOf(c.Process(0, testbed.Inside, testbed.Packet{Sport: 9, Dport: 80}.Frame(), nil)); got != "green" {
		t.Errorf("the second packet is %s, want green", got)
	}
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.Packet{Sport: 9, Dport: 80}.Frame(), nil), "red")
	if got, want := oracle.ColoursOf(c.Chain)["f/m"], (oracle.Colours{Green: pass.Count{Packets: 2, Bytes: 70}, Red: pass.Count{Packets: 1, Bytes: 35}}); got != want {
		t.Errorf("colours are %+v, want %+v", got, want)
	}
}

func TestBothSidesOfAMeterShareItsBuckets(t *testing.T) {
	b := testbed.New()
	m := b.Add("f/m", marking(element.Meter{Packets: true, Rate: 1, Burst: 1, TwoSided: true}))
	b.Wire(b.In(testbed.Inside), 0, m, 0)
	b.Wire(b.In(testbed.Outside), 0, m, 1)
	b.Wire(m, 0, b.Out(testbed.Inside), 0)
	b.Wire(m, 1, b.Out(testbed.Outside), 0)
	c := interp.New(&b.Graph, interp.Options{})
	if r := c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil); colourOf(r) != "green" || r.Out[0].Interface != testbed.Outside {
		t.Errorf("from inside: %+v, want it sent outside", r)
	}
	back := testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", To: testbed.OutsideMAC, From: testbed.RouterMAC}
	testbed.Dropped(t, c.Process(0, testbed.Outside, back.Frame(), nil), "red")
	if r := c.Process(testbed.Seconds(1), testbed.Outside, back.Frame(), nil); colourOf(r) != "green" || r.Out[0].Interface != testbed.Inside {
		t.Errorf("from outside: %+v, want it sent inside", r)
	}
}

// TestAChangedChainKeepsTheTokensOfItsMeters as long as they are those of the same buckets.
func TestAChangedChainKeepsTheTokensOfItsMeters(t *testing.T) {
	before := marking(element.Meter{Packets: true, Rate: 1, Burst: 1})
	after := func(change func(*element.Meter)) *graph.Graph {
		m := before
		change(&m)
		b := testbed.New()
		b.Line(b.Add("f/m", m))
		return &b.Graph
	}
	for name, k := range map[string]struct {
		change func(*element.Meter)
		want   string
	}{
		"as it was":        {func(*element.Meter) {}, "red"},
		"another action":   {func(m *element.Meter) { m.Yellow = element.MeterAction{} }, "red"},
		"another rate":     {func(m *element.Meter) { m.Rate = 2 }, "green"},
		"another burst":    {func(m *element.Meter) { m.Burst = 2 }, "green"},
		"another unit":     {func(m *element.Meter) { m.Packets, m.Rate, m.Burst = false, 1000, 8000 }, "green"},
		"with subscribers": {func(m *element.Meter) { m.Subscribers = element.Subscribers{PrefixLen: 32, Max: 9} }, "green"},
	} {
		t.Run(name, func(t *testing.T) {
			c := interp.New(after(func(*element.Meter) {}), interp.Options{})
			c.Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil)
			if got := colourOf(c.Continue(after(k.change), interp.Options{}).Process(0, testbed.Inside, testbed.Packet{}.Frame(), nil)); got != k.want {
				t.Errorf("got %s, want %s", got, k.want)
			}
		})
	}
}
