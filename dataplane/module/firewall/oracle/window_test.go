package oracle_test

import (
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// said is a segment of the connection between 10.0.0.2:1025 and 198.51.100.1:80, and what becomes of it.
type said struct {
	from     int
	flags    string
	seq, ack int
	bytes    int
	window   uint16
	want     string
}

const (
	ok  = "passes"
	bad = "invalid"
)

func (f *followed) hears(s said, scale int) {
	f.Helper()
	got := f.sees(s.from, testbed.Packet{
		Proto: layers.IPProtocolTCP, Sport: 1025, Dport: 80, Flags: s.flags, Seq: uint32(s.seq), Ack: uint32(s.ack), Window: s.window, Scale: scale,
		Payload: make([]byte, s.bytes),
	})
	if got != s.want {
		f.Errorf("from %d: %s seq %d ack %d, %d bytes: %s, want %s", s.from, s.flags, s.seq, s.ack, s.bytes, got, s.want)
	}
}

func strictly(t *testing.T, more func(*element.Tracking)) *followed {
	t.Helper()
	return following(t, func(k *element.Tracking) {
		k.Strict = true
		if more != nil {
			more(k)
		}
	})
}

// handshake is one in which the client's first byte is 1001 and the server's 5001. Both have windows of 1000, times 4 if there is a scale.
func (f *followed) handshake(scale int) {
	f.Helper()
	f.hears(said{testbed.Inside, "S", 1000, 0, 0, 1000, ok}, scale)
	f.hears(said{testbed.Outside, "SA", 5000, 1001, 0, 1000, ok}, scale)
	f.hears(said{testbed.Inside, "A", 1001, 5001, 0, 1000, ok}, 0)
}

func TestSegmentsThatFitNoWindowAreInvalid(t *testing.T) {
	for name, list := range map[string][]said{
		"data up to the edge": {{testbed.Inside, "A", 1001, 5001, 1000, 1000, ok}, {testbed.Inside, "A", 2001, 5001, 10, 1000, ok}, {testbed.Inside, "A", 2012, 5001, 10, 1000, bad}},
		"an acknowledgment behind a probe of a closed window": {
			{testbed.Inside, "A", 1001, 5001, 1000, 1000, ok},
			{testbed.Inside, "A", 2001, 5001, 1, 1000, ok},
			{testbed.Outside, "A", 5001, 2001, 500, 0, ok},
			{testbed.Inside, "A", 2002, 5501, 0, 1000, ok},
			{testbed.Inside, "A", 2003, 5501, 0, 1000, bad},
		},
		"data behind the edge":                    {{testbed.Inside, "A", 2002, 5001, 10, 1000, bad}, {testbed.Outside, "A", 6002, 1001, 10, 1000, bad}},
		"data that is far older than any window":  {{testbed.Inside, "A", 1001 - 70000, 5001, 10, 1000, bad}},
		"data that comes again":                   {{testbed.Inside, "A", 1001, 5001, 500, 1000, ok}, {testbed.Inside, "A", 1001, 5001, 500, 1000, ok}},
		"a keep-alive":                            {{testbed.Inside, "A", 1000, 5001, 0, 1000, ok}},
		"a segment behind one that is lost":       {{testbed.Inside, "A", 1501, 5001, 500, 1000, ok}, {testbed.Inside, "A", 1001, 5001, 500, 1000, ok}},
		"an acknowledgment moves the edge":        {{testbed.Inside, "A", 1001, 5001, 1000, 1000, ok}, {testbed.Outside, "A", 5001, 2001, 0, 1000, ok}, {testbed.Inside, "A", 3001, 5001, 10, 1000, ok}},
		"a window that shrinks moves it not back": {{testbed.Outside, "A", 5001, 1001, 0, 10, ok}, {testbed.Inside, "A", 1501, 5001, 10, 1000, ok}},
		"what was not sent is not acknowledged":   {{testbed.Inside, "A", 1001, 5002, 0, 1000, bad}, {testbed.Outside, "A", 5001, 1002, 0, 1000, bad}},
		"an acknowledgment of long ago":           {{testbed.Inside, "A", 1001, 5001 - 66000, 0, 1000, bad}, {testbed.Inside, "A", 1001, 5001 - 60000, 0, 1000, ok}},
		"a SYN out of the blue":                   {{testbed.Inside, "S", 777777, 0, 0, 1000, ok}, {testbed.Inside, "A", 1001, 5001, 0, 1000, ok}, {testbed.Inside, "A", 777778, 5001, 0, 1000, bad}},
		"an RST before what was sent":             {{testbed.Inside, "A", 1001, 5001, 500, 1000, ok}, {testbed.Inside, "R", 1500, 0, 0, 0, bad}},
		"an RST behind the edge":                  {{testbed.Outside, "R", 6002, 0, 0, 0, bad}},
		"an RST in the window, and one expected":  {{testbed.Outside, "R", 6001, 0, 0, 0, ok}, {testbed.Inside, "R", 1001, 0, 0, 0, ok}},
		"a FIN counts":                            {{testbed.Inside, "FA", 1001, 5001, 0, 1000, ok}, {testbed.Outside, "A", 5001, 1002, 0, 1000, ok}, {testbed.Outside, "FA", 5001, 1003, 0, 1000, bad}},
	} {
		t.Run(name, func(t *testing.T) {
			f := strictly(t, nil)
			f.handshake(0)
			for _, s := range list {
				f.hears(s, 0)
			}
		})
	}
}

func TestWindowsAreScaledIfBothSidesSaySo(t *testing.T) {
	f := strictly(t, nil)
	f.handshake(2)
	f.hears(said{testbed.Inside, "A", 2001, 5001, 10, 1000, ok}, 0)  // the SYN's window is not scaled
	f.hears(said{testbed.Inside, "A", 2012, 5001, 10, 1000, bad}, 0) // nor known to be larger yet
	f.hears(said{testbed.Outside, "A", 5001, 1001, 0, 1000, ok}, 0)
	f.hears(said{testbed.Inside, "A", 5001, 5001, 10, 1000, ok}, 0)
	f.hears(said{testbed.Inside, "A", 5012, 5001, 10, 1000, bad}, 0)
	f.hears(said{testbed.Outside, "A", 9001, 1001, 10, 1000, ok}, 0)
	f.hears(said{testbed.Outside, "A", 9012, 1001, 10, 1000, bad}, 0)
}

func TestAConnectionOpensOnlyByItsNumbers(t *testing.T) {
	for name, list := range map[string][]said{
		"the answer to another SYN":            {{testbed.Inside, "S", 1000, 0, 0, 1000, ok}, {testbed.Outside, "SA", 5000, 1002, 0, 1000, bad}, {testbed.Outside, "SA", 5000, 1001, 0, 1000, ok}},
		"the client acknowledges nothing":      {{testbed.Inside, "S", 1000, 0, 0, 1000, ok}, {testbed.Inside, "A", 1001, 5001, 0, 1000, bad}},
		"a SYN with another number":            {{testbed.Inside, "S", 1000, 0, 0, 1000, ok}, {testbed.Inside, "S", 9000, 0, 0, 1000, ok}, {testbed.Outside, "SA", 5000, 1001 - 66000, 0, 1000, bad}, {testbed.Outside, "SA", 5000, 9001, 0, 1000, ok}},
		"a refusal":                            {{testbed.Inside, "S", 1000, 0, 0, 1000, ok}, {testbed.Outside, "RA", 0, 1002, 0, 0, bad}, {testbed.Outside, "R", 0, 1001, 0, 0, bad}, {testbed.Outside, "RA", 0, 1001, 0, 0, ok}},
		"a simultaneous opening":               {{testbed.Inside, "S", 1000, 0, 0, 1000, ok}, {testbed.Outside, "S", 5000, 0, 0, 1000, ok}, {testbed.Inside, "SA", 1000, 5001, 0, 1000, ok}, {testbed.Outside, "SA", 5000, 1001, 0, 1000, ok}},
		"the side that did not begin says RST": {{testbed.Inside, "S", 1000, 0, 0, 1000, ok}, {testbed.Outside, "R", 1001, 0, 0, 0, bad}},
	} {
		t.Run(name, func(t *testing.T) {
			f := strictly(t, nil)
			for _, s := range list {
				f.hears(s, 0)
			}
		})
	}
}

func TestAnRSTThatFitsClosesAStrictFlow(t *testing.T) {
	f := strictly(t, nil)
	f.handshake(0)
	f.is("established")
	f.hears(said{testbed.Outside, "R", 6002, 0, 0, 0, bad}, 0)
	f.is("established")
	f.hears(said{testbed.Outside, "R", 5001, 0, 0, 0, ok}, 0)
	f.is("closing")
	f.hears(said{testbed.Inside, "S", 70000, 0, 0, 1000, ok}, 0)
	f.hears(said{testbed.Outside, "SA", 80000, 70001, 0, 1000, ok}, 0)
	f.hears(said{testbed.Inside, "A", 1001, 80001, 0, 1000, bad}, 0)
	f.hears(said{testbed.Inside, "A", 70001, 80001, 0, 1000, ok}, 0)
	f.is("established")
}

func TestConnectionsThatArePickedUpAreNotChecked(t *testing.T) {
	f := strictly(t, func(k *element.Tracking) { k.PickUp = true })
	f.hears(said{testbed.Inside, "A", 1001, 5001, 10, 1000, ok}, 0)
	f.hears(said{testbed.Outside, "A", 777777, 888888, 10, 1000, ok}, 0)
}

// others has so many other TCP flows begin.
func (f *followed) others(n int) {
	f.Helper()
	for i := range n {
		if got := f.sees(testbed.Inside, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: uint16(2000 + i), Dport: 80, Flags: "S"}); got != ok {
			f.Errorf("flow %d: %s", i, got)
		}
	}
}

