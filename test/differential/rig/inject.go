package rig

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	limiter "github.com/sinter-nfv/sinter/dataplane/module/limiter/oracle"
	napt "github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Inject runs packets in the engine alone; for each, what came of it, and the bindings that made room for its own.
func (r *Rig) Inject(ctx context.Context, s Step) ([]interp.Seen, [][]interp.Binding, error) {
	return r.inject(ctx, s, nil)
}

// inject is Inject of these frames, if there are any, in place of the packets'.
func (r *Rig) inject(ctx context.Context, s Step, theirs [][]byte) ([]interp.Seen, [][]interp.Binding, error) {
	in := &controlpb.Inject{NowNs: uint64(s.Now)}
	for i, p := range s.Packets {
		data := p.Frame
		if theirs != nil {
			data = theirs[i]
		}
		in.Packets = append(in.Packets, &controlpb.InjectedPacket{Interface: uint32(p.Iface), Data: data})
	}
	answer, err := r.Engine.Inject(ctx, in)
	if err != nil {
		return nil, nil, fmt.Errorf("chain %s at %v: %w", r.Chain, s.Now, r.Engine.Died(err))
	}
	out, err := r.withoutProbes(ctx, s.Now, answer.GetOut())
	if err != nil {
		return nil, nil, err
	}
	seen := make([]interp.Seen, len(s.Packets))
	for _, o := range out {
		if int(o.GetSource()) >= len(seen) {
			return nil, nil, fmt.Errorf("chain %s at %v: a frame that no packet caused left by interface %d\n%s",
				r.Chain, s.Now, o.GetInterface(), packets.Describe(o.GetData()))
		}
		to := &seen[o.GetSource()]
		to.Out = append(to.Out, interp.Out{Interface: int(o.GetInterface()), Frame: o.GetData()})
	}
	for _, d := range answer.GetDrops() {
		if int(d.GetSource()) >= len(seen) {
			return nil, nil, fmt.Errorf("chain %s at %v: %s for packet %d of %d", r.Chain, s.Now, d.GetReason(), d.GetSource(), len(seen))
		}
		to := &seen[d.GetSource()]
		to.Drops = append(to.Drops, interp.Drop{Reason: d.GetReason()})
	}
	ended, chosen := make([][]interp.Binding, len(s.Packets)), make([][]interp.Told, len(s.Packets))
	for _, d := range answer.GetEvents() {
		i, b := int(d.GetSource()), d.GetSession()
		if i >= len(seen) {
			return nil, nil, fmt.Errorf("chain %s at %v: packet %d of %d made or ended a session", r.Chain, s.Now, i, len(seen))
		}
		inside := netip.AddrPortFrom(packets.Addr(b.GetInsideAddress()), uint16(b.GetInsidePort()))
		remote := netip.AddrPortFrom(packets.Addr(b.GetRemoteAddress()), uint16(b.GetRemotePort()))
		if table := r.Result.Program.GetTables()[d.GetTable()]; table.GetMeter() != nil {
			seen[i].Told = subscribed(seen[i].Told, table.GetName(), inside.Addr(), d.GetMade())
		} else if !d.GetMade() {
			ended[i] = append(ended[i], interp.Binding{Node: table.GetName(), Proto: uint8(b.GetProto()), Inside: inside, Remote: remote, FromOutside: b.GetFromOutside()})
		} else if napts := r.naptsOf(b.GetRun()); napts != nil {
			outside := netip.AddrPortFrom(packets.Addr(b.GetOutsideAddress()), uint16(b.GetOutsidePort()))
			chosen[i] = append(chosen[i], napt.Choice{NAPTs: napts, Proto: uint8(b.GetProto()), Inside: inside, Outside: outside, Remote: remote})
		}
	}
	for i := range seen {
		seen[i].Told = append(chosen[i], seen[i].Told...)
	}
	return seen, ended, nil
}

// subscribed adds a subscriber that a meter made, or one that it ended to make room for the next.
func subscribed(list []interp.Told, meter string, at netip.Addr, made bool) []interp.Told {
	if !made {
		return append(list, limiter.Subscriber{Meter: meter, Old: at})
	}
	if n := len(list); n > 0 {
		if last, ok := list[n-1].(limiter.Subscriber); ok && last.Meter == meter && !last.New.IsValid() {
			last.New = at
			list[n-1] = last
			return list
		}
	}
	return append(list, limiter.Subscriber{Meter: meter, New: at})
}

// naptsOf are the NAPTs of a run, in their order; nil: it is a balancer's.
func (r *Rig) naptsOf(run string) []string {
	i := slices.IndexFunc(r.Result.Runs, func(o synth.Run) bool { return o.Name == run })
	if i < 0 {
		return nil
	}
	return r.Result.Runs[i].Nodes
}
