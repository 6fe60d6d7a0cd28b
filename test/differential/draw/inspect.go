package draw

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Inspections is a line with one or two inspections among other functions.
func (d *Drawer) Inspections() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("inspections", 1, 2) {
		left, right := drawInspection(d, ends)
		d.Link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.Link(a, b)
}

// drawInspection draws a classifier in each direction, which leads packets that may be inspected to an inspector for both.
func drawInspection(d *Drawer, _ [2]int) (left, right Side) {
	name := d.name("ids")
	e := d.inspector(name)
	inspector := d.Add(name, "inspect", e)
	filter := hs.Filter{}
	if !d.one("all packets", 2) {
		filter = d.drawFilter()
	}
	filter = filter.And(hs.Frag, hs.Of(hs.FragWhole)).And(hs.Proto, inspectedBy(e)).And(hs.SPort, hs.Range(0, 65535))
	var in, pass [2]graph.Edge
	for side, way := range []string{"forth", "back"} {
		node := d.Add(name, way, element.Classifier{Default: 0, Outs: 2, Rules: []element.Rule{{Name: "inspect", Filters: []hs.Filter{filter}, Out: 1}}})
		in[side], pass[side] = graph.Edge{To: node}, graph.Edge{To: node}
		d.connect(graph.Edge{To: node, Port: 1}, graph.Edge{To: inspector, Port: side})
	}
	// A packet that comes in by one side leaves by the other.
	left = Side{In: in[0], Outs: []graph.Edge{{To: inspector, Port: 0}, pass[1]}}
	right = Side{In: in[1], Outs: []graph.Edge{{To: inspector, Port: 1}, pass[0]}}
	return left, right
}

func inspectedBy(e element.Inspect) hs.Set {
	if e.Streams != nil {
		return hs.Of(6)
	}
	return hs.Of(6, 17)
}

// expressions, each with a text that it matches.
var expressions = [][2]string{
	{`(?i)GET /[a-z]{2,}\.php`, "get /Abc.php"},
	{`^\x00[^\n]+\xff`, "\x00abc\xff"},
	{`id=[0-9]{4}(&|;)`, "id=2026;"},
	{`(?s)begin.{3,9}end`, "begin\n--\nend"},
	{`\w+@\w+\.(com|org)`, "who@where.org"},
	{`a+b?[[:punct:]]c*\d`, "aab!cc7"},
	{`(?i)[\xe4\xf6k]s`, "\xc4S"},
	{`(x|yy|zzz){3}`, "yyxzzz"},
	{`[0-9a-f]{48,}`, strings.Repeat("0a", 24)}, // of the sample
}

// inspector draws rules of a few parts, which payloads of the traffic have often.
func (d *Drawer) inspector(name string) element.Inspect {
	e := element.Inspect{TwoSided: true}
	if !d.one("of packets", 3) {
		e.Streams = &element.InspectStreams{
			Depth: []int{7, 64, 100, 500}[d.int("depth", 0, 3)], Max: 1 << 13, Known: ManyFlows, Full: name + "/full",
			Timeout: []time.Duration{time.Second, time.Minute, time.Hour}[d.int("timeout", 0, 2)],
		}
	}
	for i := range d.int("rules", 1, 6) {
		r := element.InspectRule{Name: fmt.Sprint("r", i)}
		for range d.int("parts", 1, 3) {
			p := d.inspectPart()
			if e.Streams != nil {
				p.Buffer = []element.Buffer{0, element.BufferTLSSNI, element.BufferHTTPHost}[d.int("buffer", 0, 2)]
				p.AtEnd = p.AtEnd && p.Buffer != element.BufferPayload
			}
			r.Parts = append(r.Parts, p)
		}
		switch d.int("action", 0, 3) {
		case 0, 1:
			r.Action.Drop = fmt.Sprintf("%s/matched-%d", name, i%2)
		case 2:
			r.Action.Mark, r.Action.DSCP = true, uint8(d.int("mark", 0, 63))
		}
		e.Rules = append(e.Rules, r)
	}
	return e
}

