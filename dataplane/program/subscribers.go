package program

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// SubscriberName is a subscriber's address or prefix.
func SubscriberName(s *programpb.Subscriber) string {
	if s.GetPrefixLen() == 32 {
		return rule.Address(s.GetPrefix()).String()
	}
	return fmt.Sprintf("%s/%d", rule.Address(s.GetPrefix()), s.GetPrefixLen())
}

// subscribers checks what sets have in common. Whose sessions count is checked where a set is named.
func (v validator) subscribers(i int, s *programpb.SubscriberLimits) error {
	at := fmt.Sprintf("subscribers[%d] (%s)", i, s.GetName())
	if s.GetMaxSessions() < 1 {
		return fmt.Errorf("%s: max_sessions is 0, want at least 1", at)
	}
	return rule.First(
		rule.Between(at, "prefix_len", s.GetPrefixLen(), 1, 32),
		rule.Index(at, "reason", s.GetReason(), len(v.p.GetReasons())),
	)
}
