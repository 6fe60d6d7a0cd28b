package rig

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	connlimit "github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
	firewall "github.com/sinter-nfv/sinter/dataplane/module/firewall/oracle"
	inspect "github.com/sinter-nfv/sinter/dataplane/module/inspect/oracle"
	limiter "github.com/sinter-nfv/sinter/dataplane/module/limiter/oracle"
	stop "github.com/sinter-nfv/sinter/dataplane/module/stop/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Finish compares what was counted: drops by reason, frames per interface, counters, live sessions.
func (r *Rig) Finish(ctx context.Context, now time.Duration) error {
	stats, err := r.Engine.Stats(ctx)
	if err != nil {
		return r.Engine.Died(err)
	}
	var diff []string
	note := func(what string, want, seen any) {
		if want != seen {
			diff = append(diff, fmt.Sprintf("%s: expected %v, seen %v", what, want, seen))
		}
	}
	drops := map[string]uint64{}
	for _, d := range stats.GetDrops() {
		drops[d.GetReason()] += d.GetPackets()
	}
	for reason := range drops {
		if _, ok := r.Stats.Drops[reason]; !ok {
			note("drops as "+reason, uint64(0), drops[reason])
		}
	}
	for reason, n := range r.Stats.Drops {
		note("drops as "+reason, n, drops[reason])
	}
	for i, n := range r.Stats.out {
		if i < len(stats.GetPorts()) {
			note("frames sent by "+r.Graph.Interfaces[i].Name, n+r.probes[i], stats.GetPorts()[i].GetTxPackets())
		}
	}
	r.compareCounters(stats, note)
	r.compareColours(stats, note)
	r.compareChecks(stats, note)
	r.compareInspections(stats, note)
	if err := r.compareObserved(ctx, now, note); err != nil {
		return err
	}
	sessions, err := r.compareSessions(ctx, now)
	if err != nil {
		return err
	}
	diff = append(diff, sessions...)
	subscribers, err := r.compareSubscribers(ctx, stats)
	if err != nil {
		return err
	}
	diff = append(diff, subscribers...)
	diff = append(diff, r.compareHosts(connlimit.ConnectionsOf(r.Oracle.Chain, now), stats)...)
	if r.Cut == PartitionByHash {
		wrong, err := r.CompareShards(ctx)
		if err != nil {
			return err
		}
		diff = append(diff, wrong...)
	}
	if len(diff) > 0 {
		slices.Sort(diff)
		return &Mismatch{chain: r.Chain, now: now, detail: strings.Join(diff, "\n"), alone: -1}
	}
	return nil
}

// compareCounters notes where the chain's counters are others than the oracle's.
func (r *Rig) compareCounters(stats *controlpb.Stats, note func(what string, want, seen any)) {
	counters := r.Oracle.Counters()
	for i, name := range r.Result.Program.GetCounters() {
		if i >= len(stats.GetCounters()) {
			note("counters", len(r.Result.Program.GetCounters()), len(stats.GetCounters()))
			break
		}
		want, seen := counters[name], stats.GetCounters()[i]
		apart := max(seen.GetPackets(), want.Packets) - min(seen.GetPackets(), want.Packets)
		if r.Stats.early == 0 || apart > r.Stats.early {
			note("counter "+name, want, interp.Count{Packets: seen.GetPackets(), Bytes: seen.GetBytes()})
		}
		delete(counters, name)
	}
	for name, c := range counters {
		note("counter "+name+", which the program has not", c, interp.Count{})
	}
}

