package rig

import (
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/element"
	connlimit "github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// compareConnections notes which connections of the oracle the engine does not have, or in another state.
func compareConnections(all []connlimit.Connection, table string, seen []*programpb.Session) (diff []string) {
	type ends struct {
		proto        uint8
		host, remote netip.AddrPort
	}
	states := map[ends]string{}
	for _, s := range seen {
		host := netip.AddrPortFrom(packets.Addr(s.GetInsideAddress()), uint16(s.GetInsidePort()))
		remote := netip.AddrPortFrom(packets.Addr(s.GetRemoteAddress()), uint16(s.GetRemotePort()))
		states[ends{uint8(s.GetProto()), host, remote}] = s.GetState()
	}
	for _, c := range all {
		if c.Table != table || c.Loose {
			continue
		}
		if state := states[ends{c.Proto, c.Inside, c.Remote}]; state != c.State {
			diff = append(diff, fmt.Sprintf("connection %v: the engine says %q", c, state))
		}
	}
	return diff
}

// compareHosts checks that as many connections are counted of the heaviest hosts as they have, or more: what is over counts until it is reclaimed.
func (r *Rig) compareHosts(all []connlimit.Connection, stats *controlpb.Stats) (diff []string) {
	for _, n := range r.Graph.Nodes {
		e, ok := n.Element.(element.ConnLimit)
		if !ok {
			continue
		}
		have := map[netip.Prefix]int{}
		for _, c := range all {
			if c.Table == e.Table {
				host, _ := c.Inside.Addr().Prefix(e.PerHost.PrefixLen)
				have[host]++
			}
		}
		for host, has := range have {
			if counted, ok := counted(stats, n.Name, host); ok && counted < has {
				diff = append(diff, fmt.Sprintf("%s: %d connections of %v are counted, it has %d", n.Name, counted, host, has))
			}
		}
	}
	return diff
}
