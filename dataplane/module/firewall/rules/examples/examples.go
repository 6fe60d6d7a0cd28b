// Package examples has programs next to the bounds of the rules of stateful firewalls: the sample of package ruletest, changed.
package examples

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// tracking is the sample with a table of flows; those of its first class are told by it, and the others begin one.
func tracking(change func(p *programpb.Program, t *programpb.StateTable, track *programpb.Track, admit *programpb.Admit)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		t := &programpb.StateTable{Name: "fw/flows", MaxSessions: 100, Tracking: &programpb.Tracking{
			TcpMs: 7_440_000, TcpTransitoryMs: 240_000, UdpMs: 300_000, IcmpMs: 60_000,
		}}
		end := uint32(len(p.Segments))
		p.Segments = append(p.Segments, &programpb.Segment{
			Name: "behind", Table: &programpb.Table{Classes: []uint32{0}},
			Classes: []*programpb.Class{{Legs: []*programpb.Leg{{
				Ops:     []*programpb.Op{{Op: &programpb.Op_Admit{Admit: &programpb.Admit{Table: 1}}}},
				Outcome: &programpb.Leg_Output{},
			}}}},
		})
		track := &programpb.Track{Table: 1, Opens: true, New: end, Established: end, Related: end, Invalid: end}
		p.Tables = append(p.Tables, t)
		ruletest.FirstLeg(p).Ops, ruletest.FirstLeg(p).Outcome = nil, &programpb.Leg_Track{Track: track}
		p.LongestWay = max(p.LongestWay, 8)
		change(p, t, track, p.Segments[end].Classes[0].Legs[0].Ops[0].GetAdmit())
	}
}

func tableOfFlows(change func(t *programpb.StateTable)) func(*programpb.Program) {
	return tracking(func(_ *programpb.Program, t *programpb.StateTable, _ *programpb.Track, _ *programpb.Admit) { change(t) })
}

func tracked(change func(p *programpb.Program, track *programpb.Track, admit *programpb.Admit)) func(*programpb.Program) {
	return tracking(func(p *programpb.Program, _ *programpb.StateTable, track *programpb.Track, admit *programpb.Admit) {
		change(p, track, admit)
	})
}

// Limits of tables of flows.
const (
	maxFlows    = 1 << 24
	minHalfOpen = 2048
)

// Programs are with a table of flows, their second table; the first is right.
var Programs = []ruletest.Example{
	ruletest.Accepted("tracking", tableOfFlows(func(*programpb.StateTable) {})),
	ruletest.Accepted("tracking-largest", tableOfFlows(func(t *programpb.StateTable) { t.MaxSessions = maxFlows })),
	ruletest.Accepted("tracking-strict", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.Strict, t.Tracking.MaxHalfOpen = true, minHalfOpen })),
	ruletest.Refused("tracking-half-open-2047", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.MaxHalfOpen = minHalfOpen - 1 }), "max_half_open is 2047, want 0 or 2048..16777216"),
	ruletest.Refused("tracking-half-open-16777217", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.MaxHalfOpen = maxFlows + 1 }), "max_half_open is 16777217, want 0 or 2048..16777216"),
	ruletest.Refused("tracking-flows-0", tableOfFlows(func(t *programpb.StateTable) { t.MaxSessions = 0 }), "tables[1] (fw/flows): max_sessions is 0, want 1..16777216 flows"),
	ruletest.Refused("tracking-flows-16777217", tableOfFlows(func(t *programpb.StateTable) { t.MaxSessions = maxFlows + 1 }), "max_sessions is 16777217, want 1..16777216 flows"),
	ruletest.Refused("tracking-tcp-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.TcpMs = 0 }), "tables[1] (fw/flows): tcp_ms is 0, want at least 1"),
	ruletest.Refused("tracking-transitory-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.TcpTransitoryMs = 0 }), "tcp_transitory_ms is 0, want at least 1"),
	ruletest.Refused("tracking-udp-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.UdpMs = 0 }), "udp_ms is 0, want at least 1"),
	ruletest.Refused("tracking-icmp-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.IcmpMs = 0 }), "icmp_ms is 0, want at least 1"),
	ruletest.Refused("track-table-2", tracked(func(_ *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.Table = 2 }), "track.table is 2, but there are only 2"),
	ruletest.Refused("track-of-napt", tracked(func(_ *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.Table = 0 }), "track.table is 0 (nat), which is of kind napt, want one of tracking"),
	ruletest.Refused("track-new", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.New = uint32(len(p.Segments)) }), "track.new is "),
	ruletest.Refused("track-established", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) {
		k.Established = uint32(len(p.Segments))
	}), "track.established is "),
	ruletest.Refused("track-related", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) {
		k.Related = uint32(len(p.Segments))
	}), "track.related is "),
	ruletest.Refused("track-invalid", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) {
		k.Invalid = uint32(len(p.Segments))
	}), "track.invalid is "),
	ruletest.Refused("track-round", tracked(func(_ *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.Related = 0 }), "leads back to itself by "),
	ruletest.Refused("admit-table-2", tracked(func(_ *programpb.Program, _ *programpb.Track, a *programpb.Admit) { a.Table = 2 }), "admit.table is 2, but there are only 2"),
	ruletest.Refused("admit-of-napt", tracked(func(_ *programpb.Program, _ *programpb.Track, a *programpb.Admit) { a.Table = 0 }), "admit.table is 0 (nat), which is of kind napt, want one of tracking"),
	ruletest.Refused("admit-full", tracked(func(_ *programpb.Program, _ *programpb.Track, a *programpb.Admit) { a.Full = 9 }), "admit.full is 9, but there are only "),
}
