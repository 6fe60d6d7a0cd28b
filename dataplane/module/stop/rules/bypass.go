package rules

import (
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

const (
	maxFlows   = 1 << 24 // of a table; the engine has the same limits (../engine/sn_passing.c)
	maxPackets = 1<<16 - 1
)

// passing are the tables of flows that may go past a function.
var passing = &rule.StateKind{
	Name:   "passing",
	Wanted: "one of passing",
	Claims: func(t *programpb.StateTable) bool { return t.GetPassing() != nil },
	Check:  table,
	Text:   tableText,
	Holds:  "flows, both ways",
	Memory: rule.Flows,
}

func init() {
	rule.RegisterState(passing)
	rule.RegisterOperation[*programpb.Op_Passed](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return passing.Index(p, at, "passed.table", o.GetPassed().GetTable())
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "count for its flow of " + p.GetTables()[o.GetPassed().GetTable()].GetName()
		},
	})
	rule.RegisterOutcome[*programpb.Leg_Bypass](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error {
			b, n := l.GetBypass(), len(p.GetSegments())
			return rule.First(
				passing.Index(p, at, "bypass.table", b.GetTable()),
				rule.Index(at, "bypass.through", b.GetThrough(), n),
				rule.Index(at, "bypass.past", b.GetPast(), n),
			)
		},
		LeadsTo: func(l *programpb.Leg) []uint32 { return []uint32{l.GetBypass().GetThrough(), l.GetBypass().GetPast()} },
		Text: func(p *programpb.Program, l *programpb.Leg) string {
			return "go past or through as its flow says " + p.GetTables()[l.GetBypass().GetTable()].GetName()
		},
	})
}

func table(_ *programpb.Program, at string, t *programpb.StateTable) error {
	k := t.GetPassing()
	for _, timeout := range []struct {
		field string
		ms    uint32
	}{
		{"tcp_ms", k.GetTcpMs()},
		{"tcp_transitory_ms", k.GetTcpTransitoryMs()},
		{"tcp_closing_ms", k.GetTcpClosingMs()},
		{"udp_ms", k.GetUdpMs()},
		{"icmp_ms", k.GetIcmpMs()},
	} {
		if timeout.ms == 0 {
			return fmt.Errorf("%s: %s is 0, want at least 1", at, timeout.field)
		}
	}
	if n := t.GetMaxSessions(); n < 1 || n > maxFlows {
		return fmt.Errorf("%s: max_sessions is %d, want 1..%d flows", at, n, maxFlows)
	}
	return rule.Between(at, "packets", k.GetPackets(), 1, maxPackets)
}

func tableText(_ *programpb.Program, t *programpb.StateTable) string {
	k := t.GetPassing()
	ms := func(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
	return fmt.Sprintf("past after %d packets, at most %d flows, tcp %s/%s/%s, udp %s, icmp %s", k.GetPackets(), t.GetMaxSessions(), ms(k.GetTcpMs()),
		ms(k.GetTcpTransitoryMs()), ms(k.GetTcpClosingMs()), ms(k.GetUdpMs()), ms(k.GetIcmpMs()))
}
