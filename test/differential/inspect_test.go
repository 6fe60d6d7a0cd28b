package differential

import (
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	inspect "github.com/sinter-nfv/sinter/dataplane/module/inspect/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestInspectionsDoWhatTheUnmergedChainDoes runs random chains, each with an inspection at least, over payloads that have what is looked for,
// or nearly.
//
//	SINTER_SEED=17 go test ./test/differential -run 'TestInspections.*/^17$' -v
func TestInspectionsDoWhatTheUnmergedChainDoes(t *testing.T) {
	needHarness(t)
	compared, matched, looked := 0, uint64(0), uint64(0)
	for seed := range seeds(t, "SINTER_INSPECT", scale(6, 3)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rapid.Custom(func(rt *rapid.T) *rig {
				r, err := newRig(drawChain(rt, shape{name: "inspections", draw: (*drawer).inspections}))
				if err != nil {
					rt.Fatal(err)
				}
				return r
			}).Example(int(seed))
			if err := r.drive(t.Context(), seed, scale(45_000, 8_000), true); err != nil {
				t.Fatalf("%v\n%s", err, dump(r.g))
			}
			compared += r.stats.packets
			for _, i := range inspect.InspectionsOf(r.oracle.Chain) {
				looked += i.Packets
				for n := range maps.Values(i.Rules) {
					matched += n
				}
			}
		})
	}
	t.Logf("%d packets; %d were looked at, rules matched %d times", compared, looked, matched)
	if !t.Failed() && matched == 0 {
		t.Errorf("of %d packets that were looked at rules matched none: the chains want some of these", looked)
	}
}

// TestPacketsMeetStateByAMarkThatTheirPayloadGivesThem has meters behind an inspection, which measure marked packets alone: by source and by
// destination, so that all state is one worker's. Where a packet comes in, nobody knows its mark.
func TestPacketsMeetStateByAMarkThatTheirPayloadGivesThem(t *testing.T) {
	needHarness(t)
	r := compiled(t, `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24, gateway: 198.51.100.2}
  functions:
  - {name: ids, inspect: {patterns: [vpn], action: Mark, mark: 8}}
  - {name: senders, rateLimiter: {limits: [{dscp: 8, rate: 1pps, perSubscriber: {address: Source}}]}}
  - {name: receivers, rateLimiter: {limits: [{dscp: 8, rate: 1pps, perSubscriber: {address: Destination}}]}}
  path: [inside, ids, senders, receivers, outside]
`)
	r.workers = 3
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.engine.kill)
	tr := newTraffic(1, r.g, r.res.Program)
	for i := range 40 {
		s := step{now: time.Second + time.Duration(i)*10*time.Millisecond}
		for range 50 {
			f := packets.Fields{
				VLAN: -1, TTL: 64, Src: 0x0a000002 + tr.Uint32N(64), Dst: 0xcb007101 + tr.Uint32N(64), Proto: packets.ProtoUDP,
				Sport: uint16(1024 + tr.IntN(64)), Dport: 4500,
			}
			s.packets = append(s.packets, sent{0, tr.build(0, f)})
		}
		if _, err := r.run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	if r.stats.drops["senders/exceeded"]+r.stats.drops["receivers/exceeded"] == 0 {
		t.Error("no packet was above a limit: the test wants more marked ones")
	}
}

// inspections is a line with one or two inspections among other functions.
func (d *drawer) inspections() {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 1, ends)
	for range d.int("inspections", 1, 2) {
		left, right := drawInspection(d, ends)
		d.link(a, left)
		a = d.join(right, 0, 2, ends)
	}
	d.link(a, b)
}

