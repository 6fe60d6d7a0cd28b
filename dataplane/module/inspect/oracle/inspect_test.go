package oracle_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/inspect/oracle"
)

// dropping is an inspector with a rule of the parts, which drops as "match".
func dropping(parts ...element.InspectPart) element.Inspect {
	return element.Inspect{Rules: []element.InspectRule{{Name: "r", Parts: parts, Action: element.InspectAction{Drop: "match"}}}}
}

func text(s string) element.InspectPart { return element.InspectPart{Text: []byte(s)} }

func with(p element.InspectPart, change func(*element.InspectPart)) element.InspectPart {
	change(&p)
	return p
}

// dnsQuery is a DNS query for names, as labels with their lengths before them.
func dnsQuery(names ...string) string {
	return "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + strings.Join(names, "") + "\x00\x00\x01\x00\x01"
}

func named(s string) element.InspectPart {
	return element.InspectPart{Buffer: element.BufferDNSQuery, Text: []byte(s)}
}

func TestAPartMatchesWhatItSays(t *testing.T) {
	for name, k := range map[string]struct {
		part    element.InspectPart
		payload string
		want    bool
	}{
		"a text":                              {text("evil"), "an evil one", true},
		"in another case":                     {text("evil"), "an Evil one", false},
		"in whatever case":                    {with(text("eVil"), func(p *element.InspectPart) { p.NoCase = true }), "an EviL one", true},
		"bytes beyond letters have no case":   {with(text("@["), func(p *element.InspectPart) { p.NoCase = true }), "`{", false},
		"letters beyond ASCII have no case":   {with(text("\xe4"), func(p *element.InspectPart) { p.NoCase = true }), "\xc4", false},
		"nothing":                             {text("evil"), "", false},
		"a text that ends too early":          {text("evil"), "evi", false},
		"at the offset":                       {with(text("evil"), func(p *element.InspectPart) { p.Offset = 3 }), "an evil", true},
		"before the offset":                   {with(text("evil"), func(p *element.InspectPart) { p.Offset = 4 }), "an evil", false},
		"behind one before the offset":        {with(text("evil"), func(p *element.InspectPart) { p.Offset = 4 }), "an evil evil", true},
		"within the depth":                    {with(text("evil"), func(p *element.InspectPart) { p.Offset, p.Depth = 1, 6 }), "an evil", true},
		"beyond the depth":                    {with(text("evil"), func(p *element.InspectPart) { p.Offset, p.Depth = 1, 5 }), "an evil", false},
		"at the end":                          {with(text("evil"), func(p *element.InspectPart) { p.AtEnd = true }), "evil, evil", true},
		"not at the end":                      {with(text("evil"), func(p *element.InspectPart) { p.AtEnd = true }), "evil, evil.", false},
		"an expression":                       {element.InspectPart{Regex: `e[u-w]i{1,2}l`}, "eviil", true},
		"a character is a byte":               {element.InspectPart{Regex: `^a.b`}, "a\xc3\xa4b", false},
		"a byte beyond ASCII":                 {element.InspectPart{Regex: `^a\xc3.b`}, "a\xc3\xa4b", true},
		"a dot is no line's end":              {element.InspectPart{Regex: `a.b`}, "a\nb", false},
		"a name":                              {named("www.example"), dnsQuery("\x03www", "\x07example", "\x03com"), true},
		"of a name, by no other bytes":        {named("\x01\x00"), dnsQuery("\x03www"), false},
		"a name that ends so":                 {with(named(".com"), func(p *element.InspectPart) { p.AtEnd = true }), dnsQuery("\x03www", "\x03com"), true},
		"a name that is so":                   {with(named("www.com"), func(p *element.InspectPart) { p.AtEnd, p.Depth = true, 7 }), dnsQuery("\x04awww", "\x03com"), false},
		"of a response":                       {named("www"), strings.Replace(dnsQuery("\x03www"), "\x01\x00", "\x81\x80", 1), false},
		"without a question":                  {named("www"), strings.Replace(dnsQuery("\x03www"), "\x00\x01", "\x00\x00", 1), false},
		"with a pointer":                      {named("www"), dnsQuery("\x03www", "\xc0"), false},
		"a label that ends behind the packet": {named("www"), dnsQuery("\x03www")[:14], false},
		"a name without end":                  {named("www"), dnsQuery("\x03www")[:16], false},
		"the root":                            {element.InspectPart{Buffer: element.BufferDNSQuery, Regex: `a|b`}, dnsQuery(), false},
		"a name of 255 bytes":                 {named("a"), dnsQuery(strings.Repeat("\x01a", 128)), true},
		"a name of 257 bytes":                 {named("a"), dnsQuery(strings.Repeat("\x01a", 129)), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := interp.New(testbed.OneElement(dropping(k.part)), interp.Options{}).Process(0, testbed.Inside, testbed.Packet{Sport: 5, Dport: 53, Payload: []byte(k.payload)}.Frame(), nil)
			if got := len(r.Drops) == 1 && r.Drops[0].Reason == "match"; got != k.want || !got && len(r.Out) != 1 {
				t.Errorf("matched: %t, want %t: %+v", got, k.want, r)
			}
		})
	}
}

