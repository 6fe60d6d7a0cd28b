// Package lower lowers connection limiters: all packets go by an element that knows the connections of each host.
package lower

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

func init() {
	lower.Register("connectionLimiter", func(k *v1alpha1.FunctionKinds) *v1alpha1.ConnectionLimiter { return k.ConnectionLimiter },
		func(s *v1alpha1.ConnectionLimiter) lower.Kind { return connectionLimiter{spec: s} })
}

type connectionLimiter struct {
	lower.TwoSided
	spec *v1alpha1.ConnectionLimiter
}

// Lower makes "guard", which both directions share. What would be a connection too many of its host is counted as "guard/limit", and what there
// is no room for as "guard/full".
func (c connectionLimiter) Lower(b *lower.Builder, f *lower.Function) {
	e := c.element(b, f)
	n := b.Add(f.Name, f.Name, e)
	for side, name := range lower.TwoSides {
		if b.Reached(f.Port(name)) {
			f.Entry[name] = lower.Edge{To: n, Port: side}
			b.Exit(n, e.Leaves(side), f, lower.Opposite(name))
		}
	}
}

func (c connectionLimiter) element(b *lower.Builder, f *lower.Function) element.ConnLimit {
	spec, timeouts := c.spec, f.Path+".timeouts"
	if spec.MaxPerHost > spec.MaxConnections {
		b.Fail(f.Object, f.Path+".maxPerHost", fmt.Sprint(spec.MaxPerHost), "no host can have more than all hosts together; must not be above maxConnections, which is %d",
			spec.MaxConnections)
	}
	return element.ConnLimit{
		Table: f.Name, Max: int(spec.MaxConnections), Full: f.Name + "/full",
		PerHost: element.SubscriberLimits{PrefixLen: int(spec.PrefixLength), MaxSessions: int(spec.MaxPerHost), Reason: f.Name + "/limit"},
		Timeouts: element.Timeouts{
			TCP:           b.Timeout(f, timeouts+".tcp", spec.Timeouts.TCP),
			TCPTransitory: b.Timeout(f, timeouts+".tcpTransitory", spec.Timeouts.TCPTransitory),
			TCPClosing:    b.Timeout(f, timeouts+".tcpClosing", spec.Timeouts.TCPClosing),
			UDP:           b.Timeout(f, timeouts+".udp", spec.Timeouts.UDP),
			ICMP:          b.Timeout(f, timeouts+".icmp", spec.Timeouts.ICMP),
		},
	}
}
