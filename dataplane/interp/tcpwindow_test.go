package interp

import (
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
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
	got := f.sees(s.from, pkt{
		proto: layers.IPProtocolTCP, sport: 1025, dport: 80, flags: s.flags, seq: uint32(s.seq), ack: uint32(s.ack), window: s.window, scale: scale,
		payload: make([]byte, s.bytes),
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
	f.hears(said{inside, "S", 1000, 0, 0, 1000, ok}, scale)
	f.hears(said{outside, "SA", 5000, 1001, 0, 1000, ok}, scale)
	f.hears(said{inside, "A", 1001, 5001, 0, 1000, ok}, 0)
}

func TestSegmentsThatFitNoWindowAreInvalid(t *testing.T) {
	for name, list := range map[string][]said{
		"data up to the edge": {{inside, "A", 1001, 5001, 1000, 1000, ok}, {inside, "A", 2001, 5001, 10, 1000, ok}, {inside, "A", 2012, 5001, 10, 1000, bad}},
		"an acknowledgment behind a probe of a closed window": {
			{inside, "A", 1001, 5001, 1000, 1000, ok},
			{inside, "A", 2001, 5001, 1, 1000, ok},
			{outside, "A", 5001, 2001, 500, 0, ok},
			{inside, "A", 2002, 5501, 0, 1000, ok},
			{inside, "A", 2003, 5501, 0, 1000, bad},
		},
		"data behind the edge":                    {{inside, "A", 2002, 5001, 10, 1000, bad}, {outside, "A", 6002, 1001, 10, 1000, bad}},
		"data that is far older than any window":  {{inside, "A", 1001 - 70000, 5001, 10, 1000, bad}},
		"data that comes again":                   {{inside, "A", 1001, 5001, 500, 1000, ok}, {inside, "A", 1001, 5001, 500, 1000, ok}},
		"a keep-alive":                            {{inside, "A", 1000, 5001, 0, 1000, ok}},
		"a segment behind one that is lost":       {{inside, "A", 1501, 5001, 500, 1000, ok}, {inside, "A", 1001, 5001, 500, 1000, ok}},
		"an acknowledgment moves the edge":        {{inside, "A", 1001, 5001, 1000, 1000, ok}, {outside, "A", 5001, 2001, 0, 1000, ok}, {inside, "A", 3001, 5001, 10, 1000, ok}},
		"a window that shrinks moves it not back": {{outside, "A", 5001, 1001, 0, 10, ok}, {inside, "A", 1501, 5001, 10, 1000, ok}},
		"what was not sent is not acknowledged":   {{inside, "A", 1001, 5002, 0, 1000, bad}, {outside, "A", 5001, 1002, 0, 1000, bad}},
		"an acknowledgment of long ago":           {{inside, "A", 1001, 5001 - 66000, 0, 1000, bad}, {inside, "A", 1001, 5001 - 60000, 0, 1000, ok}},
		"a SYN out of the blue":                   {{inside, "S", 777777, 0, 0, 1000, ok}, {inside, "A", 1001, 5001, 0, 1000, ok}, {inside, "A", 777778, 5001, 0, 1000, bad}},
		"an RST before what was sent":             {{inside, "A", 1001, 5001, 500, 1000, ok}, {inside, "R", 1500, 0, 0, 0, bad}},
		"an RST behind the edge":                  {{outside, "R", 6002, 0, 0, 0, bad}},
		"an RST in the window, and one expected":  {{outside, "R", 6001, 0, 0, 0, ok}, {inside, "R", 1001, 0, 0, 0, ok}},
		"a FIN counts":                            {{inside, "FA", 1001, 5001, 0, 1000, ok}, {outside, "A", 5001, 1002, 0, 1000, ok}, {outside, "FA", 5001, 1003, 0, 1000, bad}},
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
	f.hears(said{inside, "A", 2001, 5001, 10, 1000, ok}, 0)  // the SYN's window is not scaled
	f.hears(said{inside, "A", 2012, 5001, 10, 1000, bad}, 0) // nor known to be larger yet
	f.hears(said{outside, "A", 5001, 1001, 0, 1000, ok}, 0)
	f.hears(said{inside, "A", 5001, 5001, 10, 1000, ok}, 0)
	f.hears(said{inside, "A", 5012, 5001, 10, 1000, bad}, 0)
	f.hears(said{outside, "A", 9001, 1001, 10, 1000, ok}, 0)
	f.hears(said{outside, "A", 9012, 1001, 10, 1000, bad}, 0)
}

func TestAConnectionOpensOnlyByItsNumbers(t *testing.T) {
	for name, list := range map[string][]said{
		"the answer to another SYN":            {{inside, "S", 1000, 0, 0, 1000, ok}, {outside, "SA", 5000, 1002, 0, 1000, bad}, {outside, "SA", 5000, 1001, 0, 1000, ok}},
		"the client acknowledges nothing":      {{inside, "S", 1000, 0, 0, 1000, ok}, {inside, "A", 1001, 5001, 0, 1000, bad}},
		"a SYN with another number":            {{inside, "S", 1000, 0, 0, 1000, ok}, {inside, "S", 9000, 0, 0, 1000, ok}, {outside, "SA", 5000, 1001 - 66000, 0, 1000, bad}, {outside, "SA", 5000, 9001, 0, 1000, ok}},
		"a refusal":                            {{inside, "S", 1000, 0, 0, 1000, ok}, {outside, "RA", 0, 1002, 0, 0, bad}, {outside, "R", 0, 1001, 0, 0, bad}, {outside, "RA", 0, 1001, 0, 0, ok}},
		"a simultaneous opening":               {{inside, "S", 1000, 0, 0, 1000, ok}, {outside, "S", 5000, 0, 0, 1000, ok}, {inside, "SA", 1000, 5001, 0, 1000, ok}, {outside, "SA", 5000, 1001, 0, 1000, ok}},
		"the side that did not begin says RST": {{inside, "S", 1000, 0, 0, 1000, ok}, {outside, "R", 1001, 0, 0, 0, bad}},
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
	f.hears(said{outside, "R", 6002, 0, 0, 0, bad}, 0)
	f.is("established")
	f.hears(said{outside, "R", 5001, 0, 0, 0, ok}, 0)
	f.is("closing")
	f.hears(said{inside, "S", 70000, 0, 0, 1000, ok}, 0)
	f.hears(said{outside, "SA", 80000, 70001, 0, 1000, ok}, 0)
	f.hears(said{inside, "A", 1001, 80001, 0, 1000, bad}, 0)
	f.hears(said{inside, "A", 70001, 80001, 0, 1000, ok}, 0)
	f.is("established")
}

func TestConnectionsThatArePickedUpAreNotChecked(t *testing.T) {
	f := strictly(t, func(k *element.Tracking) { k.PickUp = true })
	f.hears(said{inside, "A", 1001, 5001, 10, 1000, ok}, 0)
	f.hears(said{outside, "A", 777777, 888888, 10, 1000, ok}, 0)
}

// others has so many other TCP flows begin.
func (f *followed) others(n int) {
	f.Helper()
	for i := range n {
		if got := f.sees(inside, pkt{proto: layers.IPProtocolTCP, sport: uint16(2000 + i), dport: 80, flags: "S"}); got != ok {
			f.Errorf("flow %d: %s", i, got)
		}
	}
}

func TestAFlowThatIsHalfOpenMayEndWhenManyBeganAfterIt(t *testing.T) {
	b := Binding{Node: "fw/flows", Proto: protoTCP, Inside: ap("10.0.0.2:1025"), Remote: ap("198.51.100.1:80")}
	for name, c := range map[string]struct {
		does   func(f *followed)
		others int
		later  time.Duration
		ends   bool
	}{
		"it is opening":               {func(f *followed) { f.says(inside, "S", ok); f.says(outside, "SA", ok) }, 15, 1, true},
		"too few began":               {func(f *followed) { f.says(inside, "S", ok); f.says(outside, "SA", ok) }, 14, 1, false},
		"it was used in this instant": {func(f *followed) { f.says(inside, "S", ok); f.says(outside, "SA", ok) }, 16, 0, false},
		"it is established":           {(*followed).opens, 16, 1, false},
		"it is closing":               {func(f *followed) { f.opens(); f.says(inside, "FA", ok) }, 16, 1, false},
		"it closed, and began again":  {func(f *followed) { f.opens(); f.says(inside, "FA", ok); f.says(inside, "S", ok) }, 16, 1, false},
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
