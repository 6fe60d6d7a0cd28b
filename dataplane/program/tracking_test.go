package program

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
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
		firstLeg(p).Ops, firstLeg(p).Outcome = nil, &programpb.Leg_Track{Track: track}
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

// trackingExamples are of tables of flows.
var trackingExamples = []example{
	{"tracking", tableOfFlows(func(*programpb.StateTable) {}), nil},
	{"tracking-largest", tableOfFlows(func(t *programpb.StateTable) { t.MaxSessions = maxFlows }), nil},
	{"tracking-strict", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.Strict, t.Tracking.MaxHalfOpen = true, minHalfOpen }), nil},
	{"tracking-half-open-2047", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.MaxHalfOpen = minHalfOpen - 1 }), []string{"max_half_open is 2047, want 0 or 2048..16777216"}},
	{"tracking-half-open-16777217", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.MaxHalfOpen = maxFlows + 1 }), []string{"max_half_open is 16777217, want 0 or 2048..16777216"}},
	{"tracking-flows-0", tableOfFlows(func(t *programpb.StateTable) { t.MaxSessions = 0 }), []string{"tables[1] (fw/flows): max_sessions is 0, want 1..16777216 flows"}},
	{"tracking-flows-16777217", tableOfFlows(func(t *programpb.StateTable) { t.MaxSessions = maxFlows + 1 }), []string{"max_sessions is 16777217, want 1..16777216 flows"}},
	{"tracking-tcp-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.TcpMs = 0 }), []string{"tables[1] (fw/flows): tcp_ms is 0, want at least 1"}},
	{"tracking-transitory-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.TcpTransitoryMs = 0 }), []string{"tcp_transitory_ms is 0, want at least 1"}},
	{"tracking-udp-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.UdpMs = 0 }), []string{"udp_ms is 0, want at least 1"}},
	{"tracking-icmp-0", tableOfFlows(func(t *programpb.StateTable) { t.Tracking.IcmpMs = 0 }), []string{"icmp_ms is 0, want at least 1"}},
	{"track-table-2", tracked(func(_ *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.Table = 2 }), []string{"track.table is 2, but there are only 2"}},
	{"track-of-napt", tracked(func(_ *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.Table = 0 }), []string{"track.table is 0 (nat), which is of kind napt, want one of tracking"}},
	{"track-new", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.New = uint32(len(p.Segments)) }), []string{"track.new is "}},
	{"track-established", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) {
		k.Established = uint32(len(p.Segments))
	}), []string{"track.established is "}},
	{"track-related", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) {
		k.Related = uint32(len(p.Segments))
	}), []string{"track.related is "}},
	{"track-invalid", tracked(func(p *programpb.Program, k *programpb.Track, _ *programpb.Admit) {
		k.Invalid = uint32(len(p.Segments))
	}), []string{"track.invalid is "}},
	{"track-round", tracked(func(_ *programpb.Program, k *programpb.Track, _ *programpb.Admit) { k.Related = 0 }), []string{"leads back to itself by "}},
	{"admit-table-2", tracked(func(_ *programpb.Program, _ *programpb.Track, a *programpb.Admit) { a.Table = 2 }), []string{"admit.table is 2, but there are only 2"}},
	{"admit-of-napt", tracked(func(_ *programpb.Program, _ *programpb.Track, a *programpb.Admit) { a.Table = 0 }), []string{"admit.table is 0 (nat), which is of kind napt, want one of tracking"}},
	{"admit-full", tracked(func(_ *programpb.Program, _ *programpb.Track, a *programpb.Admit) { a.Full = 9 }), []string{"admit.full is 9, but there are only "}},
}

func TestATableOfFlowsInWords(t *testing.T) {
	p := sample()
	tracking(func(*programpb.Program, *programpb.StateTable, *programpb.Track, *programpb.Admit) {})(p)
	want := "at most 100 flows, tcp 2h4m0s/4m0s, udp 5m0s, icmp 1m0s"
	if got := TableText(p, p.Tables[1]); got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	admit := p.Segments[len(p.Segments)-1].Classes[0].Legs[0].Ops[0]
	if got, want := OpText(p, admit), "begin a flow of fw/flows"; got != want {
		t.Errorf("the operation is %q, want %q", got, want)
	}
}
