package walk

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Subscribers is the set of subscribers of a node, as programs name one: 1 + its place in Program.subscribers. It is added when first asked for.
func (e *Emitter) Subscribers(node string, l element.SubscriberLimits) uint32 {
	i := slices.IndexFunc(e.p.Subscribers, func(s *programpb.SubscriberLimits) bool { return s.Name == node })
	if i < 0 {
		i = len(e.p.Subscribers)
		e.p.Subscribers = append(e.p.Subscribers, &programpb.SubscriberLimits{
			Name: node, PrefixLen: uint32(l.PrefixLen), MaxSessions: uint32(l.MaxSessions), MaxPorts: uint32(l.MaxPorts), Reason: e.Drop(l.Reason).GetChain(),
		})
	}
	return uint32(i + 1)
}