func TestAPayloadIsWhatUDPOrIPSay(t *testing.T) {
	c := interp.New(testbed.OneElement(dropping(text("x"))), interp.Options{})
	short := testbed.Packet{Sport: 5, Dport: 6, Payload: []byte("abx")}.Frame()
	short[14+20+5]-- // UDP's length leaves the last byte out
	if r := c.Process(0, testbed.Inside, short, nil); len(r.Out) != 1 {
		t.Errorf("behind UDP's length: %+v", r)
	}
	padded := testbed.Packet{Sport: 5, Dport: 6, Payload: []byte("ab")}.Frame()
	if r := c.Process(0, testbed.Inside, append(padded, "xxxxxxxxxxxxxxxx"...), nil); len(r.Out) != 1 {
		t.Errorf("in Ethernet's padding: %+v", r)
	}
	segment := testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 6, Scale: 7, Flags: "A", Payload: []byte("x")}
	testbed.Dropped(t, c.Process(0, testbed.Inside, segment.Frame(), nil), "match")
	header := testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 'x', Dport: 'x'<<8 | 'x', Flags: "A", Payload: []byte("y")}
	if r := c.Process(0, testbed.Inside, header.Frame(), nil); len(r.Out) != 1 {
		t.Errorf("in TCP's header: %+v", r)
	}
	for _, i := range oracle.InspectionsOf(c.Chain) {
		if i.Packets != 4 || i.Bytes != 2+2+1+1 {
			t.Errorf("counted %+v, want 4 packets with 6 bytes of payload", i)
		}
	}
}

func TestOfRulesThatMatchTheFirstThatDropsDecides(t *testing.T) {
	rule := func(name, s string, a element.InspectAction) element.InspectRule {
		return element.InspectRule{Name: name, Parts: []element.InspectPart{text(s)}, Action: a}
	}
	c := interp.New(testbed.OneElement(element.Inspect{Rules: []element.InspectRule{
		rule("count", "a", element.InspectAction{}),
		rule("mark 10", "b", element.InspectAction{Mark: true, DSCP: 10}),
		rule("mark 20", "c", element.InspectAction{Mark: true, DSCP: 20}),
		rule("drop 1", "d", element.InspectAction{Drop: "one"}),
		rule("drop 2", "e", element.InspectAction{Drop: "two"}),
		{Name: "both", Parts: []element.InspectPart{text("f"), text("g")}, Action: element.InspectAction{Drop: "both"}},
	}}), interp.Options{})
	for payload, want := range map[string]string{
		"zzzz": "46", "a": "46", "ab": "10", "cb": "10", "c": "20", "cd": "one", "edcba": "one", "be": "two", "fa": "46", "gf": "both", "gfe": "two",
	} {
		r := c.Process(0, testbed.Inside, testbed.Packet{Sport: 5, Dport: 6, Payload: []byte(payload)}.Frame(), nil)
		got := ""
		if len(r.Drops) == 1 {
			got = r.Drops[0].Reason
		} else if len(r.Out) == 1 {
			got = map[byte]string{46: "46", 10: "10", 20: "20"}[r.Out[0].Frame[15]>>2]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", payload, got, want)
		}
	}
	for _, i := range oracle.InspectionsOf(c.Chain) {
		want := map[string]uint64{"count": 4, "mark 10": 4, "mark 20": 4, "drop 1": 2, "drop 2": 3, "both": 2}
		if i.Packets != 11 || !maps.Equal(i.Rules, want) {
			t.Errorf("counted %+v, want 11 packets and %v", i, want)
		}
	}
}

