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
