package differential

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	connlimit "github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
	firewall "github.com/sinter-nfv/sinter/dataplane/module/firewall/oracle"
	"github.com/sinter-nfv/sinter/test/packets"
)

// finish compares what was counted: drops by reason, frames per interface, counters, live sessions.
func (r *rig) finish(ctx context.Context, now time.Duration) error {
	stats, err := r.engine.Stats(ctx)
	if err != nil {
		return r.engine.died(err)
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
		if _, ok := r.stats.drops[reason]; !ok {
			note("drops as "+reason, uint64(0), drops[reason])
		}
	}
	for reason, n := range r.stats.drops {
		note("drops as "+reason, n, drops[reason])
	}
	for i, n := range r.stats.out {
		if i < len(stats.GetPorts()) {
			note("frames sent by "+r.g.Interfaces[i].Name, n, stats.GetPorts()[i].GetTxPackets())
		}
	}
	r.compareCounters(stats, note)
	r.compareColours(stats, note)
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
	diff = append(diff, r.compareHosts(connlimit.ConnectionsOf(r.oracle.Chain, now), stats)...)
	if r.cut == partitionByHash {
		wrong, err := r.compareShards(ctx)
		if err != nil {
			return err
		}
		diff = append(diff, wrong...)
	}
	if len(diff) > 0 {
		slices.Sort(diff)
		return &mismatch{chain: r.chain, now: now, detail: strings.Join(diff, "\n"), alone: -1}
	}
	return nil
}

// compareCounters notes where the chain's counters are others than the oracle's.
func (r *rig) compareCounters(stats *controlpb.Stats, note func(what string, want, seen any)) {
	counters := r.oracle.Counters()
	for i, name := range r.res.Program.GetCounters() {
		if i >= len(stats.GetCounters()) {
			note("counters", len(r.res.Program.GetCounters()), len(stats.GetCounters()))
			break
		}
		want, seen := counters[name], stats.GetCounters()[i]
		apart := max(seen.GetPackets(), want.Packets) - min(seen.GetPackets(), want.Packets)
		if r.stats.early == 0 || apart > r.stats.early {
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
func (r *rig) compareSessions(ctx context.Context, now time.Duration) (diff []string, err error) {
	type key struct {
		table  string
		proto  uint32
		remote netip.AddrPort
	}
	spare := map[key]int{}
	last := map[string]bool{}
	flows, connections := firewall.FlowsOf(r.oracle.Chain, now), connlimit.ConnectionsOf(r.oracle.Chain, now)
	for i, t := range r.res.Program.GetTables() {
		if t.GetMeter() != nil || t.GetInspector() != nil {
			continue
		}
		sessions, err := r.engine.Sessions(ctx, uint32(i), 1<<20)
		if err != nil {
			return nil, r.engine.died(err)
		}
		switch {
		case t.GetTracking() != nil:
			diff = append(diff, r.compareFlows(flows, t.GetName(), sessions)...)
			continue
		case t.GetConnectionLimit() != nil:
			diff = append(diff, compareConnections(connections, t.GetName(), sessions)...)
			continue
		}
		last[t.GetName()] = true
		for _, s := range sessions {
			spare[key{t.GetName(), s.GetProto(), netip.AddrPortFrom(packets.Addr(s.GetRemoteAddress()), uint16(s.GetRemotePort()))}]++
		}
	}
	for _, run := range r.res.Runs {
		for _, n := range run.Nodes[:len(run.Nodes)-1] {
			delete(last, n) // some of its bindings have no session of their own
		}
	}
	for _, s := range r.oracle.Sessions(now) {
		k := key{s.Node, uint32(s.Proto), s.Remote}
		if spare[k]--; !s.Loose && (last[s.Node] || !ported(s.Proto)) && spare[k] < 0 {
			diff = append(diff, fmt.Sprintf("live binding for which the engine has no session: %v", s))
		}
	}
	return diff, nil
}
