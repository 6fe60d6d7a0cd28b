package live

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func TestSpeedsAreWrittenWithThreeDigitsAndAPrefix(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 ", 0.5: "0.5 ", 12: "12 ", 999: "999 ", 999.6: "1.0 k", 1234: "1.2 k", 99_950: "100 k", 1e6: "1.0 M", 2.5e9: "2.5 G", 1e12: "1000 G",
	} {
		if got := si(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

// sample is an engine that has run for so many seconds at 100 packets of 50 bytes per second.
func sample(seconds uint64, hash byte) *controlpb.Stats {
	n := 100 * seconds
	return &controlpb.Stats{
		Hash: []byte{hash}, NowNs: seconds * 1e9,
		Ports:    []*controlpb.PortStats{{Interface: "inside", RxPackets: n, RxBytes: 50 * n}},
		Classes:  []*controlpb.ClassStats{{Segment: 0, Class: 1, Packets: n, Bytes: 50 * n}},
		Counters: []*controlpb.CounterStats{{Packets: n, Bytes: 50 * n}},
		Drops:    []*controlpb.DropStats{{Reason: "martian", Kind: programpb.DropKind_DROP_KIND_REFUSAL, Packets: n, Bytes: 50 * n}},
		Workers:  []*controlpb.WorkerStats{{Packets: n, BusyCycles: 200 * n, IdleCycles: 600 * n}},
	}
}

func TestRatesAreWhatWasCountedSinceTheReportBefore(t *testing.T) {
	r := Make(nil, sample(2, 1), sample(4, 1))
	for name, rate := range map[string]Rate{
		"interface": r.Interfaces[0].Received, "class": r.Classes[0].Rate, "counter": r.Counters[0].Rate, "drop": r.Drops[0].Rate,
	} {
		if rate != (Rate{400, 20_000, 100, 40_000}) {
			t.Errorf("%s: %+v, want 400 packets at 100 packets and 40,000 bits per second", name, rate)
		}
	}
	if w := r.Workers[0]; w.CyclesPerPacket != 200 || w.Load != 0.25 {
		t.Errorf("worker: %+v, want 200 cycles per packet at a quarter of the time", w)
	}
}

func TestClassesOfAnotherProgramAreNotComparedWithThoseBefore(t *testing.T) {
	r := Make(nil, sample(4, 1), sample(5, 2))
	if got := r.Classes[0].PacketsPerSecond; got != 0 {
		t.Errorf("a class of a program just loaded runs at %v packets per second, want 0: no rate yet", got)
	}
	if got := r.Interfaces[0].Received.PacketsPerSecond; got != 100 {
		t.Errorf("the interface receives %v packets per second, want 100 as before", got)
	}
}

func TestTheFirstReportHasNoRates(t *testing.T) {
	r := Make(nil, nil, sample(3, 1))
	if r.Seconds != 0 || r.Interfaces[0].Received.PacketsPerSecond != 0 {
		t.Errorf("first report has rates: %+v", r)
	}
}

func TestALineNamesWhatIsDroppedNow(t *testing.T) {
	var b bytes.Buffer
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := Line(&b, at, Make(nil, sample(2, 1), sample(4, 1))); err != nil {
		t.Fatal(err)
	}
	const want = "03:04:05 rx 100 pps 40.0 kbit/s; tx 0 pps 0 bit/s; dropped 100 pps as martian\n"
	if b.String() != want {
		t.Errorf("line is %q, want %q", b.String(), want)
	}
}

func TestAPageFitsItsTerminal(t *testing.T) {
	var b bytes.Buffer
	s := Screen{W: &b, Size: func() (int, int) { return 30, 5 }}
	if err := s.Show(nil, sample(2, 1), sample(4, 1)); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("\x1b[H", "", "\x1b[K", "", "\x1b[J", "").Replace(b.String())
	if n := strings.Count(text, "\n"); n > 4 {
		t.Errorf("page has %d lines, want at most 4 on a terminal of 5", n)
	}
	for _, l := range strings.Split(text, "\n") {
		if n := len([]rune(l)); n > 30 {
			t.Errorf("line %q has %d characters, the terminal 30", l, n)
		}
	}
}

func TestRulesThatMatchedAreShown(t *testing.T) {
	stats := func(n uint64) *controlpb.Stats {
		s := sample(n, 1)
		s.Tables = []*programpb.TableStats{{Name: "ids/inspect", Inspector: &programpb.InspectStats{Packets: 100 * n, Rules: []*programpb.InspectCount{
			{Name: "sid 1: tunnel", Packets: 10 * n}, {Name: "sid 2"}, {Name: "dns[0]", Packets: n},
		}}}}
		return s
	}
	var b bytes.Buffer
	if err := Text(&b, Make(nil, stats(2), stats(4)), 0); err != nil {
		t.Fatal(err)
	}
	const want = "MATCHED  PPS   RULE\n40       10    ids/inspect, sid 1: tunnel\n4        1.0   ids/inspect, dns[0]\n\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", b.String(), want)
	}
}