// drawInspection draws a classifier in each direction, which leads packets that may be inspected to an inspector for both.
func drawInspection(d *drawer, _ [2]int) (left, right side) {
	name := d.name("ids")
	e := d.inspector(name)
	inspector := d.add(name, "inspect", e)
	filter := hs.Filter{}
	if !d.one("all packets", 2) {
		filter = d.drawFilter()
	}
	filter = filter.And(hs.Frag, hs.Of(hs.FragWhole)).And(hs.Proto, inspectedBy(e)).And(hs.SPort, hs.Range(0, 65535))
	var in, pass [2]graph.Edge
	for side, way := range []string{"forth", "back"} {
		node := d.add(name, way, element.Classifier{Default: 0, Outs: 2, Rules: []element.Rule{{Name: "inspect", Filters: []hs.Filter{filter}, Out: 1}}})
		in[side], pass[side] = graph.Edge{To: node}, graph.Edge{To: node}
		d.connect(graph.Edge{To: node, Port: 1}, graph.Edge{To: inspector, Port: side})
	}
	// A packet that comes in by one side leaves by the other.
	return side{in: in[0], outs: []graph.Edge{{To: inspector, Port: 0}, pass[1]}}, side{in: in[1], outs: []graph.Edge{{To: inspector, Port: 1}, pass[0]}}
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
func (d *drawer) inspector(name string) element.Inspect {
	e := element.Inspect{TwoSided: true}
	if !d.one("of packets", 3) {
		e.Streams = &element.InspectStreams{
			Depth: []int{7, 64, 100, 500}[d.int("depth", 0, 3)], Max: 1 << 13, Known: manyFlows, Full: name + "/full",
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

func (d *drawer) inspectPart() (p element.InspectPart) {
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
func (t *traffic) learnInspector(e element.Inspect) {
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
func (t *traffic) spiced(payload []byte) []byte {
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
func (t *traffic) question(word func() []byte, payload []byte) []byte {
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
func (t *traffic) hello(name []byte) []byte {
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

// inspect is the model's inspector: it reads the program's expressions by Go's matcher.
func (m *model) inspect(s *shot, op *programpb.Inspect) (drop string) {
	ip := s.ip
	of := m.p.GetTables()[op.GetTable()].GetInspector()
	if s.frag() != 0 || !s.ported() || ip[9] != packets.ProtoTCP && of.GetStreams() != nil {
		return "" // of a fragment, or of another protocol, nothing is looked at
	}
	l4 := ip[int(ip[0]&15)*4 : binary.BigEndian.Uint16(ip[2:])]
	payload, name := []byte(nil), []byte(nil)
	if ip[9] == packets.ProtoUDP {
		payload = l4[8:binary.BigEndian.Uint16(l4[4:])]
		name = askedFor(payload)
	} else {
		payload = l4[l4[12]>>4<<2:]
	}
	if of.GetStreams() != nil {
		return m.inspectStream(s, op, of, l4, payload)
	}
	mark := -1
	for _, r := range of.GetRules() {
		all := true
		for _, part := range r.GetParts() {
			text := payload
			if part.GetBuffer() == programpb.InspectPart_DNS_QUERY {
				text = name
				all = all && name != nil
			}
			all = all && m.endsRight(part, text)
		}
		switch a := r.GetAction().(type) {
		case *programpb.InspectRule_Drop:
			if all && drop == "" {
				drop = m.p.GetReasons()[a.Drop]
			}
		case *programpb.InspectRule_Dscp:
			if all && mark < 0 {
				mark = int(a.Dscp)
			}
		}
	}
	if drop == "" && mark >= 0 {
		s.set(programpb.Field_DSCP, uint32(mark))
	}
	return drop
}

// streamEnds are a stream's ends, as an inspector sees them, and the side from which it comes.
type streamEnds struct {
	table   uint32
	ends    [12]byte
	outside bool
}

// begun is a TCP stream as the model has it: what is known of it, as a text with gaps.
type begun struct {
	first   uint32
	text    [1 << 14]byte
	there   [1 << 14]bool
	solid   int
	over    bool
	last    time.Duration
	drop    string
	mark    int // + 1
	matched map[int]bool
}

// inspectStream is the model's inspector of streams.
func (m *model) inspectStream(s *shot, op *programpb.Inspect, of *programpb.Inspector, tcp, payload []byte) (drop string) {
	key := streamEnds{table: op.GetTable(), outside: op.GetFromOutside()}
	copy(key.ends[:], s.ip[12:20])
	copy(key.ends[8:], tcp[:4])
	number := binary.BigEndian.Uint32(tcp[4:])
	opens := tcp[13]&packets.SYN != 0
	if opens {
		number++
	}
	b := m.streams[key]
	if b == nil || m.now-b.last > time.Duration(of.GetStreams().GetTimeoutMs())*time.Millisecond || opens && number != b.first ||
		b.over && len(payload) > 0 && int32(number+uint32(len(payload))-b.first) > int32(b.solid) {
		if m.streams == nil {
			m.streams = map[streamEnds]*begun{}
		}
		b = &begun{first: number, matched: map[int]bool{}}
		m.streams[key] = b
	}
	b.last = m.now
	depth := int32(of.GetStreams().GetDepth())
	for i := range payload {
		if at := int32(number + uint32(i) - b.first); b.drop == "" && at >= 0 && at < depth && !b.there[at] {
			b.text[at], b.there[at] = payload[i], true
		}
	}
	was := b.solid
	for b.solid < int(depth) && b.there[b.solid] {
		b.solid++
	}
	if b.solid > was {
		m.matchStream(b, of)
	}
	if tcp[13]&(packets.FIN|packets.RST) != 0 && b.drop == "" && b.solid < int(depth) && number+uint32(len(payload)) == b.first+uint32(b.solid) {
		b.over = true
	}
	if b.drop == "" && b.mark > 0 {
		s.set(programpb.Field_DSCP, uint32(b.mark-1))
	}
	return b.drop
}

func (m *model) matchStream(b *begun, of *programpb.Inspector) {
	for i, r := range of.GetRules() {
		all := !b.matched[i]
		for _, part := range r.GetParts() {
			text := b.text[:b.solid]
			switch part.GetBuffer() {
			case programpb.InspectPart_PAYLOAD:
			case programpb.InspectPart_TLS_SNI:
				text = askedServer(text)
			case programpb.InspectPart_HTTP_HOST:
				text = askedHost(text)
			case programpb.InspectPart_DNS_QUERY:
				text = nil
			}
			all = all && text != nil && m.endsRight(part, text)
		}
		if !all {
			continue
		}
		b.matched[i] = true
		switch a := r.GetAction().(type) {
		case *programpb.InspectRule_Drop:
			if b.drop == "" {
				b.drop = m.p.GetReasons()[a.Drop]
			}
		case *programpb.InspectRule_Dscp:
			if b.mark == 0 {
				b.mark = int(a.Dscp) + 1
			}
		}
	}
}

// askedServer is the name in a ClientHello; nil: there is none.
func askedServer(text []byte) []byte {
	var hello []byte
	for len(text) > 4 && text[0] == 22 && text[1] == 3 {
		n := 5 + int(binary.BigEndian.Uint16(text[3:]))
		hello = append(hello, text[5:min(n, len(text))]...)
		text = text[min(n, len(text)):]
	}
	at := 38
	for _, size := range []int{1, 2, 1} {
		if at+size > len(hello) {
			return nil
		}
		n := int(hello[at])
		if size == 2 {
			n = n<<8 | int(hello[at+1])
		}
		at += size + n
	}
	if at+2 > len(hello) || hello[0] != 1 {
		return nil
	}
	end := at + 2 + int(binary.BigEndian.Uint16(hello[at:]))
	for at += 2; at+4 <= end && at+4 <= len(hello); {
		size := int(binary.BigEndian.Uint16(hello[at+2:]))
		if at+4+size > end {
			return nil
		}
		if hello[at] != 0 || hello[at+1] != 0 {
			at += 4 + size
			continue
		}
		if at+9 > len(hello) || hello[at+6] != 0 {
			return nil
		}
		n := int(binary.BigEndian.Uint16(hello[at+7:]))
		if n > 255 || at+9+n > len(hello) {
			return nil
		}
		return append([]byte{}, hello[at+9:at+9+n]...)
	}
	return nil
}

var (
	request = regexp.MustCompile(`(?s)^[A-Z]{1,16} [^\n]*\n((?:[^\n]*\n)*)`)
	port    = regexp.MustCompile(`:[0-9]+$`)
)

// askedHost is the host of an HTTP request; nil: there is none.
func askedHost(text []byte) []byte {
	found := request.FindSubmatch(text)
	if found == nil {
		return nil
	}
	for line := range strings.SplitAfterSeq(string(found[1]), "\n") {
		field, ended := strings.CutSuffix(line, "\n")
		field = strings.TrimSuffix(field, "\r")
		if !ended || field == "" {
			return nil
		}
		if len(field) >= 5 && strings.EqualFold(field[:5], "host:") {
			host := port.ReplaceAllString(strings.Trim(field[5:], " \t"), "")
			if len(host) > 255 {
				return nil
			}
			return []byte(host)
		}
	}
	return nil
}

// endsRight tells whether some match of a part ends where it may. Expressions with bounds have matches of one length.
func (m *model) endsRight(part *programpb.InspectPart, text []byte) bool {
	if m.expressions == nil {
		m.expressions = map[string]*regexp.Regexp{}
	}
	re := m.expressions[part.GetExpression()]
	if re == nil {
		re = regexp.MustCompile(part.GetExpression())
		m.expressions[part.GetExpression()] = re
	}
	runes := make([]rune, len(text))
	for i, c := range text {
		runes[i] = rune(c)
	}
	if part.GetMinEnd() == 0 && part.GetMaxEnd() == 0 {
		return re.MatchString(string(runes))
	}
	for from := range len(runes) + 1 {
		at := re.FindStringIndex(string(runes[from:]))
		if at == nil || at[0] != 0 {
			continue
		}
		end := uint32(from + len([]rune(string(runes[from:])[:at[1]])))
		if end >= part.GetMinEnd() && (part.GetMaxEnd() == 0 || end <= part.GetMaxEnd()) {
			return true
		}
	}
	return false
}

// askedFor is the name of a DNS query; nil: there is none.
func askedFor(message []byte) []byte {
	if len(message) < 13 || message[2]>>7 == 1 || message[4] == 0 && message[5] == 0 {
		return nil
	}
	var labels []string
	for at := 12; at < len(message); {
		n := int(message[at])
		if n == 0 {
			name := strings.Join(labels, ".")
			if len(name) > 255 {
				return nil
			}
			return append([]byte{}, name...)
		}
		if n > 63 || at+1+n > len(message) {
			return nil
		}
		labels = append(labels, string(message[at+1:at+1+n]))
		at += 1 + n
	}
	return nil
}

// compareInspections notes where inspectors counted otherwise than the oracle's.
func (r *rig) compareInspections(stats *controlpb.Stats, note func(what string, want, seen any)) {
	inspected := inspect.InspectionsOf(r.oracle.Chain)
	for i, t := range r.res.Program.GetTables() {
		if t.GetInspector() == nil {
			continue
		}
		of := stats.GetTables()[i].GetInspector()
		want, seen := inspected[t.GetName()], inspect.Inspected{Packets: of.GetPackets(), Bytes: of.GetBytes(), Rules: map[string]uint64{}}
		for _, rule := range of.GetRules() {
			if rule.GetPackets() > 0 {
				seen.Rules[rule.GetName()] = rule.GetPackets()
			}
		}
		maps.DeleteFunc(want.Rules, func(_ string, n uint64) bool { return n == 0 })
		// Behind a NAPT whose choice nobody saw it is not known which inspector a packet met.
		if r.stats.early == 0 && (want.Packets != seen.Packets || want.Bytes != seen.Bytes || !maps.Equal(want.Rules, seen.Rules)) {
			note("what "+t.GetName()+" counted", fmt.Sprint(want), fmt.Sprint(seen))
		}
		delete(inspected, t.GetName())
	}
	for name, c := range inspected {
		if c.Packets > 0 {
			note("counts of "+name+", which the program has not", fmt.Sprint(c), "nothing")
		}
	}
}
