package rig

import (
	"context"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	monitor "github.com/sinter-nfv/sinter/dataplane/module/monitor/oracle"
)

// settle has the engine count what waits in its cells.
func (r *Rig) settle(ctx context.Context, now time.Duration) error {
	const ticks = 65536/64 + 1
	for range ticks {
		if _, err := r.Engine.Inject(ctx, &controlpb.Inject{NowNs: uint64(now)}); err != nil {
			return r.Engine.Died(err)
		}
	}
	return nil
}

// compareObserved compares how much was observed: each packet counts once.
func (r *Rig) compareObserved(ctx context.Context, now time.Duration, note func(what string, want, seen any)) error {
	for _, o := range r.Result.Program.GetObservations() {
		if err := r.settle(ctx, now); err != nil {
			return err
		}
		stats, err := r.Engine.Stats(ctx)
		if err != nil {
			return r.Engine.Died(err)
		}
		var want interp.Count
		for _, n := range monitor.ObservedBy(r.Oracle.Chain, o.GetName()) {
			want.Packets, want.Bytes = want.Packets+n.Packets, want.Bytes+n.Bytes
		}
		seen := interp.Count{Packets: stats.GetObservation().GetPackets(), Bytes: stats.GetObservation().GetBytes()}
		// A packet of which it is not known how far it came may come by several times: on its way back, and as copies.
		if apart := max(seen.Packets, want.Packets) - min(seen.Packets, want.Packets); r.Stats.early == 0 || apart > 8*r.Stats.early {
			note("observed by "+o.GetName(), want, seen)
		}
	}
	return nil
}
