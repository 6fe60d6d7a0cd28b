// Package examples has programs next to the bounds of the rules of rate limiters: the sample of package ruletest, changed.
package examples

import (
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// metered is the sample with a meter, which measures the packets of the first leg, changed.
func metered(change func(t *programpb.StateTable)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		t := &programpb.StateTable{Name: "lim/all", MaxSessions: 100, Meter: &programpb.Meter{
			Rate: 10_000_000, Burst: 500_000, ExcessBurst: 100_000,
			Subscribers: &programpb.Subscribers{PrefixLen: 24},
			ComesYellow: 1 << 12, ComesRed: 1 << 14,
			Yellow: &programpb.MeterAction{Action: &programpb.MeterAction_Dscp{Dscp: 12}},
			Red:    &programpb.MeterAction{Action: &programpb.MeterAction_Drop{}},
		}}
		change(t)
		p.Tables = append(p.Tables, t)
		ruletest.FirstLeg(p).Ops = append(ruletest.FirstLeg(p).Ops, &programpb.Op{Op: &programpb.Op_Meter{Meter: 1}})
	}
}

func meterOf(change func(m *programpb.Meter)) func(*programpb.Program) {
	return metered(func(t *programpb.StateTable) { change(t.Meter) })
}

// maxTokens is what a bucket may hold.
const maxTokens = 9_200_000_000

// Programs are with a meter, their second table; the first is right.
var Programs = []ruletest.Example{
	ruletest.Accepted("meter", metered(func(*programpb.StateTable) {})),
	ruletest.Accepted("meter-of-all", metered(func(t *programpb.StateTable) { t.MaxSessions, t.Meter.Subscribers = 0, nil })),
	ruletest.Accepted("meter-blind-and-idle", meterOf(func(m *programpb.Meter) { m.ComesYellow, m.ComesRed, m.Yellow, m.Red = 0, 0, nil, nil })),
	ruletest.Accepted("meter-packets", meterOf(func(m *programpb.Meter) { m.Unit, m.Rate, m.Burst, m.ExcessBurst = programpb.Meter_PACKETS, 1, 1, 0 })),
	ruletest.Accepted("meter-peak", meterOf(func(m *programpb.Meter) { m.PeakRate = m.Rate })),
	ruletest.Accepted("meter-largest", metered(func(t *programpb.StateTable) {
		m := t.Meter
		m.Rate, m.PeakRate, m.Burst, m.ExcessBurst = 1_000_000_000_000, 1_000_000_000_000, maxTokens, maxTokens
		t.MaxSessions, m.Subscribers.PrefixLen, m.Subscribers.Destination = 1, 32, true
	})),
	ruletest.Accepted("meter-slowest", metered(func(t *programpb.StateTable) {
		t.Meter.Rate, t.Meter.Burst, t.Meter.ExcessBurst = 1000, 4_294_967_294, 0
	})),
	ruletest.Refused("meter-op", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Meter{Meter: 1}}}
	}, "meter is 1, but there are only 1"),
	ruletest.Refused("meter-op-of-napt", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Meter{}}}
	}, "meter is 0 (nat), which is of kind napt, want a meter's"),
	ruletest.Refused("meter-run", func(p *programpb.Program) {
		metered(func(*programpb.StateTable) {})(p)
		p.Runs[0].Table = 1
	}, "runs[0] (nat): table is 1 (lim/all), which is of kind meter, want a NAPT's"),
	ruletest.Refused("meter-return", func(p *programpb.Program) {
		metered(func(*programpb.StateTable) {})(p)
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_StateReturn{StateReturn: 1}
	}, "classes[0].legs[0]: state_return is 1 (lim/all), which is of kind meter, want a NAPT's"),
	ruletest.Refused("meter-unit", meterOf(func(m *programpb.Meter) { m.Unit = 2 }), "tables[1] (lim/all): unit is 2, want BITS or PACKETS"),
	ruletest.Refused("meter-comes-twice", meterOf(func(m *programpb.Meter) { m.ComesYellow |= 1 << 14 }), "tables[1] (lim/all): comes_yellow and comes_red have DSCP 14 in common"),
	ruletest.Refused("meter-prefix-0", meterOf(func(m *programpb.Meter) { m.Subscribers.PrefixLen = 0 }), "tables[1] (lim/all): subscribers.prefix_len is 0, want 1..32"),
	ruletest.Refused("meter-prefix-33", meterOf(func(m *programpb.Meter) { m.Subscribers.PrefixLen = 33 }), "tables[1] (lim/all): subscribers.prefix_len is 33, want 1..32"),
	ruletest.Refused("meter-subscribers-0", metered(func(t *programpb.StateTable) { t.MaxSessions = 0 }), "tables[1] (lim/all): max_sessions is 0, want 1..16777216 subscribers"),
	ruletest.Refused("meter-subscribers-16777217", metered(func(t *programpb.StateTable) { t.MaxSessions = 16777217 }), "tables[1] (lim/all): max_sessions is 16777217, want 1..16777216 subscribers"),
	ruletest.Refused("meter-yellow-dscp-64", meterOf(func(m *programpb.Meter) {
		m.Yellow = &programpb.MeterAction{Action: &programpb.MeterAction_Dscp{Dscp: 64}}
	}), "tables[1] (lim/all): dscp is 64, want at most 63"),
	ruletest.Refused("meter-red-reason", meterOf(func(m *programpb.Meter) {
		m.Red = &programpb.MeterAction{Action: &programpb.MeterAction_Drop{Drop: 9}}
	}), "tables[1] (lim/all): drop is 9, but there are only "),
	ruletest.Refused("meter-red-nothing", meterOf(func(m *programpb.Meter) { m.Red = &programpb.MeterAction{} }), "tables[1] (lim/all): what is done to a colour is neither drop nor dscp"),
	ruletest.Refused("meter-rate-0", meterOf(func(m *programpb.Meter) { m.Rate = 0 }), "tables[1] (lim/all): rate is 0, peak_rate 0: want a rate above 0"),
	ruletest.Refused("meter-peak-below", meterOf(func(m *programpb.Meter) { m.PeakRate = m.Rate - 1 }), "tables[1] (lim/all): rate is 10000000, peak_rate 9999999: want"),
	ruletest.Refused("meter-burst-0", meterOf(func(m *programpb.Meter) { m.Burst = 0 }), "tables[1] (lim/all): bursts are 0 and 100000, want 1..9200000000"),
	ruletest.Refused("meter-burst-9200000001", meterOf(func(m *programpb.Meter) { m.Burst = maxTokens + 1 }), "tables[1] (lim/all): bursts are 9200000001 and 100000, want"),
	ruletest.Refused("meter-excess-9200000001", meterOf(func(m *programpb.Meter) { m.ExcessBurst = maxTokens + 1 }), "tables[1] (lim/all): bursts are 500000 and 9200000001, want"),
	ruletest.Refused("meter-too-slow", metered(func(t *programpb.StateTable) {
		t.Meter.Rate, t.Meter.Burst, t.Meter.ExcessBurst = 1000, 4_294_967_295, 0
	}), "tables[1] (lim/all): its buckets are full after 4294967296 ms, want at most 4294967295"),
}
