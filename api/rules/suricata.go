package rules

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Inspection is a rule for payloads. Packets of one of the filters match in which all parts do.
type Inspection struct {
	Line    int
	Name    string
	Drop    bool // else it counts
	Stream  bool // of TCP streams; else of single packets
	Filters []headerspace.Filter
	Parts   []Part
}

// Part is a text or a regular expression that a payload has.
type Part struct {
	// Buffer is dns.query, tls.sni or http.host: a name in the payload. Empty: the payload.
	Buffer string
	Text   []byte // absent: Regex is given
	NoCase bool
	Offset int
	Depth  int // 0: up to the end
	AtEnd  bool
	Regex  string
}

const (
	maxInspections = 4096
	maxParts       = 16
	maxContent     = 1024
	maxOffset      = 65535
)

// Suricata reads rules in a subset of Suricata's language (docs/language.md, "inspect"), one a line.
func Suricata(data []byte) ([]Inspection, []Problem) {
	var (
		out []Inspection
		bad problems
	)
	sids := map[int]int{}
	for n, line := range lines(data) {
		r := suricataRule{sids: sids, line: n}
		r.read(string(line))
		if len(out) == maxInspections {
			r.fail("", "", fmt.Sprintf("a file may have %d rules; divide it", maxInspections))
		}
		if r.problem != nil {
			r.problem.Line = n
			if !bad.add(*r.problem) || len(out) == maxInspections {
				return out, bad.list
			}
			continue
		}
		r.out.Line = n
		out = append(out, r.out)
	}
	return out, bad.list
}

// suricataRule is a rule that is being read. Its first problem is told.
type suricataRule struct {
	out     Inspection
	problem *Problem
	sids    map[int]int // their lines
	line    int

	sid    int
	msg    string
	buffer string // of parts that follow
	udp    bool
}

func (r *suricataRule) fail(field, value, message string) {
	if r.problem == nil {
		r.problem = &Problem{Field: field, Value: value, Message: message}
	}
}