func TestAMarkMovesTheHeaderChecksum(t *testing.T) {
	e := dropping(text("x"))
	e.Rules[0].Action = element.InspectAction{Mark: true, DSCP: 46}
	p := testbed.Packet{Sport: 5, Dport: 6, Payload: []byte("x")}
	frame := p.Frame()
	testbed.SetDSCP(frame, 0)
	if got := testbed.Only(t, interp.New(testbed.OneElement(e), interp.Options{}).Process(0, testbed.Inside, frame, nil)); !bytes.Equal(got, testbed.Sent(p).Frame()) {
		t.Errorf("got %x, want %x", got, testbed.Sent(p).Frame())
	}
}

// TestPacketsAreCountedWhateverBecomesOfThem has packets dropped behind an inspector.
func TestPacketsAreCountedWhateverBecomesOfThem(t *testing.T) {
	b := testbed.New()
	e := dropping(text("x"))
	e.Rules[0].Action = element.InspectAction{}
	i := b.Add("f/i", e)
	web := headerspace.Filter{}.With(headerspace.DPort, headerspace.Of(80))
	cls := b.Add("f/c", element.Classifier{Rules: []element.Rule{{Filters: []headerspace.Filter{web}, Out: 0}}, Default: 1, Outs: 2})
	b.Line(i, cls)
	b.Wire(cls, 1, b.Add("f/drop", element.Discard{Reason: "later"}), 0)
	c := interp.New(&b.Graph, interp.Options{})
	p := testbed.Packet{Sport: 9, Dport: 81, Payload: []byte("xyz")}
	testbed.Dropped(t, c.Process(0, testbed.Inside, p.Frame(), nil), "later")
	c.Peek(0, testbed.Inside, p.Frame(), func(pass.Step) {}) // which counts none
	if got := oracle.InspectionsOf(c.Chain)["f/i"]; got.Packets != 1 || got.Bytes != 3 || got.Rules["r"] != 1 {
		t.Errorf("counted %+v, want a packet of 3 bytes, which the rule matched", got)
	}
}

// tcpSegment is a TCP packet of a stream: flags, number, payload; and what becomes of it.
type tcpSegment struct {
	flags   string
	seq     uint32
	payload string
	want    string // "", "drop" or "mark"
}

