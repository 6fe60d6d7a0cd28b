package program

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
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
		firstLeg(p).Ops = append(firstLeg(p).Ops, &programpb.Op{Op: &programpb.Op_Meter{Meter: 1}})
	}
}

func meterOf(change func(m *programpb.Meter)) func(*programpb.Program) {
	return metered(func(t *programpb.StateTable) { change(t.Meter) })
}

// meterExamples are of meters.
var meterExamples = []example{
	{"meter", metered(func(*programpb.StateTable) {}), nil},
	{"meter-of-all", metered(func(t *programpb.StateTable) { t.MaxSessions, t.Meter.Subscribers = 0, nil }), nil},
	{"meter-blind-and-idle", meterOf(func(m *programpb.Meter) { m.ComesYellow, m.ComesRed, m.Yellow, m.Red = 0, 0, nil, nil }), nil},
	{"meter-packets", meterOf(func(m *programpb.Meter) { m.Unit, m.Rate, m.Burst, m.ExcessBurst = programpb.Meter_PACKETS, 1, 1, 0 }), nil},
	{"meter-peak", meterOf(func(m *programpb.Meter) { m.PeakRate = m.Rate }), nil},
	{"meter-largest", metered(func(t *programpb.StateTable) {
		m := t.Meter
		m.Rate, m.PeakRate, m.Burst, m.ExcessBurst = 1_000_000_000_000, 1_000_000_000_000, maxTokens, maxTokens
		t.MaxSessions, m.Subscribers.PrefixLen, m.Subscribers.Destination = 1, 32, true
	}), nil},
	{"meter-slowest", metered(func(t *programpb.StateTable) {
		t.Meter.Rate, t.Meter.Burst, t.Meter.ExcessBurst = 1000, 4_294_967_294, 0
	}), nil},
	{"meter-op", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Meter{Meter: 1}}}
	}, []string{"meter is 1, but there are only 1"}},
	{"meter-op-of-napt", func(p *programpb.Program) {
		firstLeg(p).Ops = []*programpb.Op{{Op: &programpb.Op_Meter{}}}
	}, []string{"meter is 0 (nat), which is of kind napt, want a meter's"}},
	{"meter-run", func(p *programpb.Program) {
		metered(func(*programpb.StateTable) {})(p)
		p.Runs[0].Table = 1
	}, []string{"runs[0] (nat): table is 1 (lim/all), which is of kind meter, want a NAPT's"}},
	{"meter-return", func(p *programpb.Program) {
		metered(func(*programpb.StateTable) {})(p)
		firstLeg(p).Outcome = &programpb.Leg_StateReturn{StateReturn: 1}
	}, []string{"classes[0].legs[0]: state_return is 1 (lim/all), which is of kind meter, want a NAPT's"}},
	{"meter-unit", meterOf(func(m *programpb.Meter) { m.Unit = 2 }), []string{"tables[1] (lim/all): unit is 2, want BITS or PACKETS"}},
	{"meter-comes-twice", meterOf(func(m *programpb.Meter) { m.ComesYellow |= 1 << 14 }), []string{"tables[1] (lim/all): comes_yellow and comes_red have DSCP 14 in common"}},
	{"meter-prefix-0", meterOf(func(m *programpb.Meter) { m.Subscribers.PrefixLen = 0 }), []string{"tables[1] (lim/all): subscribers.prefix_len is 0, want 1..32"}},
	{"meter-prefix-33", meterOf(func(m *programpb.Meter) { m.Subscribers.PrefixLen = 33 }), []string{"tables[1] (lim/all): subscribers.prefix_len is 33, want 1..32"}},
	{"meter-subscribers-0", metered(func(t *programpb.StateTable) { t.MaxSessions = 0 }), []string{"tables[1] (lim/all): max_sessions is 0, want 1..16777216 subscribers"}},
	{"meter-subscribers-16777217", metered(func(t *programpb.StateTable) { t.MaxSessions = 16777217 }), []string{"tables[1] (lim/all): max_sessions is 16777217, want 1..16777216 subscribers"}},
	{"meter-yellow-dscp-64", meterOf(func(m *programpb.Meter) {
		m.Yellow = &programpb.MeterAction{Action: &programpb.MeterAction_Dscp{Dscp: 64}}
	}), []string{"tables[1] (lim/all): dscp is 64, want at most 63"}},
	{"meter-red-reason", meterOf(func(m *programpb.Meter) {
		m.Red = &programpb.MeterAction{Action: &programpb.MeterAction_Drop{Drop: 9}}
	}), []string{"tables[1] (lim/all): drop is 9, but there are only "}},
	{"meter-red-nothing", meterOf(func(m *programpb.Meter) { m.Red = &programpb.MeterAction{} }), []string{"tables[1] (lim/all): what is done to a colour is neither drop nor dscp"}},
	{"meter-rate-0", meterOf(func(m *programpb.Meter) { m.Rate = 0 }), []string{"tables[1] (lim/all): rate is 0, peak_rate 0: want a rate above 0"}},
	{"meter-peak-below", meterOf(func(m *programpb.Meter) { m.PeakRate = m.Rate - 1 }), []string{"tables[1] (lim/all): rate is 10000000, peak_rate 9999999: want"}},
	{"meter-burst-0", meterOf(func(m *programpb.Meter) { m.Burst = 0 }), []string{"tables[1] (lim/all): bursts are 0 and 100000, want 1..9200000000"}},
	{"meter-burst-9200000001", meterOf(func(m *programpb.Meter) { m.Burst = maxTokens + 1 }), []string{"tables[1] (lim/all): bursts are 9200000001 and 100000, want"}},
	{"meter-excess-9200000001", meterOf(func(m *programpb.Meter) { m.ExcessBurst = maxTokens + 1 }), []string{"tables[1] (lim/all): bursts are 500000 and 9200000001, want"}},
	{"meter-too-slow", metered(func(t *programpb.StateTable) {
		t.Meter.Rate, t.Meter.Burst, t.Meter.ExcessBurst = 1000, 4_294_967_295, 0
	}), []string{"tables[1] (lim/all): its buckets are full after 4294967296 ms, want at most 4294967295"}},
}

func TestAMeterInWords(t *testing.T) {
	for want, change := range map[string]func(t *programpb.StateTable){
		"10000000 bit/s, burst 500000, excess burst 100000, per src/24, at most 100, comes yellow 12, red 14, yellow: dscp 12, red: drop denied": func(*programpb.StateTable) {},
		"5 packet/s, burst 7, peak 9 packet/s, burst 8, yellow: pass, red: pass": func(t *programpb.StateTable) {
			t.Meter = &programpb.Meter{Unit: programpb.Meter_PACKETS, Rate: 5, Burst: 7, PeakRate: 9, ExcessBurst: 8}
		},
	} {
		p := sample()
		metered(change)(p)
		if got := TableText(p, p.Tables[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := OpText(p, firstLeg(p).Ops[len(firstLeg(p).Ops)-1]), "measure lim/all"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAPacketMayBeDroppedByAMeter(t *testing.T) {
	p := sample()
	metered(func(*programpb.StateTable) {})(p)
	for _, e := range Ends(p, 0, firstLeg(p)) {
		if e.Drop == "" && !slices.Contains(e.Unless, "denied") {
			t.Errorf("the end %+v does not say that the meter may drop", e)
		}
	}
}