// compareSessions checks that the engine has a session for every live binding of the NAPTs that write last. Those
// before them, and ports that no packet has shown, are the engine's own business.
func (r *Rig) compareSessions(ctx context.Context, now time.Duration) (diff []string, err error) {
	type key struct {
		table  string
		proto  uint32
		remote netip.AddrPort
	}
	spare := map[key]int{}
	last := map[string]bool{}
	flows, connections, passing := firewall.FlowsOf(r.Oracle.Chain, now), connlimit.ConnectionsOf(r.Oracle.Chain, now), stop.FlowsOf(r.Oracle.Chain, now)
	for i, t := range r.Result.Program.GetTables() {
		if t.GetMeter() != nil || t.GetInspector() != nil {
			continue
		}
		sessions, err := r.Engine.Sessions(ctx, uint32(i), 1<<20)
		if err != nil {
			return nil, r.Engine.Died(err)
		}
		switch {
		case t.GetTracking() != nil:
			diff = append(diff, r.compareFlows(flows, t.GetName(), sessions)...)
			continue
		case t.GetConnectionLimit() != nil:
			diff = append(diff, compareConnections(connections, t.GetName(), sessions)...)
			continue
		case t.GetPassing() != nil, t.GetAssignment() != nil:
			diff = append(diff, comparePassing(passing, t.GetName(), sessions)...)
			continue
		}
		last[t.GetName()] = true
		for _, s := range sessions {
			spare[key{t.GetName(), s.GetProto(), netip.AddrPortFrom(packets.Addr(s.GetRemoteAddress()), uint16(s.GetRemotePort()))}]++
		}
	}
	for _, run := range r.Result.Runs {
		for _, n := range run.Nodes[:len(run.Nodes)-1] {
			delete(last, n) // some of its bindings have no session of their own
		}
	}
	for _, s := range r.Oracle.Sessions(now) {
		k := key{s.Node, uint32(s.Proto), s.Remote}
		if spare[k]--; !s.Loose && (last[s.Node] || !model.Ported(s.Proto)) && spare[k] < 0 {
			diff = append(diff, fmt.Sprintf("live binding for which the engine has no session: %v", s))
		}
	}
	return diff, nil
}

// compareInspections notes where inspectors counted otherwise than the oracle's.
func (r *Rig) compareInspections(stats *controlpb.Stats, note func(what string, want, seen any)) {
	inspected := inspect.InspectionsOf(r.Oracle.Chain)
	for i, t := range r.Result.Program.GetTables() {
		if t.GetInspector() == nil {
			continue
		}
		of := stats.GetTables()[i].GetInspector()
		want, seen := inspected[t.GetName()], inspect.Inspected{Packets: of.GetPackets(), Bytes: of.GetBytes(), Rules: map[string]uint64{}}
		for _, rule := range of.GetRules() {
			if rule.GetPackets() > 0 {
				seen.Rules[rule.GetName()] = rule.GetPackets()
			}
		}
		maps.DeleteFunc(want.Rules, func(_ string, n uint64) bool { return n == 0 })
		// Behind a NAPT whose choice nobody saw it is not known which inspector a packet met.
		if r.Stats.early == 0 && (want.Packets != seen.Packets || want.Bytes != seen.Bytes || !maps.Equal(want.Rules, seen.Rules)) {
			note("what "+t.GetName()+" counted", fmt.Sprint(want), fmt.Sprint(seen))
		}
		delete(inspected, t.GetName())
	}
	for name, c := range inspected {
		if c.Packets > 0 {
			note("counts of "+name+", which the program has not", fmt.Sprint(c), "nothing")
		}
	}
}

// compareColours notes where meters counted otherwise than the oracle's.
func (r *Rig) compareColours(stats *controlpb.Stats, note func(what string, want, seen any)) {
	colours := limiter.ColoursOf(r.Oracle.Chain)
	for i, t := range r.Result.Program.GetTables() {
		if t.GetMeter() == nil {
			continue
		}
		want, seen := colours[t.GetName()], stats.GetTables()[i].GetMeter()
		for colour, k := range map[string]struct {
			want interp.Count
			seen *programpb.MeterCount
		}{"green": {want.Green, seen.GetGreen()}, "yellow": {want.Yellow, seen.GetYellow()}, "red": {want.Red, seen.GetRed()}} {
			n := k.seen.GetPackets()
			// Behind a NAPT whose choice nobody saw it is not known which meter a packet met.
			if apart := max(n, k.want.Packets) - min(n, k.want.Packets); r.Stats.early == 0 || apart > r.Stats.early {
				note(colour+" packets of "+t.GetName(), k.want, interp.Count{Packets: n, Bytes: k.seen.GetBytes()})
			}
		}
		delete(colours, t.GetName())
	}
	for name, c := range colours {
		note("colours of "+name+", which the program has not", limiter.Colours{}, c)
	}
}