func TestStreamsAreMatchedInTheirOrder(t *testing.T) {
	start := uint32(0xfffffff0) // numbers begin again after 16 bytes
	for name, list := range map[string][]tcpSegment{
		"in one packet":                              {{"S", start - 1, "", ""}, {"A", start, "an evil one", "drop"}},
		"in two":                                     {{"S", start - 1, "", ""}, {"A", start, "an ev", ""}, {"A", start + 5, "il one", "drop"}},
		"over the end of numbers":                    {{"S", start - 1, "", ""}, {"A", start, "0123456789abcd", ""}, {"A", start + 14, "evil", "drop"}},
		"later packets are dropped, too":             {{"S", start - 1, "", ""}, {"A", start, "evil", "drop"}, {"A", start + 4, "good", "drop"}, {"A", start + 8, "", "drop"}, {"FA", start + 8, "", "drop"}},
		"behind a gap, when that is filled":          {{"S", start - 1, "", ""}, {"A", start + 5, "il one", ""}, {"A", start, "an ev", "drop"}},
		"a gap that is not filled":                   {{"S", start - 1, "", ""}, {"A", start + 1, "evil", ""}, {"A", start + 5, "evil", ""}},
		"byte by byte, from behind":                  {{"S", start - 1, "", ""}, {"A", start + 3, "l", ""}, {"A", start + 2, "i", ""}, {"A", start + 1, "v", ""}, {"A", start, "e", "drop"}},
		"what came first counts":                     {{"S", start - 1, "", ""}, {"A", start + 2, "xx", ""}, {"A", start, "evil", ""}, {"A", start, "evil", ""}},
		"a packet that comes again in part":          {{"S", start - 1, "", ""}, {"A", start, "ev", ""}, {"A", start + 1, "vil", "drop"}},
		"without a beginning, from the first packet": {{"A", start, "ev", ""}, {"A", start + 2, "il", "drop"}},
		"before the beginning":                       {{"A", start, "zz", ""}, {"A", start - 4, "evil", ""}},
		"beyond the depth":                           {{"S", start - 1, "", ""}, {"A", start, "01234567890123456", ""}, {"A", start + 17, "evil", ""}, {"A", start + 21, "evil", ""}},
		"up to the depth":                            {{"S", start - 1, "", ""}, {"A", start, "0123456789012345", ""}, {"A", start + 16, "evil, and more", "drop"}},
		"another SYN begins again":                   {{"S", start - 1, "", ""}, {"A", start, "ev", ""}, {"S", 6, "", ""}, {"A", 7, "il", ""}, {"A", 9, "evil", "drop"}, {"S", 99, "", ""}},
		"the same SYN does not":                      {{"S", start - 1, "", ""}, {"A", start, "ev", ""}, {"S", start - 1, "", ""}, {"A", start + 2, "il", "drop"}, {"S", start - 1, "", "drop"}},
		"with the SYN":                               {{"S", start - 1, "evil", "drop"}},
		"an end behind a gap is none":                {{"S", start - 1, "", ""}, {"FA", start + 2, "il", ""}, {"A", start, "ev", "drop"}},
		"bytes behind the end are a new stream":      {{"S", start - 1, "", ""}, {"FA", start, "ev", ""}, {"A", start + 3, "il", ""}, {"A", start + 5, "evil", "drop"}},
		"bytes before the end that come again":       {{"S", start - 1, "", ""}, {"RA", start, "mark", "mark"}, {"A", start + 1, "ark", "mark"}, {"A", start + 5, "", "mark"}},
		"a mark stays":                               {{"S", start - 1, "", ""}, {"A", start, "mark", "mark"}, {"A", start + 4, "z", "mark"}, {"A", start + 5, "evil", "drop"}},
		"at the beginning alone":                     {{"S", start - 1, "", ""}, {"A", start, "x^", ""}, {"A", start + 2, "first", ""}, {"S", 0, "", ""}, {"A", 1, "fi", ""}, {"A", 3, "rst", "drop"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := dropping(text("evil"))
			e.Rules = append(e.Rules, element.InspectRule{Name: "m", Parts: []element.InspectPart{text("mark")}, Action: element.InspectAction{Mark: true, DSCP: 10}},
				element.InspectRule{Name: "f", Parts: []element.InspectPart{with(text("first"), func(p *element.InspectPart) { p.Depth = 5 })}, Action: element.InspectAction{Drop: "match"}})
			e.Streams = &element.InspectStreams{Depth: 20, Max: 9, Known: 99, Timeout: testbed.Seconds(60), Full: "full"}
			c := interp.New(testbed.OneElement(e), interp.Options{})
			for i, s := range list {
				r := c.Process(testbed.Seconds(float64(i)), testbed.Inside, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 80, Flags: s.flags, Seq: s.seq, Payload: []byte(s.payload)}.Frame(), nil)
				got := ""
				if len(r.Drops) == 1 && r.Drops[0].Reason == "match" {
					got = "drop"
				} else if len(r.Out) == 1 && r.Out[0].Frame[15]>>2 == 10 {
					got = "mark"
				}
				if got != s.want {
					t.Fatalf("packet %d, %+v: %q", i, s, got)
				}
			}
		})
	}
}

