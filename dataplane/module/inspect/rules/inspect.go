// Package rules has the rules of inspectors in packet programs: an operation that looks into packets, and tables of rules and
// streams.
package rules

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Limits of inspectors; the engine has the same (../engine/sn_inspect.c).
const (
	maxInspectRules      = 4096
	maxInspectParts      = 16
	maxInspectExpression = 8192
	maxInspectEnd        = 1 << 16
	maxInspectDepth      = 1 << 14
	maxInspectKept       = 1 << 16
	maxInspectKnown      = 1 << 24
)

// inspectors are the tables of streams, with the rules.
var inspectors = &rule.StateKind{
	Name:       "inspector",
	Wanted:     "an inspector's",
	Claims:     func(t *programpb.StateTable) bool { return t.GetInspector() != nil },
	Check:      inspector,
	Text:       inspectorText,
	Holds:      "streams, and counts of rules",
	Memory:     memory,
	EachPacket: true,
}

// memory: each worker counts for each rule, and each stream has what its rules have matched.
func memory(t *programpb.StateTable) rule.Memory {
	const (
		workers    = 64
		countsMore = 32
		head       = 16
	)
	i := t.GetInspector()
	rules := int64(len(i.GetRules()))
	m := rule.Memory{Shards: rule.Shards, Entries: 1, Buckets: 1}
	if streams := i.GetStreams(); streams != nil {
		depth := int64(streams.GetDepth())
		m = rule.Flows(t)
		m.Elsewhere = int64(streams.GetMax()) * rule.RoundUp(head+rule.RoundUp(rules, 64)/8+rule.RoundUp(depth, 64)/8+depth, rule.EntryBytes)
	}
	m.Elsewhere += workers * (rules + countsMore) * 8
	return m
}

func init() {
	rule.RegisterState(inspectors)
	rule.RegisterOperation[*programpb.Op_Inspect](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return inspectors.Index(p, at, "inspect.table", o.GetInspect().GetTable())
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "inspect by " + p.GetTables()[o.GetInspect().GetTable()].GetName()
		},
		Unless: drops,
	})
}

// drops are the reasons under which an inspector may drop a packet, each once.
func drops(p *programpb.Program, o *programpb.Op) (reasons []string) {
	said := map[uint32]bool{}
	of := p.GetTables()[o.GetInspect().GetTable()].GetInspector()
	if s := of.GetStreams(); s != nil {
		said[s.GetFull()] = true
		reasons = append(reasons, p.GetReasons()[s.GetFull()])
	}
	for _, r := range of.GetRules() {
		if d, ok := r.GetAction().(*programpb.InspectRule_Drop); ok && !said[d.Drop] {
			said[d.Drop] = true
			reasons = append(reasons, p.GetReasons()[d.Drop])
		}
	}
	return reasons
}

func inspector(p *programpb.Program, at string, t *programpb.StateTable) error {
	rules := t.GetInspector().GetRules()
	if len(rules) < 1 || len(rules) > maxInspectRules {
		return fmt.Errorf("%s: has %d rules, want 1..%d", at, len(rules), maxInspectRules)
	}
	for i, r := range rules {
		if err := inspectRule(p, fmt.Sprintf("%s, rules[%d]", at, i), r); err != nil {
			return err
		}
	}
	return inspectStreams(p, at, t)
}

func inspectStreams(p *programpb.Program, at string, t *programpb.StateTable) error {
	s := t.GetInspector().GetStreams()
	switch {
	case s == nil:
		return nil
	case s.GetDepth() < 1 || s.GetDepth() > maxInspectDepth:
		return fmt.Errorf("%s: streams.depth is %d, want 1..%d", at, s.GetDepth(), maxInspectDepth)
	case s.GetMax() < 1 || s.GetMax() > maxInspectKept:
		return fmt.Errorf("%s: streams.max is %d, want 1..%d", at, s.GetMax(), maxInspectKept)
	case s.GetTimeoutMs() < 1:
		return fmt.Errorf("%s: streams.timeout_ms is 0, want at least 1", at)
	case t.GetMaxSessions() < 1 || t.GetMaxSessions() > maxInspectKnown:
		return fmt.Errorf("%s: max_sessions is %d, want 1..%d streams", at, t.GetMaxSessions(), maxInspectKnown)
	}
	return rule.Index(at, "streams.full", s.GetFull(), len(p.GetReasons()))
}

func inspectRule(p *programpb.Program, at string, r *programpb.InspectRule) error {
	if n := len(r.GetParts()); n < 1 || n > maxInspectParts {
		return fmt.Errorf("%s: has %d parts, want 1..%d", at, n, maxInspectParts)
	}
	for i, part := range r.GetParts() {
		if err := inspectPart(fmt.Sprintf("%s.parts[%d]", at, i), part); err != nil {
			return err
		}
	}
	switch a := r.GetAction().(type) {
	case *programpb.InspectRule_Drop:
		return rule.Index(at, "drop", a.Drop, len(p.GetReasons()))
	case *programpb.InspectRule_Dscp:
		return rule.AtMost(at, "dscp", a.Dscp, 63)
	}
	return nil
}

func inspectPart(at string, p *programpb.InspectPart) error {
	if _, ok := programpb.InspectPart_Buffer_name[int32(p.GetBuffer())]; !ok {
		return fmt.Errorf("%s: buffer is %d, want PAYLOAD, DNS_QUERY, TLS_SNI or HTTP_HOST", at, p.GetBuffer())
	}
	e := p.GetExpression()
	if len(e) < 1 || len(e) > maxInspectExpression {
		return fmt.Errorf("%s: expression has %d bytes, want 1..%d", at, len(e), maxInspectExpression)
	}
	if i := strings.IndexFunc(e, func(c rune) bool { return c <= ' ' || c > '~' }); i >= 0 {
		return fmt.Errorf("%s: expression has byte 0x%02x, want printable ASCII", at, e[i])
	}
	least, most := p.GetMinEnd(), p.GetMaxEnd()
	if least > maxInspectEnd || most > maxInspectEnd || most > 0 && most < least {
		return fmt.Errorf("%s: ends are from %d to %d, want them in order, and at most %d", at, least, most, maxInspectEnd)
	}
	return nil
}

func inspectorText(p *programpb.Program, t *programpb.StateTable) string {
	rules := t.GetInspector().GetRules()
	s := fmt.Sprintf("%d rules", len(rules))
	if k := t.GetInspector().GetStreams(); k != nil {
		s += fmt.Sprintf(", %d bytes of %d streams, at most %d known", k.GetDepth(), k.GetMax(), t.GetMaxSessions())
	}
	for i, r := range rules {
		if i == 3 {
			return s + ", …"
		}
		s += fmt.Sprintf(", %s: %s", r.GetName(), inspectActionText(p, r))
	}
	return s
}

func inspectActionText(p *programpb.Program, r *programpb.InspectRule) string {
	switch a := r.GetAction().(type) {
	case *programpb.InspectRule_Drop:
		return "drop " + p.GetReasons()[a.Drop]
	case *programpb.InspectRule_Dscp:
		return fmt.Sprintf("dscp %d", a.Dscp)
	}
	return "count"
}
