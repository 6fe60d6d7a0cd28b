// Package rules has the rules of stateful firewalls in packet programs: an outcome that tells what a packet is to its flow, an
// operation that begins a flow, and tables of flows.
package rules

import (
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// maxFlows is how many flows a table may have; the engine has the same limit (../engine/sn_track.c).
const maxFlows = 1 << 24

// minHalfOpen is the smallest bound of those that are opening; of a shard it is 16.
const minHalfOpen = 2048

// flows are the tables of flows.
var flows = &rule.StateKind{
	Name:   "tracking",
	Wanted: "one of tracking",
	Claims: func(t *programpb.StateTable) bool { return t.GetTracking() != nil },
	Check:  table,
	Text:   tableText,
	Holds:  "flows, both ways",
	Memory: memory,
}

// memory: beside its flows a shard has a ring of those that are opening.
func memory(t *programpb.StateTable) rule.Memory {
	const openingBytes = 8
	m := rule.Flows(t)
	m.Bytes = rule.RoundUp(int64(t.GetTracking().GetMaxHalfOpen()), rule.Shards) / rule.Shards * openingBytes
	return m
}

func init() {
	rule.RegisterState(flows)
	rule.RegisterOperation[*programpb.Op_Admit](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return rule.First(
				flows.Index(p, at, "admit.table", o.GetAdmit().GetTable()),
				rule.Index(at, "admit.full", o.GetAdmit().GetFull(), len(p.GetReasons())),
			)
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "begin a flow of " + p.GetTables()[o.GetAdmit().GetTable()].GetName()
		},
		Unless: func(p *programpb.Program, o *programpb.Op) []string {
			return []string{p.GetReasons()[o.GetAdmit().GetFull()]}
		},
	})
	rule.RegisterOutcome[*programpb.Leg_Track](rule.Outcome{
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error { return track(p, at, l.GetTrack()) },
		LeadsTo: func(l *programpb.Leg) []uint32 {
			t := l.GetTrack()
			return []uint32{t.GetNew(), t.GetEstablished(), t.GetRelated(), t.GetInvalid()}
		},
		Text: func(p *programpb.Program, l *programpb.Leg) string {
			return "follow its flow " + p.GetTables()[l.GetTrack().GetTable()].GetName()
		},
	})
}

func table(_ *programpb.Program, at string, t *programpb.StateTable) error {
	k := t.GetTracking()
	for _, timeout := range []struct {
		field string
		ms    uint32
	}{{"tcp_ms", k.GetTcpMs()}, {"tcp_transitory_ms", k.GetTcpTransitoryMs()}, {"udp_ms", k.GetUdpMs()}, {"icmp_ms", k.GetIcmpMs()}} {
		if timeout.ms == 0 {
			return fmt.Errorf("%s: %s is 0, want at least 1", at, timeout.field)
		}
	}
	if n := t.GetMaxSessions(); n < 1 || n > maxFlows {
		return fmt.Errorf("%s: max_sessions is %d, want 1..%d flows", at, n, maxFlows)
	}
	if n := k.GetMaxHalfOpen(); n != 0 && (n < minHalfOpen || n > maxFlows) {
		return fmt.Errorf("%s: max_half_open is %d, want 0 or %d..%d", at, n, minHalfOpen, maxFlows)
	}
	return nil
}

func tableText(_ *programpb.Program, t *programpb.StateTable) string {
	k := t.GetTracking()
	ms := func(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
	s := fmt.Sprintf("at most %d flows, tcp %s/%s, udp %s, icmp %s", t.GetMaxSessions(), ms(k.GetTcpMs()), ms(k.GetTcpTransitoryMs()),
		ms(k.GetUdpMs()), ms(k.GetIcmpMs()))
	if n := k.GetMaxHalfOpen(); n > 0 {
		s += fmt.Sprintf(", %d half open", n)
	}
	if k.GetStrict() {
		s += ", strict"
	}
	return s
}

func track(p *programpb.Program, at string, t *programpb.Track) error {
	n := len(p.GetSegments())
	return rule.First(
		flows.Index(p, at, "track.table", t.GetTable()),
		rule.Index(at, "track.new", t.GetNew(), n),
		rule.Index(at, "track.established", t.GetEstablished(), n),
		rule.Index(at, "track.related", t.GetRelated(), n),
		rule.Index(at, "track.invalid", t.GetInvalid(), n),
	)
}
