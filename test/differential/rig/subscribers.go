package rig

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/packets"
)

// holding is what one subscriber has, as the engine lists it.
type holding struct {
	sessions int
	ports    map[uint32]map[netip.AddrPort]bool // by protocol
}

// holdings are the live sessions of the subscribers that a NAPT limits, by prefix: those of all runs that begin with it.
func (r *Rig) holdings(ctx context.Context, napt string, bits int) (map[netip.Prefix]*holding, error) {
	runs := map[string]bool{}
	for _, run := range r.Result.Runs {
		if run.Nodes[0] == napt {
			runs[run.Name] = true
		}
	}
	out := map[netip.Prefix]*holding{}
	for i, t := range r.Result.Program.GetTables() {
		if len(t.GetPool()) == 0 {
			continue
		}
		sessions, err := r.Engine.Sessions(ctx, uint32(i), 1<<20)
		if err != nil {
			return nil, r.Engine.Died(err)
		}
		for _, s := range sessions {
			if !runs[s.GetRun()] {
				continue
			}
			prefix, _ := packets.Addr(s.GetInsideAddress()).Prefix(bits)
			if out[prefix] == nil {
				out[prefix] = &holding{ports: map[uint32]map[netip.AddrPort]bool{}}
			}
			h := out[prefix]
			h.sessions++
			if !model.Ported(uint8(s.GetProto())) {
				continue
			}
			if h.ports[s.GetProto()] == nil {
				h.ports[s.GetProto()] = map[netip.AddrPort]bool{}
			}
			h.ports[s.GetProto()][netip.AddrPortFrom(packets.Addr(s.GetOutsideAddress()), uint16(s.GetOutsidePort()))] = true
		}
	}
	return out, nil
}

// compareSubscribers checks that no subscriber has more than its limits, and that as much is counted of the heaviest as they have, or more: what
// has expired counts until it is reclaimed.
func (r *Rig) compareSubscribers(ctx context.Context, stats *controlpb.Stats) (diff []string, err error) {
	for _, n := range r.Graph.Nodes {
		e, ok := n.Element.(element.NAPT)
		if !ok || e.Limits == (element.SubscriberLimits{}) {
			continue
		}
		have, err := r.holdings(ctx, n.Name, e.Limits.PrefixLen)
		if err != nil {
			return nil, err
		}
		for prefix, h := range have {
			if h.sessions > e.Limits.MaxSessions {
				diff = append(diff, fmt.Sprintf("%s: subscriber %v has %d sessions: %v", n.Name, prefix, h.sessions, e.Limits))
			}
			for proto, ports := range h.ports {
				if len(ports) > e.Limits.MaxPorts {
					diff = append(diff, fmt.Sprintf("%s: subscriber %v has %d ports of protocol %d: %v", n.Name, prefix, len(ports), proto, e.Limits))
				}
			}
			if counted, ok := counted(stats, n.Name, prefix); ok && counted < h.sessions {
				diff = append(diff, fmt.Sprintf("%s: %d sessions of subscriber %v are counted, it has %d", n.Name, counted, prefix, h.sessions))
			}
		}
	}
	return diff, nil
}

// counted is what the engine counts of a subscriber's sessions, if it is one of the heaviest.
func counted(stats *controlpb.Stats, napt string, prefix netip.Prefix) (sessions int, ok bool) {
	for _, s := range stats.GetSubscribers() {
		if s.GetName() != napt {
			continue
		}
		for _, h := range s.GetHeaviest() {
			if packets.Addr(h.GetPrefix()) == prefix.Addr() {
				return int(h.GetSessions()), true
			}
		}
	}
	return 0, false
}

// Forget lets all sessions expire, and checks that no subscriber is left.
func (r *Rig) Forget(ctx context.Context, now time.Duration) error {
	for range 64 { // a worker looks at a few shards each time
		now += 7 * 24 * time.Hour
		if _, err := r.Engine.Inject(ctx, &controlpb.Inject{NowNs: uint64(now)}); err != nil {
			return r.Engine.Died(err)
		}
	}
	stats, err := r.Engine.Stats(ctx)
	if err != nil {
		return r.Engine.Died(err)
	}
	for _, s := range stats.GetSubscribers() {
		if s.GetSubscribers() > 0 {
			return &Mismatch{chain: r.Chain, now: now, detail: fmt.Sprintf("%s: all sessions are over, and %d subscribers have some: %v", s.GetName(), s.GetSubscribers(), s.GetHeaviest()), alone: -1}
		}
	}
	return nil
}