// hello is a ClientHello for evil.example, in records of so many bytes.
func hello(size int) (records string) {
	message := "\x01\x00\x00\x50\x03\x03" + "01234567890123456789012345678901" + "\x04sess\x00\x02\x13\x01\x01\x00\x00\x21" +
		"\x00\x0a\x00\x04\x00\x02\x00\x1d" + "\x00\x00\x00\x11\x00\x0f\x00\x00\x0cevil.example" + "\x00\x17\x00\x00"
	for len(message) > 0 {
		n := min(size, len(message))
		records += "\x16\x03\x01\x00" + string(rune(n)) + message[:n]
		message = message[n:]
	}
	return records
}

func TestNamesAreReadFromStreams(t *testing.T) {
	for name, k := range map[string]struct {
		buffer element.Buffer
		text   string
		want   bool
	}{
		"a server of TLS":              {element.BufferTLSSNI, hello(120), true},
		"in two records":               {element.BufferTLSSNI, hello(50), true},
		"in many":                      {element.BufferTLSSNI, hello(1), true},
		"that is not there as a whole": {element.BufferTLSSNI, hello(120)[:84], false},
		"in no handshake":              {element.BufferTLSSNI, "\x17" + hello(120)[1:], false},
		"in no ClientHello":            {element.BufferTLSSNI, strings.Replace(hello(120), "\x01\x00\x00\x50", "\x02\x00\x00\x50", 1), false},
		"of another type":              {element.BufferTLSSNI, strings.Replace(hello(120), "\x00\x00\x0cevil", "\x01\x00\x0cevil", 1), false},
		"a host of HTTP":               {element.BufferHTTPHost, "GET / HTTP/1.1\r\nA: b\r\nhOsT: \tevil.example \r\n", true},
		"with a port":                  {element.BufferHTTPHost, "POST /\nHost:evil.example:8080\n", true},
		"without digits":               {element.BufferHTTPHost, "POST /\nHost:evil.example:\n", false},
		"of the first field":           {element.BufferHTTPHost, "GET /\nHost: x\nHost: evil.example\n", false},
		"behind the fields":            {element.BufferHTTPHost, "GET /\n\nHost: evil.example\n", false},
		"in a line that does not end":  {element.BufferHTTPHost, "GET /\nHost: evil.example", false},
		"of no request":                {element.BufferHTTPHost, "get /\nHost: evil.example\n", false},
		"of a request without a blank": {element.BufferHTTPHost, "GET\nHost: evil.example\n", false},
		"of a method that is too long": {element.BufferHTTPHost, "ABCDEFGHIJKLMNOPQ /\nHost: evil.example\n", false},
		"of a method that is long":     {element.BufferHTTPHost, "ABCDEFGHIJKLMNOP /\nHost: evil.example\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			e := dropping(element.InspectPart{Buffer: k.buffer, Text: []byte("evil.example"), Depth: 12, AtEnd: true})
			e.Streams = &element.InspectStreams{Depth: 1000, Max: 9, Known: 99, Timeout: testbed.Seconds(60), Full: "full"}
			r := interp.New(testbed.OneElement(e), interp.Options{}).Process(0, testbed.Inside, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 80, Flags: "A", Seq: 1, Payload: []byte(k.text)}.Frame(), nil)
			if got := len(r.Drops) == 1; got != k.want {
				t.Errorf("matched: %t, want %t", got, k.want)
			}
		})
	}
}

