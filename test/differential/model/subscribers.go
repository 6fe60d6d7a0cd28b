package model

import (
	"net/netip"
)

// limited is the reason for which a flow may not begin, with a port of its own or without: its subscriber has as many as it may.
func (m *Model) limited(f flow, newPort bool) (reason string, yes bool) {
	set := m.p.GetRuns()[f.run].GetSubscribers()
	if set == 0 {
		return "", false
	}
	l := m.p.GetSubscribers()[set-1]
	prefix, _ := f.inside.Addr().Prefix(int(l.GetPrefixLen()))
	sessions, ports := uint32(0), map[netip.AddrPort]bool{}
	for _, t := range m.tables {
		for _, b := range t.inside {
			if m.p.GetRuns()[b.run].GetSubscribers() != set || !prefix.Contains(b.inside.Addr()) || !m.live(b) {
				continue
			}
			sessions++
			if b.proto == f.proto {
				ports[b.out] = true
			}
		}
	}
	over := sessions >= l.GetMaxSessions() || newPort && Ported(f.proto) && uint32(len(ports)) >= l.GetMaxPorts()
	return m.p.GetReasons()[l.GetReason()], over
}
