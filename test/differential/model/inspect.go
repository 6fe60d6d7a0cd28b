package model

import (
	"encoding/binary"
	"regexp"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// inspect is the model's inspector: it reads the program's expressions by Go's matcher.
func (m *Model) inspect(s *Shot, op *programpb.Inspect) (drop string) {
	ip := s.IP
	of := m.p.GetTables()[op.GetTable()].GetInspector()
	if s.Frag() != 0 || !s.ported() || ip[9] != packets.ProtoTCP && of.GetStreams() != nil {
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
func (m *Model) inspectStream(s *Shot, op *programpb.Inspect, of *programpb.Inspector, tcp, payload []byte) (drop string) {
	key := streamEnds{table: op.GetTable(), outside: op.GetFromOutside()}
	copy(key.ends[:], s.IP[12:20])
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

func (m *Model) matchStream(b *begun, of *programpb.Inspector) {
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
func (m *Model) endsRight(part *programpb.InspectPart, text []byte) bool {
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