func TestPacketsWithoutAPayloadToAnInspectorPass(t *testing.T) {
	streams := &element.InspectStreams{Depth: 100, Max: 9, Known: 99, Timeout: testbed.Seconds(10), Full: "full"}
	for name, k := range map[string]struct {
		streams *element.InspectStreams
		packet  testbed.Packet
	}{
		"another protocol":  {nil, testbed.Packet{Proto: layers.IPProtocolGRE, Payload: []byte("evil evil evil")}},
		"a first fragment":  {nil, testbed.Packet{Proto: layers.IPProtocolUDP, Sport: 5, Dport: 80, Frag: 0x2000, Payload: []byte("evil")}},
		"a later fragment":  {nil, testbed.Packet{Proto: layers.IPProtocolUDP, Frag: 9, Payload: []byte("evil evil evil")}},
		"UDP, of streams":   {streams, testbed.Packet{Proto: layers.IPProtocolUDP, Sport: 5, Dport: 80, Payload: []byte("evil")}},
		"a fragment of TCP": {streams, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 80, Flags: "A", Frag: 0x2000, Payload: []byte("evil")}},
	} {
		t.Run(name, func(t *testing.T) {
			e := dropping(text("evil"))
			e.Streams = k.streams
			c := interp.New(testbed.OneElement(e), interp.Options{})
			testbed.Only(t, c.Process(0, testbed.Inside, k.packet.Frame(), nil))
			for _, i := range oracle.InspectionsOf(c.Chain) {
				if i.Packets != 0 || i.Bytes != 0 {
					t.Errorf("counted %+v, want nothing", i)
				}
			}
		})
	}
}

func TestStreamsOfTheTwoSidesAreTwo(t *testing.T) {
	e := dropping(text("evil"))
	e.Streams, e.TwoSided = &element.InspectStreams{Depth: 100, Max: 9, Known: 99, Timeout: testbed.Seconds(10), Full: "full"}, true
	c := interp.New(testbed.OneElement(e), interp.Options{})
	send := func(iface int, seq uint32, payload string) pass.Result {
		return c.Process(0, iface, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: 5, Dport: 80, Flags: "A", Seq: seq, Payload: []byte(payload)}.Frame(), nil)
	}
	send(testbed.Inside, 0, "ev")
	send(testbed.Outside, 2, "xx") // as if it came from inside
	if r := send(testbed.Inside, 2, "il"); len(r.Drops) != 1 {
		t.Error("a sender outside had its bytes put into a stream from inside")
	}
}

func TestStreamsAreForgottenAndCountedOnce(t *testing.T) {
	e := dropping(text("evil"))
	e.Rules[0].Action = element.InspectAction{}
	e.Streams = &element.InspectStreams{Depth: 100, Max: 9, Known: 99, Timeout: testbed.Seconds(10), Full: "full"}
	c := interp.New(testbed.OneElement(e), interp.Options{})
	send := func(at float64, port uint16, seq uint32, payload string) {
		testbed.Only(t, c.Process(testbed.Seconds(at), testbed.Inside, testbed.Packet{Proto: layers.IPProtocolTCP, Sport: port, Dport: 80, Flags: "A", Seq: seq, Payload: []byte(payload)}.Frame(), nil))
	}
	send(0, 5, 0, "evil")
	send(1, 5, 4, "evil") // the same stream
	send(2, 6, 0, "evil") // another one
	send(3, 5, 8, "ev")
	send(13, 5, 10, "il") // just in time, but it was counted
	send(23.1, 5, 12, "evil")
	for _, i := range oracle.InspectionsOf(c.Chain) {
		if i.Packets != 6 || i.Rules["r"] != 3 {
			t.Errorf("counted %+v, want 6 packets, and 3 streams that matched", i)
		}
	}
}