func TestAMeterIsShownWithItsColors(t *testing.T) {
	stats := func(n uint64) *controlpb.Stats {
		s := sample(n, 1)
		s.Tables = []*programpb.TableStats{{Name: "nat/napt", Sessions: 3}, {Name: "lim/all", Meter: &programpb.MeterStats{
			Green: &programpb.MeterCount{Packets: 10 * n, Bytes: 1000 * n}, Red: &programpb.MeterCount{Packets: n, Bytes: 100 * n},
		}}}
		return s
	}
	var b bytes.Buffer
	if err := Text(&b, Make(nil, stats(2), stats(4)), 0); err != nil {
		t.Fatal(err)
	}
	const want = "GREEN  BIT/S  YELLOW  BIT/S  RED  BIT/S  METER\n40     8.0 k  0       0      4    800    lim/all\n\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", b.String(), want)
	}
}

func TestAStateTableIsShownWithWhatItMadeRefusedAndEvicted(t *testing.T) {
	s := sample(2, 1)
	s.Tables = []*programpb.TableStats{{Name: "fw/flows", Sessions: 3, Created: 19, Expired: 5, Exhausted: 4, Evicted: 7}}
	var b bytes.Buffer
	if err := Text(&b, Make(nil, s, s), 0); err != nil {
		t.Fatal(err)
	}
	const want = "SESSIONS  CREATED  EXPIRED  REFUSED  EVICTED  STATE\n3         19       5        4        7        fw/flows\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", b.String(), want)
	}
}

func TestTheHeaviestSubscribersAreShown(t *testing.T) {
	s := sample(2, 1)
	s.Subscribers = []*programpb.SubscriberStats{{Name: "nat/napt", Subscribers: 2, Heaviest: []*programpb.Subscriber{
		{Prefix: 0x0a000007, PrefixLen: 32, Sessions: 16129, TcpPorts: 1, UdpPorts: 16128, Refused: 143872},
		{Prefix: 0x0a010000, PrefixLen: 16, Sessions: 3, TcpPorts: 2, IcmpPorts: 1},
	}}, {Name: "guard", Subscribers: 1, Connections: true, Heaviest: []*programpb.Subscriber{
		{Prefix: 0x0a000007, PrefixLen: 32, Sessions: 100, Refused: 5},
	}}}
	var b bytes.Buffer
	if err := Text(&b, Make(nil, nil, s), 0); err != nil {
		t.Fatal(err)
	}
	const want = "SESSIONS  TCP PORTS  UDP PORTS  ICMP IDS  REFUSED  SUBSCRIBER   FUNCTION\n" +
		"16129     1          16128      0         143872   10.0.0.7     nat/napt\n" +
		"3         2          0          1         0        10.1.0.0/16  nat/napt\n" +
		"100       -          -          -         5        10.0.0.7     guard\n\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", b.String(), want)
	}
}

func TestBlackboxesAreShownWithProbesAndChecks(t *testing.T) {
	s := sample(2, 1)
	s.Wires = []*controlpb.WireStats{
		{
			Out: "ips-inside", Back: "ips-outside", Watched: true, Probes: 500, Answers: 499, Checked: 100, Returned: 98, Times: []uint64{0, 0, 0, 0, 0, 98, 0},
			Contradictions: []*controlpb.Contradiction{{What: "DSCP", Packets: 3}, {What: "TTLRaised", Packets: 98, Lately: true}},
		},
		{Out: "ips-outside", Back: "ips-inside", Watched: true, Down: true, Probes: 500, Answers: 2, Checked: 64, Lost: 60},
		{Out: "dpi-inside", Back: "dpi-outside", Checked: 7, Returned: 7, Times: []uint64{0, 0, 0, 0, 0, 0, 7}},
	}
	s.Hosts = []*controlpb.HostStats{
		{Interface: "proxies", Address: 0xac1f0002, Questions: 90, Answers: 91}, {Interface: "hop-inside", Address: 0xac1f000a, Down: true, Questions: 10, Answers: 4},
	}
	var b bytes.Buffer
	if err := Text(&b, Make(nil, nil, s), 0); err != nil {
		t.Fatal(err)
	}
	const want = "CHECKED  RETURNED  LOST  MEDIAN  P99   BLACKBOX\n" +
		"100      98        0     23µs    32µs  ips-inside to ips-outside: up, 499 of 500 probes answered; contradicts its declaration: DSCP of 3, TTLRaised of 98\n" +
		"64       0         60    -       -     ips-outside to ips-inside: down, 2 of 500 probes answered\n" +
		"7        7         0     45µs    64µs  dpi-inside to dpi-outside\n\n" +
		"ARP ASKED  ANSWERED  STATE  INTERFACE   BLACKBOX\n" +
		"90         91        up     proxies     172.31.0.2\n" +
		"10         4         down   hop-inside  172.31.0.10\n\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", b.String(), want)
	}
}
