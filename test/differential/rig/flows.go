package rig

import (
	"fmt"
	"net/netip"
	"slices"

	firewall "github.com/sinter-nfv/sinter/dataplane/module/firewall/oracle"
	stop "github.com/sinter-nfv/sinter/dataplane/module/stop/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// compareFlows notes which flows of the oracle the engine does not follow, or in another state.
func (r *Rig) compareFlows(flows []firewall.Flow, table string, seen []*programpb.Session) (diff []string) {
	type key struct {
		proto    uint32
		from, to netip.AddrPort
	}
	states := map[key][]string{} // those of two flows if both sides began one
	for _, s := range seen {
		from := netip.AddrPortFrom(packets.Addr(s.GetInsideAddress()), uint16(s.GetInsidePort()))
		to := netip.AddrPortFrom(packets.Addr(s.GetRemoteAddress()), uint16(s.GetRemotePort()))
		k := key{s.GetProto(), from, to}
		states[k] = append(states[k], s.GetState())
	}
	for _, f := range flows {
		if f.Table != table || f.Loose {
			continue
		}
		if said := states[key{uint32(f.Proto), f.From, f.To}]; !slices.Contains(said, f.State) {
			diff = append(diff, fmt.Sprintf("flow %v: the engine says %q", f, said))
		}
	}
	return diff
}

// comparePassing notes which flows of the oracle the engine does not have at a stop, or has go another way.
func comparePassing(flows []stop.Flow, table string, seen []*programpb.Session) (diff []string) {
	type key struct {
		proto    uint32
		from, to netip.AddrPort
		outside  bool
	}
	states := map[key]string{}
	for _, s := range seen {
		from := netip.AddrPortFrom(packets.Addr(s.GetInsideAddress()), uint16(s.GetInsidePort()))
		to := netip.AddrPortFrom(packets.Addr(s.GetRemoteAddress()), uint16(s.GetRemotePort()))
		states[key{s.GetProto(), from, to, s.GetFromOutside()}] = s.GetState()
	}
	for _, f := range flows {
		if f.Table != table || f.Loose {
			continue
		}
		if said := states[key{uint32(f.Proto), f.From, f.To, f.FromOutside}]; said != f.State {
			diff = append(diff, fmt.Sprintf("flow %v: the engine says %q", f, said))
		}
	}
	return diff
}
