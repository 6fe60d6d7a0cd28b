package program

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
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
		p.Subscribers = many(n, func(i int) *programpb.SubscriberLimits {
			return &programpb.SubscriberLimits{Name: fmt.Sprint("nat", i), PrefixLen: 8, MaxSessions: 1, MaxPorts: 1}
		})
	})
}

// subscriberExamples are of limits of subscribers.
var subscriberExamples = []example{
	{"subscribers", limits(func(*programpb.SubscriberLimits) {}), nil},
	{"subscribers-256", limitSets(256), nil},
	{"subscribers-257", limitSets(257), []string{"subscribers: there are 257, want at most 256"}},
	{"subscribers-alike", limited(func(p *programpb.Program, s *programpb.SubscriberLimits) {
		p.Subscribers = append(p.Subscribers, s)
	}), []string{"subscribers[1] (nat): name is that of subscribers[0], want names that differ"}},
	{"subscribers-prefix-0", limits(func(s *programpb.SubscriberLimits) { s.PrefixLen = 0 }), []string{"subscribers[0] (nat): prefix_len is 0, want 1..32"}},
	{"subscribers-prefix-33", limits(func(s *programpb.SubscriberLimits) { s.PrefixLen = 33 }), []string{"subscribers[0] (nat): prefix_len is 33, want 1..32"}},
	{"subscribers-sessions-0", limits(func(s *programpb.SubscriberLimits) { s.MaxSessions = 0 }), []string{"subscribers[0] (nat): max_sessions is 0, want at least 1"}},
	{"subscribers-ports-0", limits(func(s *programpb.SubscriberLimits) { s.MaxPorts = 0 }), []string{"subscribers[0] (nat): max_ports is 0, want at least 1"}},
	{"subscribers-reason", limited(func(p *programpb.Program, s *programpb.SubscriberLimits) {
		s.Reason = uint32(len(p.Reasons))
	}), []string{"subscribers[0] (nat): reason is "}},
	{"run-subscribers", limited(func(p *programpb.Program, _ *programpb.SubscriberLimits) { p.Runs[0].Subscribers = 2 }), []string{"runs[0] (nat): subscribers is 2, want at most 1"}},
}
