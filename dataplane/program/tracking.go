package program

import (
	"fmt"
	"reflect"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// maxFlows is how many flows a table may have; the engine has the same limit (kind/track/sn_track.c).
const maxFlows = 1 << 24

// minHalfOpen is the smallest bound of those that are opening; of a shard it is 16.
const minHalfOpen = 2048

func init() {
	operations[reflect.TypeFor[*programpb.Op_Admit]()] = operation{
		kind: State,
		check: func(v validator, at string, o *programpb.Op) error {
			return first(
				v.tracking(at, "admit.table", o.GetAdmit().GetTable()),
				index(at, "admit.full", o.GetAdmit().GetFull(), len(v.p.GetReasons())),
			)
		},
		text: func(p *Program, o *programpb.Op) string {
			return "begin a flow of " + p.GetTables()[o.GetAdmit().GetTable()].GetName()
		},
		unless: func(p *Program, o *programpb.Op) []string { return []string{p.GetReasons()[o.GetAdmit().GetFull()]} },
	}
	registerState(stateKind{
		name:   "tracking",
		claims: func(t *programpb.StateTable) bool { return t.GetTracking() != nil },
		check:  func(_ validator, at string, t *programpb.StateTable) error { return trackingTable(at, t) },
		text: func(_ *Program, t *programpb.StateTable) string {
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
		},
		holds: "flows, both ways",
	})
}

func trackingTable(at string, t *programpb.StateTable) error {
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

// tracking refuses the index of a table that is not one of flows.
func (v validator) tracking(at, field string, i uint32) error {
	if err := index(at, field, i, len(v.p.GetTables())); err != nil {
		return err
	}
	if t := v.p.GetTables()[i]; t.GetTracking() == nil {
		return fmt.Errorf("%s: %s is %d (%s), which is of kind %s, want one of tracking", at, field, i, t.GetName(), kindOf(t).name)
	}
	return nil
}

func (v validator) track(at string, t *programpb.Track) error {
	n := len(v.p.GetSegments())
	return first(
		v.tracking(at, "track.table", t.GetTable()),
		index(at, "track.new", t.GetNew(), n),
		index(at, "track.established", t.GetEstablished(), n),
		index(at, "track.related", t.GetRelated(), n),
		index(at, "track.invalid", t.GetInvalid(), n),
	)
}

// LeadsTo are the segments in which packets of a leg may be classified again, by its outcome alone: not those behind NAPTs,
// which sessions tell.
func LeadsTo(l *programpb.Leg) []uint32 {
	switch o := l.GetOutcome().(type) {
	case *programpb.Leg_Segment:
		return []uint32{o.Segment}
	case *programpb.Leg_Track:
		return []uint32{o.Track.GetNew(), o.Track.GetEstablished(), o.Track.GetRelated(), o.Track.GetInvalid()}
	}
	return nil
}
