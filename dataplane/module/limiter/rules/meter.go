// Package rules has the rules of rate limiters in packet programs: an operation that measures packets, and tables of token
// buckets.
package rules

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// Limits of meters; the engine has the same (../engine/sn_meter.c).
const (
	maxTokens      = 9_200_000_000 // of a bucket: in units of 10⁻⁹ token they fit 63 bits
	maxSubscribers = 1 << 24
)

// meters are the tables of token buckets.
var meters = &rule.StateKind{
	Name:       "meter",
	Wanted:     "a meter's",
	Claims:     func(t *programpb.StateTable) bool { return t.GetMeter() != nil },
	Check:      meter,
	Text:       meterText,
	Holds:      "token buckets",
	Memory:     memory,
	EachPacket: true,
}

// memory: without subscribers a meter has one entry.
func memory(t *programpb.StateTable) rule.Memory {
	m := rule.Flows(t)
	if t.GetMeter().GetSubscribers() == nil {
		m.Most, m.Entries = 1, 1
	}
	even := min(2*(m.Most/rule.Shards)+64, m.Most)
	m.Buckets = max(even, m.Most/8+1)
	return m
}

func init() {
	rule.RegisterState(meters)
	rule.RegisterOperation[*programpb.Op_Meter](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return meters.Index(p, at, "meter", o.GetMeter())
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "measure " + p.GetTables()[o.GetMeter()].GetName()
		},
		Unless: func(p *programpb.Program, o *programpb.Op) (reasons []string) {
			m := p.GetTables()[o.GetMeter()].GetMeter()
			for _, a := range []*programpb.MeterAction{m.GetYellow(), m.GetRed()} {
				if d, ok := a.GetAction().(*programpb.MeterAction_Drop); ok {
					reasons = append(reasons, p.GetReasons()[d.Drop])
				}
			}
			return reasons
		},
	})
}

func meter(p *programpb.Program, at string, t *programpb.StateTable) error {
	m := t.GetMeter()
	if _, ok := programpb.Meter_Unit_name[int32(m.GetUnit())]; !ok {
		return fmt.Errorf("%s: unit is %d, want BITS or PACKETS", at, m.GetUnit())
	}
	if both := m.GetComesYellow() & m.GetComesRed(); both != 0 {
		return fmt.Errorf("%s: comes_yellow and comes_red have DSCP %d in common", at, bits.TrailingZeros64(both))
	}
	return rule.First(subscribers(at, t), meterAction(p, at, m.GetYellow()), meterAction(p, at, m.GetRed()), buckets(at, m))
}

func subscribers(at string, t *programpb.StateTable) error {
	s := t.GetMeter().GetSubscribers()
	switch {
	case s == nil:
	case s.GetPrefixLen() < 1 || s.GetPrefixLen() > 32:
		return fmt.Errorf("%s: subscribers.prefix_len is %d, want 1..32", at, s.GetPrefixLen())
	case t.GetMaxSessions() < 1 || t.GetMaxSessions() > maxSubscribers:
		return fmt.Errorf("%s: max_sessions is %d, want 1..%d subscribers", at, t.GetMaxSessions(), maxSubscribers)
	}
	return nil
}

func buckets(at string, m *programpb.Meter) error {
	rate, peak := m.GetRate(), m.GetPeakRate()
	switch {
	case rate == 0 || peak > 0 && peak < rate:
		return fmt.Errorf("%s: rate is %d, peak_rate %d: want a rate above 0, and a peak rate of at least that", at, rate, peak)
	case m.GetBurst() < 1 || m.GetBurst() > maxTokens || m.GetExcessBurst() > maxTokens:
		return fmt.Errorf("%s: bursts are %d and %d, want 1..%d, the second may be 0", at, m.GetBurst(), m.GetExcessBurst(), uint64(maxTokens))
	}
	if ms := fullAfter(m); m.GetSubscribers() != nil && ms > math.MaxUint32 {
		return fmt.Errorf("%s: its buckets are full after %d ms, want at most %d", at, ms, uint32(math.MaxUint32))
	}
	return nil
}

// fullAfter is in how many milliseconds empty buckets are full.
func fullAfter(m *programpb.Meter) uint64 {
	fill := func(tokens, rate uint64) uint64 {
		if tokens == 0 {
			return 0
		}
		return tokens*1_000_000_000/rate/1_000_000 + 1
	}
	committed := fill(m.GetBurst(), m.GetRate())
	if m.GetPeakRate() == 0 {
		return committed + fill(m.GetExcessBurst(), m.GetRate())
	}
	return max(committed, fill(m.GetExcessBurst(), m.GetPeakRate()))
}

func meterAction(p *programpb.Program, at string, a *programpb.MeterAction) error {
	if a == nil {
		return nil
	}
	switch a := a.GetAction().(type) {
	case *programpb.MeterAction_Drop:
		return rule.Index(at, "drop", a.Drop, len(p.GetReasons()))
	case *programpb.MeterAction_Dscp:
		return rule.AtMost(at, "dscp", a.Dscp, 63)
	}
	return errors.New(at + ": what is done to a colour is neither drop nor dscp")
}

func meterText(p *programpb.Program, t *programpb.StateTable) string {
	m := t.GetMeter()
	unit := "bit"
	if m.GetUnit() == programpb.Meter_PACKETS {
		unit = "packet"
	}
	s := fmt.Sprintf("%d %s/s, burst %d", m.GetRate(), unit, m.GetBurst())
	switch {
	case m.GetPeakRate() > 0:
		s += fmt.Sprintf(", peak %d %s/s, burst %d", m.GetPeakRate(), unit, m.GetExcessBurst())
	case m.GetExcessBurst() > 0:
		s += fmt.Sprintf(", excess burst %d", m.GetExcessBurst())
	}
	if u := m.GetSubscribers(); u != nil {
		field := headerspace.Src
		if u.GetDestination() {
			field = headerspace.Dst
		}
		s += fmt.Sprintf(", per %s/%d, at most %d", field, u.GetPrefixLen(), t.GetMaxSessions())
	}
	if m.GetComesYellow()|m.GetComesRed() != 0 {
		s += fmt.Sprintf(", comes yellow %s, red %s", dscps(m.GetComesYellow()), dscps(m.GetComesRed()))
	}
	return s + fmt.Sprintf(", yellow: %s, red: %s", meterActionText(p, m.GetYellow()), meterActionText(p, m.GetRed()))
}

func dscps(members uint64) string {
	var set headerspace.Set
	for d := range uint64(64) {
		if members>>d&1 == 1 {
			set = set.Union(headerspace.Of(d))
		}
	}
	if set.IsEmpty() {
		return "none"
	}
	return set.Format(headerspace.DSCP)
}

func meterActionText(p *programpb.Program, a *programpb.MeterAction) string {
	switch a := a.GetAction().(type) {
	case *programpb.MeterAction_Drop:
		return "drop " + p.GetReasons()[a.Drop]
	case *programpb.MeterAction_Dscp:
		return fmt.Sprintf("dscp %d", a.Dscp)
	}
	return "pass"
}
