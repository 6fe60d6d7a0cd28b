// Package oracle has the meaning of inspection: rules that look into packets, and streams.
package oracle

import (
	"bytes"
	"encoding/binary"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp/flow"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

func init() {
	pass.Register(func(_ *pass.Chain, _ string, e element.Inspect) pass.Element {
		i := &inspector{Inspect: e, counts: &Inspected{Rules: map[string]uint64{}}, streams: map[streamKey]*stream{}}
		for _, r := range e.Rules {
			for _, p := range r.Parts {
				if p.Text == nil && i.regex[p.Regex] == nil {
					if i.regex == nil {
						i.regex = map[string]*regexp.Regexp{}
					}
					i.regex[p.Regex] = regexp.MustCompile(p.Regex)
				}
			}
		}
		return i
	})
}

// inspector matches payloads with rules.
type inspector struct {
	element.Inspect
	regex  map[string]*regexp.Regexp
	counts *Inspected
	// streams, of an inspector of these.
	streams map[streamKey]*stream
}

// Inspected is what an inspector counted.
type Inspected struct {
	Packets, Bytes uint64            // that it looked at; bytes of payloads
	Rules          map[string]uint64 // packets that each matched
}

func (i *inspector) Pass(r *pass.Run, n *graph.Node, p *pass.Packet, in int) (int, bool) {
	if !i.looksAt(p.IP) {
		return i.Leaves(in), false
	}
	payload := payloadOf(p.IP)
	was := *i.counts
	r.Lasting(func() { i.counts.Packets, i.counts.Bytes = was.Packets, was.Bytes })
	i.counts.Packets, i.counts.Bytes = was.Packets+1, was.Bytes+uint64(len(payload))
	if i.Streams != nil {
		return i.ofStream(r, n, p, payload, in)
	}
	var drop, mark *element.InspectAction
	for k := range i.Rules {
		rule := &i.Rules[k]
		if !i.matches(rule, p.IP, payload) {
			continue
		}
		i.count(r, rule)
		switch {
		case rule.Action.Drop != "" && drop == nil:
			drop = &rule.Action
		case rule.Action.Mark && mark == nil:
			mark = &rule.Action
		}
	}
	return i.act(r, n, p, in, drop, mark)
}

// looksAt tells whether a packet has a payload to the inspector: of those that no classifier keeps from it.
func (i *inspector) looksAt(ip []byte) bool {
	return header.Frag(ip) == header.FragWhole && header.Ported(ip) && (ip[9] == header.TCP || i.Streams == nil)
}

// count notes that a rule matched.
func (i *inspector) count(r *pass.Run, rule *element.InspectRule) {
	r.Note("matched by %s", rule.Name)
	i.counts.Rules[rule.Name]++
	r.Lasting(func() { i.counts.Rules[rule.Name]-- })
}

// act does what the first rule that drops says, else the first that marks.
func (i *inspector) act(r *pass.Run, n *graph.Node, p *pass.Packet, in int, drop, mark *element.InspectAction) (int, bool) {
	switch {
	case drop != nil:
		r.Discard(n, p, drop.Drop)
		return pass.Ended, false
	case mark != nil:
		p.IP[1] = mark.DSCP<<2 | p.IP[1]&3
	}
	return i.Leaves(in), false
}

// payloadOf is what is behind the TCP or UDP header, as long as that and IP's say.
func payloadOf(ip []byte) []byte {
	l4 := ip[header.Len(ip):binary.BigEndian.Uint16(ip[2:])]
	if ip[9] == header.TCP {
		return l4[int(l4[12]>>4)*4:]
	}
	return l4[8:binary.BigEndian.Uint16(l4[4:])]
}

// matches tells whether all parts of a rule do.
func (i *inspector) matches(rule *element.InspectRule, ip, payload []byte) bool {
	for _, part := range rule.Parts {
		buffer, ok := payload, true
		switch {
		case part.Buffer == element.BufferDNSQuery:
			buffer, ok = queried(ip, payload)
		case part.Buffer != element.BufferPayload && i.Streams == nil:
			return false
		case part.Buffer == element.BufferTLSSNI:
			buffer, ok = serverName(payload)
		case part.Buffer == element.BufferHTTPHost:
			buffer, ok = httpHost(payload)
		}
		if !ok {
			return false
		}
		if part.Text == nil {
			if !i.regex[part.Regex].MatchString(latin1(buffer)) {
				return false
			}
		} else if !found(part, buffer) {
			return false
		}
	}
	return true
}

// found looks for a text at each place where it may begin.
func found(part element.InspectPart, buffer []byte) bool {
	for at := part.Offset; at+len(part.Text) <= len(buffer); at++ {
		end := at + len(part.Text)
		if part.Depth > 0 && end > part.Offset+part.Depth {
			return false
		}
		if part.AtEnd && end != len(buffer) {
			continue
		}
		if here := buffer[at:end]; bytes.Equal(here, part.Text) || part.NoCase && bytes.Equal(lowered(here), lowered(part.Text)) {
			return true
		}
	}
	return false
}

// lowered has letters A to Z as a to z.
func lowered(text []byte) []byte {
	out := bytes.Clone(text)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

// latin1 has a character for each byte.
func latin1(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}

// queried is the name that a DNS query over UDP asks for first, with dots between labels (RFC 1035 section 4.1).
func queried(ip, message []byte) (name []byte, ok bool) {
	if ip[9] != header.UDP || len(message) < 12 || message[2]&0x80 != 0 || binary.BigEndian.Uint16(message[4:]) == 0 {
		return nil, false
	}
	for rest := message[12:]; len(rest) > 0; {
		n := int(rest[0])
		switch {
		case n == 0:
			return name, true
		case n > 63 || len(rest) < 1+n || len(name)+1+n > 255:
			return nil, false
		}
		if len(name) > 0 {
			name = append(name, '.')
		}
		name, rest = append(name, rest[1:1+n]...), rest[1+n:]
	}
	return nil, false
}

// streamKey is a stream's ends, and the side from which it comes.
type streamKey struct {
	flow.Flow
	outside bool
}

// stream is a direction of a TCP connection, as an inspector sees it.
type stream struct {
	begin   uint32       // the number of its first byte
	bytes   map[int]byte // that came, by their offsets
	have    int          // so many from the first on are there
	over    bool         // its end came, and all before it was there
	matched []int        // rules, in the order in which they did
	last    time.Duration
}

// ofStream has a packet's payload join its stream, and does what the rules say that have matched that so far.
func (i *inspector) ofStream(r *pass.Run, n *graph.Node, p *pass.Packet, payload []byte, in int) (int, bool) {
	s := i.stream(r, p.IP, i.Streams.FromOutside != (in == 1))
	if !i.drops(s) {
		i.join(s, p.IP, payload)
		i.look(r, s, p.IP)
		end := firstByte(p.IP) + uint32(len(payload)) - s.begin
		s.over = s.over || header.Transport(p.IP)[13]&(header.FIN|header.RST) != 0 && end == uint32(s.have) && s.have < i.Streams.Depth && !i.drops(s)
	}
	var drop, mark *element.InspectAction
	for _, k := range s.matched {
		switch a := &i.Rules[k].Action; {
		case a.Drop != "" && drop == nil:
			drop = a
		case a.Mark && mark == nil:
			mark = a
		}
	}
	return i.act(r, n, p, in, drop, mark)
}

// stream is that of a packet, which may begin it.
func (i *inspector) stream(r *pass.Run, ip []byte, outside bool) *stream {
	ends, _ := flow.Of(ip)
	key := streamKey{ends, outside}
	tcp := header.Transport(ip)
	syn, seq, more := tcp[13]&header.SYN != 0, firstByte(ip), false
	old := i.streams[key]
	s := &stream{begin: seq, bytes: map[int]byte{}, last: r.Now}
	if old != nil {
		n := len(payloadOf(ip))
		more = n > 0 && int(int32(seq+uint32(n)-old.begin)) > old.have
	}
	if old != nil && r.Now-old.last <= i.Streams.Timeout && (!syn || old.begin == seq) && !(old.over && more) {
		s = &stream{old.begin, maps.Clone(old.bytes), old.have, old.over, slices.Clone(old.matched), r.Now}
	}
	i.streams[key] = s
	r.Lasting(func() {
		delete(i.streams, key)
		if old != nil {
			i.streams[key] = old
		}
	})
	return s
}

// firstByte is the number of a segment's first byte, or of the one that would be.
func firstByte(ip []byte) uint32 {
	tcp := header.Transport(ip)
	seq := binary.BigEndian.Uint32(tcp[4:])
	if tcp[13]&header.SYN != 0 {
		seq++
	}
	return seq
}

// drops tells whether a rule that drops has matched.
func (i *inspector) drops(s *stream) bool {
	return slices.ContainsFunc(s.matched, func(k int) bool { return i.Rules[k].Action.Drop != "" })
}

// join keeps bytes of a payload that were not there.
func (i *inspector) join(s *stream, ip, payload []byte) {
	seq := firstByte(ip)
	for k, c := range payload {
		at := int(int32(seq + uint32(k) - s.begin))
		if _, there := s.bytes[at]; !there && at >= 0 && at < i.Streams.Depth {
			s.bytes[at] = c
		}
	}
}

// look matches rules with what is there from the beginning on, if that is more than before.
func (i *inspector) look(r *pass.Run, s *stream, ip []byte) {
	was := s.have
	for _, there := s.bytes[s.have]; there; _, there = s.bytes[s.have] {
		s.have++
	}
	if s.have == was {
		return
	}
	text := make([]byte, s.have)
	for k := range text {
		text[k] = s.bytes[k]
	}
	for k := range i.Rules {
		if rule := &i.Rules[k]; !slices.Contains(s.matched, k) && i.matches(rule, ip, text) {
			s.matched = append(s.matched, k)
			i.count(r, rule)
		}
	}
}

// serverName is that of a TLS ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3), which may be divided among records.
func serverName(records []byte) (name []byte, ok bool) {
	var hello []byte
	for len(records) >= 5 && records[0] == 22 && records[1] == 3 {
		n := min(int(binary.BigEndian.Uint16(records[3:])), len(records)-5)
		hello, records = append(hello, records[5:5+n]...), records[5+n:]
	}
	// take gives what a length of so many bytes is before.
	take := func(from *[]byte, size int) []byte {
		if len(*from) < size {
			*from = nil
			return nil
		}
		n := 0
		for _, b := range (*from)[:size] {
			n = n<<8 | int(b)
		}
		rest := (*from)[size:]
		all := rest[:min(n, len(rest))]
		*from = rest[len(all):]
		return all
	}
	if len(hello) < 4+2+32 || hello[0] != 1 {
		return nil, false
	}
	rest := hello[4+2+32:]
	take(&rest, 1)
	take(&rest, 2)
	take(&rest, 1)
	if len(rest) < 2 {
		return nil, false
	}
	left, rest := int(binary.BigEndian.Uint16(rest)), rest[2:]
	for left >= 4 && len(rest) >= 4 {
		kind, size := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
		switch {
		case size > left-4:
			return nil, false
		case kind == 0:
			if rest = rest[4:]; len(rest) < 5 || rest[2] != 0 {
				return nil, false
			}
			n := int(binary.BigEndian.Uint16(rest[3:]))
			if n > 255 || len(rest) < 5+n {
				return nil, false
			}
			return rest[5 : 5+n], true
		}
		left -= 4 + size
		rest = rest[min(4+size, len(rest)):]
	}
	return nil, false
}

// httpHost is the host that an HTTP request (RFC 9112) is for, without the port.
func httpHost(text []byte) (host []byte, ok bool) {
	lines := bytes.Split(text, []byte("\n"))
	lines = lines[:len(lines)-1] // the last one does not end
	for i, line := range lines {
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case i == 0:
			method, _, found := bytes.Cut(line, []byte(" "))
			if !found || len(method) < 1 || len(method) > 16 || len(bytes.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) > 0 {
				return nil, false
			}
		case len(line) == 0:
			return nil, false
		case len(line) >= 5 && bytes.Equal(lowered(line[:5]), []byte("host:")):
			host = bytes.Trim(line[5:], " \t")
			name := bytes.TrimRight(host, "0123456789")
			if len(name) < len(host) && bytes.HasSuffix(name, []byte(":")) {
				host = name[:len(name)-1]
			}
			return host, len(host) <= 255
		}
	}
	return nil, false
}

// Resume implements pass.Keeping: counts go on if the rules are those of before.
func (i *inspector) Resume(before pass.Element) pass.Element {
	if old, ok := before.(*inspector); ok && i.sameRules(old) {
		i.counts = old.counts
		if i.Streams != nil && old.Streams != nil && i.Streams.Depth == old.Streams.Depth {
			i.streams = old.streams
		}
	}
	return i
}

func (i *inspector) sameRules(o *inspector) bool {
	if len(i.Rules) != len(o.Rules) {
		return false
	}
	for k := range i.Rules {
		if i.Rules[k].Name != o.Rules[k].Name {
			return false
		}
	}
	return true
}

// InspectionsOf are what the inspectors of a chain counted, by their nodes' names.
func InspectionsOf(c *pass.Chain) map[string]Inspected {
	out := map[string]Inspected{}
	for name, i := range pass.All[*inspector](c) {
		out[name] = *i.counts
	}
	return out
}