func (r *suricataRule) read(line string) {
	head, options, found := strings.Cut(line, "(")
	options, closed := strings.CutSuffix(strings.TrimSpace(options), ")")
	fields := strings.Fields(joinLists(head))
	if !found || !closed || len(fields) != 7 {
		r.fail("", line, `not a rule; write one like: drop udp any any -> any 53 (msg:"x"; content:"y"; sid:1;)`)
		return
	}
	r.header(fields)
	for rest := options; r.problem == nil && strings.TrimSpace(rest) != ""; {
		var o string
		if o, rest, found = cutOption(rest); !found {
			r.fail("options", strings.TrimSpace(o), "does not end; write a semicolon behind it, and close quotes")
			return
		}
		name, value, _ := strings.Cut(strings.TrimSpace(o), ":")
		r.option(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	r.finish()
}

// joinLists takes the blanks out of lists in brackets.
func joinLists(head string) string {
	depth := 0
	return strings.Map(func(c rune) rune {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth > 0 && (c == ' ' || c == '\t'):
			return -1
		}
		return c
	}, head)
}

// cutOption is the text before the next semicolon that is neither quoted nor behind a backslash.
func cutOption(s string) (option, rest string, found bool) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ';' && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func (r *suricataRule) header(f []string) {
	switch f[0] {
	case "drop":
		r.out.Drop = true
	case "alert":
	case "reject", "rejectsrc", "rejectdst", "rejectboth", "pass":
		r.fail("action", f[0], "is not done; write drop, or alert to count")
	default:
		r.fail("action", f[0], "not an action"+finding.DidYouMean(f[0], []string{"drop", "alert"})+"; write drop, or alert to count")
	}
	protocol := "udp"
	switch f[1] {
	case "udp", "dns":
		r.udp = true
	case "tcp", "tcp-stream":
		protocol, r.out.Stream = "tcp", true
	case "tcp-pkt":
		protocol = "tcp"
	case "http", "http1", "http2", "tls", "ip":
		r.fail("protocol", f[1], "is not told by what packets have in them; write tcp and ports, or udp")
	default:
		r.fail("protocol", f[1], "unknown protocol; write udp, dns, tcp, or tcp-pkt for each packet by itself")
	}
	if f[4] != "->" && f[4] != "<>" {
		r.fail("direction", f[4], "not a direction; write -> or <>")
	}
	m := v1alpha1.Match{Protocol: new(intstr.FromString(protocol)), Source: r.addresses("source", f[2]), Destination: r.addresses("destination", f[5])}
	m.SourcePorts, m.DestinationPorts = r.ports("source port", f[3]), r.ports("destination port", f[6])
	r.filter(m)
	if f[4] == "<>" {
		m.Source, m.Destination, m.SourcePorts, m.DestinationPorts = m.Destination, m.Source, m.DestinationPorts, m.SourcePorts
		r.filter(m)
	}
}

func (r *suricataRule) filter(m v1alpha1.Match) {
	if r.problem != nil {
		return
	}
	filter, problems := Filter(&m)
	for _, p := range problems {
		if !p.Warning {
			r.fail(p.Field, p.Value, p.Message)
		}
	}
	if !slices.ContainsFunc(r.out.Filters, filter.Equal) {
		r.out.Filters = append(r.out.Filters, filter)
	}
}

// list is the items of a list in brackets, or the only one; nil for any.
func (r *suricataRule) list(field, s string) []string {
	if s == "any" {
		return nil
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(inner, "]")
	}
	items := strings.Split(s, ",")
	for _, item := range items {
		switch {
		case strings.HasPrefix(item, "$"):
			r.fail(field, item, "variables are not known; write what it stands for")
		case strings.HasPrefix(item, "!"), strings.HasPrefix(item, "["):
			r.fail(field, item, "exclusions and lists within lists are not read; write out what is meant")
		}
	}
	return items
}

func (r *suricataRule) addresses(field, s string) (out []v1alpha1.AddressSet) {
	for _, item := range r.list(field, s) {
		out = append(out, v1alpha1.AddressSet(item))
	}
	return out
}

// ports are written 1000:2000 for a range; either end may be left out.
func (r *suricataRule) ports(field, s string) (out []intstr.IntOrString) {
	for _, item := range r.list(field, s) {
		low, high, ranged := strings.Cut(item, ":")
		if ranged {
			if low == "" {
				low = "0"
			}
			if high == "" {
				high = "65535"
			}
			item = low + "-" + high
		}
		out = append(out, intstr.FromString(item))
	}
	return out
}

// ignored are options that say nothing about packets.
var ignored = []string{"rev", "gid", "classtype", "reference", "metadata", "priority", "fast_pattern"}

// inspectOptions are the others.
var inspectOptions = map[string]func(r *suricataRule, value string){
	"msg": func(r *suricataRule, v string) { r.msg = r.quoted("msg", v) },
	"sid": (*suricataRule).setSID,
	"content": func(r *suricataRule, v string) {
		if strings.HasPrefix(v, "!") {
			r.fail("content", v, "what must not be there is not read; leave the ! out")
			return
		}
		text, message := Content(r.quoted("content", v))
		if message != "" {
			r.fail("content", v, message)
		}
		r.out.Parts = append(r.out.Parts, Part{Buffer: r.buffer, Text: text})
	},
	"pcre":   (*suricataRule).pcre,
	"nocase": func(r *suricataRule, _ string) { r.of("nocase", func(p *Part) { p.NoCase = true }) },
	"offset": func(r *suricataRule, v string) { r.of("offset", func(p *Part) { p.Offset = r.number("offset", v, 0) }) },
	"depth": func(r *suricataRule, v string) {
		r.of("depth", func(p *Part) { p.Depth = r.number("depth", v, len(p.Text)) })
	},
	"startswith": func(r *suricataRule, _ string) { r.of("startswith", func(p *Part) { p.Depth = len(p.Text) }) },
	"endswith": func(r *suricataRule, _ string) {
		if r.out.Stream && r.buffer == "" {
			r.fail("endswith", "", "is of single packets, as nobody knows where a stream ends; write tcp-pkt, or leave it out")
		}
		r.of("endswith", func(p *Part) { p.AtEnd = true })
	},
	"dns.query": func(r *suricataRule, _ string) {
		if !r.udp {
			r.fail("dns.query", "", "is of UDP; write the protocol udp or dns")
		}
		r.buffer = "dns.query"
	},
	"tls.sni":   func(r *suricataRule, _ string) { r.ofStream("tls.sni") },
	"http.host": func(r *suricataRule, _ string) { r.ofStream("http.host") },
	"pkt_data":  func(r *suricataRule, _ string) { r.buffer = "" },
}

func (r *suricataRule) option(name, value string) {
	if slices.Contains(ignored, name) {
		return
	}
	if set := inspectOptions[name]; set != nil {
		set(r, value)
		return
	}
	known := slices.Clone(ignored)
	for o := range inspectOptions {
		known = append(known, o)
	}
	slices.Sort(known)
	switch name {
	case "flow", "flowbits", "http.uri":
		r.fail(name, value, "is not read yet; look for the bytes, or leave the option or the rule out")
	default:
		r.fail(name, value, "unknown option"+finding.DidYouMean(name, known)+"; known are "+strings.Join(known, ", "))
	}
}

// ofStream has parts that follow looked for in a name of a stream.
func (r *suricataRule) ofStream(buffer string) {
	if !r.out.Stream {
		r.fail(buffer, "", "is of TCP streams; write the protocol tcp")
	}
	r.buffer = buffer
}

// of changes the content before.
func (r *suricataRule) of(option string, change func(*Part)) {
	if n := len(r.out.Parts); n > 0 && r.out.Parts[n-1].Text != nil {
		change(&r.out.Parts[n-1])
		return
	}
	r.fail(option, "", "stands behind a content; write that first")
}

func (r *suricataRule) number(option, v string, least int) int {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > maxOffset {
		r.fail(option, v, fmt.Sprintf("must be a number from %d to %d", least, maxOffset))
	}
	return n
}

func (r *suricataRule) setSID(v string) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		r.fail("sid", v, "must be a number of at least 1")
		return
	}
	if first, taken := r.sids[n]; taken {
		r.fail("sid", v, fmt.Sprintf("line %d has it, too; rules need numbers of their own", first))
	}
	r.sid = n
}

