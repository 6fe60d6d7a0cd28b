package examples

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

// limited is the sample with limits of subscribers for its run.
func limited(change func(p *programpb.Program, s *programpb.SubscriberLimits)) func(*programpb.Program) {
	return func(p *programpb.Program) {
		s := &programpb.SubscriberLimits{Name: "nat", PrefixLen: 32, MaxSessions: 100, MaxPorts: 10}
		p.Subscribers, p.Runs[0].Subscribers = []*programpb.SubscriberLimits{s}, 1
		change(p, s)
	}
}

func limits(change func(s *programpb.SubscriberLimits)) func(*programpb.Program) {
	return limited(func(_ *programpb.Program, s *programpb.SubscriberLimits) { change(s) })
}

func limitSets(n int) func(*programpb.Program) {
	return limited(func(p *programpb.Program, _ *programpb.SubscriberLimits) {
		p.Subscribers = ruletest.Many(n, func(i int) *programpb.SubscriberLimits {
			return &programpb.SubscriberLimits{Name: fmt.Sprint("nat", i), PrefixLen: 8, MaxSessions: 1, MaxPorts: 1}
		})
	})
}

// subscribers are of limits of subscribers.
var subscribers = []ruletest.Example{
	ruletest.Accepted("subscribers", limits(func(*programpb.SubscriberLimits) {})),
	ruletest.Accepted("subscribers-256", limitSets(256)),
	ruletest.Refused("subscribers-257", limitSets(257), "subscribers: there are 257, want at most 256"),
	ruletest.Refused("subscribers-alike", limited(func(p *programpb.Program, s *programpb.SubscriberLimits) {
		p.Subscribers = append(p.Subscribers, s)
	}), "subscribers[1] (nat): name is that of subscribers[0], want names that differ"),
	ruletest.Refused("subscribers-prefix-0", limits(func(s *programpb.SubscriberLimits) { s.PrefixLen = 0 }), "subscribers[0] (nat): prefix_len is 0, want 1..32"),
	ruletest.Refused("subscribers-prefix-33", limits(func(s *programpb.SubscriberLimits) { s.PrefixLen = 33 }), "subscribers[0] (nat): prefix_len is 33, want 1..32"),
	ruletest.Refused("subscribers-sessions-0", limits(func(s *programpb.SubscriberLimits) { s.MaxSessions = 0 }), "subscribers[0] (nat): max_sessions is 0, want at least 1"),
	ruletest.Refused("subscribers-ports-0", limits(func(s *programpb.SubscriberLimits) { s.MaxPorts = 0 }), "runs[0] (nat): subscribers is 1 (nat), whose max_ports is 0, want at least 1"),
	ruletest.Refused("subscribers-reason", limited(func(p *programpb.Program, s *programpb.SubscriberLimits) {
		s.Reason = uint32(len(p.Reasons))
	}), "subscribers[0] (nat): reason is "),
	ruletest.Refused("run-subscribers", limited(func(p *programpb.Program, _ *programpb.SubscriberLimits) { p.Runs[0].Subscribers = 2 }), "runs[0] (nat): subscribers is 2, want at most 1"),
}