func (d *Drawer) inspectPart() (p element.InspectPart) {
	if d.one("regex", 3) {
		p.Regex = expressions[d.int("expression", 0, len(expressions)-1)][0]
		return p
	}
	p.Text = []byte([]string{"attack", "EVIL", "\x00\x01", "k", "www.bad", ".example", "|;", "zz"}[d.int("text", 0, 7)])
	p.NoCase = d.one("no case", 2)
	if d.one("of a name", 3) {
		p.Buffer = element.BufferDNSQuery
	}
	if d.one("offset", 3) {
		p.Offset = d.int("from", 0, 20)
	}
	if d.one("depth", 3) {
		p.Depth = len(p.Text) + d.int("room", 0, 12)
	}
	p.AtEnd = d.one("at the end", 5)
	return p
}

// words are what inspectors look for.
func (t *Traffic) learnInspector(e element.Inspect) {
	for _, r := range e.Rules {
		for _, p := range r.Parts {
			word := string(p.Text)
			for _, x := range expressions {
				if x[0] == p.Regex {
					word = x[1]
				}
			}
			if word == "" {
				panic("no text is known that matches " + p.Regex)
			}
			t.words = append(t.words, word)
		}
	}
}

// spiced is a payload with words that are looked for, some of which are not quite right; often a DNS query.
func (t *Traffic) spiced(payload []byte) []byte {
	payload = append(t.rest, payload...)
	t.rest = nil
	word := func() []byte {
		w := []byte(t.words[t.IntN(len(t.words))])
		switch t.IntN(6) {
		case 0:
			w[t.IntN(len(w))] ^= 0x20
		case 1:
			w = w[:t.IntN(len(w)+1)]
		case 2: // the next payload has the rest, which may be the stream's
			n := t.IntN(len(w) + 1)
			w, t.rest = w[:n], w[n:]
		}
		return w
	}
	switch t.IntN(6) {
	case 0:
		return fmt.Appendf(nil, "%s /%s HTTP/1.1\r\n%shOst:\t%s%s\r\n\r\n%s", []string{"GET", "post", "AB"}[t.IntN(3)], word(),
			[]string{"", "x: y\n", "\n"}[t.IntN(3)], word(), []string{"", ":80", ":", " "}[t.IntN(4)], payload)
	case 1:
		return append(t.hello(append(word(), word()...)), payload...)
	case 2, 3:
		return t.question(word, payload)
	}
	for range 1 + t.IntN(3) {
		at := t.IntN(len(payload) + 1)
		if t.IntN(2) == 0 {
			at = []int{0, len(payload)}[t.IntN(2)]
		}
		payload = append(payload[:at:at], append(word(), payload[at:]...)...)
	}
	return payload
}

// question is a DNS query for a few words, some of them spoiled.
func (t *Traffic) question(word func() []byte, payload []byte) []byte {
	var labels []byte
	for range 1 + t.IntN(3) {
		for l := range strings.SplitSeq(strings.Trim(string(word())+string(word()), "."), ".") {
			l = l[:min(len(l), 63)]
			labels = append(append(labels, byte(len(l))), l...)
		}
	}
	head := binary.BigEndian.AppendUint16([]byte{1, 2, byte(t.IntN(2) * t.IntN(2) << 7), 0}, uint16(t.IntN(8)&1|t.IntN(2)))
	out := append(append(head, 0, 0, 0, 0, 0, 0), labels...)
	return append(append(out, 0, 0, 1, 0, 1), payload[:t.IntN(2)*t.IntN(len(payload)+1)]...)
}

// hello is a ClientHello for a server, often in two records; some are spoiled.
func (t *Traffic) hello(name []byte) []byte {
	field := func(size int, value []byte) []byte {
		n := binary.BigEndian.AppendUint32(nil, uint32(len(value)))
		return append(n[4-size:], value...)
	}
	server := field(2, append([]byte{0}, field(2, name)...))
	extensions := append(append([]byte{0, 10}, field(2, []byte{0, 2, 0, 29})...), append([]byte{0, 0}, field(2, server)...)...)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(append(append(append(body, field(1, make([]byte, t.IntN(2)*32))...), field(2, []byte{0x13, 1})...), field(1, []byte{0})...), field(2, extensions)...)
	message := append([]byte{1}, field(3, body)...)
	if t.IntN(6) == 0 {
		message[t.IntN(len(message))] ^= 1 << t.IntN(8)
	}
	at := t.IntN(len(message) + 1)
	return append(append([]byte{22, 3, 1}, field(2, message[:at])...), append([]byte{22, 3, 3}, field(2, message[at:])...)...)
}