func TestAFlowThatIsHalfOpenMayEndWhenManyBeganAfterIt(t *testing.T) {
	b := pass.Binding{Node: "fw/flows", Proto: header.TCP, Inside: testbed.AddrPort("10.0.0.2:1025"), Remote: testbed.AddrPort("198.51.100.1:80")}
	for name, c := range map[string]struct {
		does   func(f *followed)
		others int
		later  time.Duration
		ends   bool
	}{
		"it is opening":               {func(f *followed) { f.says(testbed.Inside, "S", ok); f.says(testbed.Outside, "SA", ok) }, 15, 1, true},
		"too few began":               {func(f *followed) { f.says(testbed.Inside, "S", ok); f.says(testbed.Outside, "SA", ok) }, 14, 1, false},
		"it was used in this instant": {func(f *followed) { f.says(testbed.Inside, "S", ok); f.says(testbed.Outside, "SA", ok) }, 16, 0, false},
		"it is established":           {(*followed).opens, 16, 1, false},
		"it is closing":               {func(f *followed) { f.opens(); f.says(testbed.Inside, "FA", ok) }, 16, 1, false},
		"it closed, and began again":  {func(f *followed) { f.opens(); f.says(testbed.Inside, "FA", ok); f.says(testbed.Inside, "S", ok) }, 16, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := following(t, func(k *element.Tracking) { k.HalfOpen = 2048 }) // 16 in each of 128 shards
			c.does(f)
			f.others(c.others)
			f.now += c.later
			if err := f.c.Evict(f.now, b); (err == nil) != c.ends {
				t.Error(err)
			}
		})
	}
}