func (r *suricataRule) quoted(option, v string) string {
	if len(v) < 3 || v[0] != '"' || v[len(v)-1] != '"' {
		r.fail(option, v, "must be a text in quotes, and not empty")
		return ""
	}
	return v[1 : len(v)-1]
}

// pcre is "/…/" with the flags i and s.
func (r *suricataRule) pcre(v string) {
	text, first := strings.CutPrefix(r.quoted("pcre", v), "/")
	end := strings.LastIndex(text, "/")
	if !first || end < 0 {
		r.fail("pcre", v, `must be like "/expression/" or "/expression/i"`)
		return
	}
	flags := text[end+1:]
	if strings.Trim(flags, "is") != "" {
		r.fail("pcre", v, "has other flags than i and s; leave them out")
	}
	text = text[:end]
	if flags != "" {
		text = "(?" + flags + ")" + text
	}
	if message := CheckRegex(text); message != "" {
		r.fail("pcre", v, message)
	}
	r.out.Parts = append(r.out.Parts, Part{Buffer: r.buffer, Regex: text})
}

func (r *suricataRule) finish() {
	switch {
	case r.problem != nil:
	case r.sid == 0:
		r.fail("sid", "", "is missing; give the rule a number of its own")
	case len(r.out.Parts) == 0 || len(r.out.Parts) > maxParts:
		r.fail("content", "", fmt.Sprintf("a rule needs 1 to %d of content and pcre; this one has %d", maxParts, len(r.out.Parts)))
	}
	for _, p := range r.out.Parts {
		switch {
		case p.Offset+p.Depth > maxOffset || p.Offset+len(p.Text) > maxOffset:
			r.fail("offset", strconv.Itoa(p.Offset), fmt.Sprintf("lies beyond byte %d, where no payload is", maxOffset))
		case p.Depth > 0 && p.Depth < len(p.Text):
			r.fail("depth", strconv.Itoa(p.Depth), fmt.Sprintf("is less than the content's %d bytes", len(p.Text)))
		}
	}
	if r.problem != nil {
		return
	}
	r.sids[r.sid] = r.line
	r.out.Name = fmt.Sprintf("sid %d", r.sid)
	if r.msg != "" {
		r.out.Name += ": " + strings.ToValidUTF8(r.msg, "?")
	}
}

// Content is the bytes of a text in which some are in hexadecimal between bars, and a backslash stands before one that would mean something.
func Content(s string) (text []byte, message string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) || !strings.ContainsRune(`\":;|`, rune(s[i])) {
				return nil, `has a backslash before what needs none; write \\ for a backslash`
			}
			text = append(text, s[i])
		case '|':
			digits, _, closed := strings.Cut(s[i+1:], "|")
			bytes, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
			if !closed || err != nil {
				return nil, `has bars that hold no bytes in hexadecimal; write them like "|0d 0a|", or \| for a bar`
			}
			text = append(text, bytes...)
			i += 1 + len(digits)
		default:
			text = append(text, s[i])
		}
	}
	if len(text) == 0 || len(text) > maxContent {
		return nil, fmt.Sprintf("has %d bytes; must have 1 to %d", len(text), maxContent)
	}
	return text, ""
}
