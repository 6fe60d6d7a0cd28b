package program

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// MaxSubscriberSets bounds the NAPTs that limit their subscribers; the engine has the same (sn_program.h).
const MaxSubscriberSets = 256

func (v validator) subscribers(i int, s *programpb.SubscriberLimits) error {
	at := fmt.Sprintf("subscribers[%d] (%s)", i, s.GetName())
	if n := s.GetPrefixLen(); n < 1 || n > 32 {
		return fmt.Errorf("%s: prefix_len is %d, want 1..32", at, n)
	}
	switch {
	case s.GetMaxSessions() < 1:
		return fmt.Errorf("%s: max_sessions is 0, want at least 1", at)
	case s.GetMaxPorts() < 1:
		return fmt.Errorf("%s: max_ports is 0, want at least 1", at)
	}
	return index(at, "reason", s.GetReason(), len(v.p.GetReasons()))
}

// SubscriberName is a subscriber's address or prefix.
func SubscriberName(s *programpb.Subscriber) string {
	if s.GetPrefixLen() == 32 {
		return address(s.GetPrefix()).String()
	}
	return fmt.Sprintf("%s/%d", address(s.GetPrefix()), s.GetPrefixLen())
}

// SubscribersText is in words what one subscriber of a run may have; empty: as much as there is.
func SubscribersText(p *Program, r *programpb.Run) string {
	if r.GetSubscribers() == 0 {
		return ""
	}
	s := p.GetSubscribers()[r.GetSubscribers()-1]
	return fmt.Sprintf("at most %d sessions and %d ports per /%d", s.GetMaxSessions(), s.GetMaxPorts(), s.GetPrefixLen())
}
