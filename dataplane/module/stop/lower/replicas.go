package lower

import (
	"slices"
	"strconv"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// defaultAffinity is that of a function which says nothing of it.
var defaultAffinity = v1alpha1.BlackboxAffinity{
	MaxFlows: 1_000_000,
	Timeouts: v1alpha1.ConnectionTimeouts{TCP: "2h4m", TCPTransitory: "4m", TCPClosing: "1s", UDP: "5m", ICMP: "60s"},
}

// replicas are those of the function, with the tables of their flows: "ips/<wire inside>". Nil: it has none.
func (k *blackbox) replicas(b *lower.Builder, f *lower.Function) (out []element.Replica) {
	s := k.spec.Affinity
	if s == nil {
		s = &defaultAffinity
	}
	for _, r := range k.spec.Replicas {
		out = append(out, element.Replica{
			Flows:      element.Passing{Table: f.Name + "/" + string(r.Inside), Max: int(s.MaxFlows)},
			Interfaces: [element.StopSides]string{string(r.Inside), string(r.Outside)},
			Draining:   r.Draining,
		})
	}
	if out == nil {
		return nil
	}
	t := timeouts(b, f, f.Path+".affinity.timeouts", &s.Timeouts)
	for i := range out {
		out[i].Flows.Timeouts = t
	}
	k.checkReplicas(b, f)
	return out
}

// checkReplicas refuses what an API server with the CRDs of another release may take, and warns of replicas of which none takes new flows.
func (k *blackbox) checkReplicas(b *lower.Builder, f *lower.Function) {
	if k.spec.WhenDown == "" {
		b.Fail(f.Object, f.Path+".whenDown", "", "replicas needs it: only of functions that are watched is it known which are there; set Open or Closed")
	}
	if n := len(k.spec.Replicas); n > element.MaxReplicas {
		b.Fail(f.Object, f.Path+".replicas", strconv.Itoa(n), "are too many; name up to %d", element.MaxReplicas)
	}
	if !slices.ContainsFunc(k.spec.Replicas, func(r v1alpha1.BlackboxReplica) bool { return !r.Draining }) {
		b.Warn(f.Object, f.Path+".replicas", "", "all are draining, so new flows go to each as if none were; leave draining out where they may go")
	}
}

// assign has packets that come in by a side go to the replica of their flow: "ips/assign-inside" tells which, and "ips/<wire inside>/assigned-inside" notes
// it. It is where packets come in.
func (k *blackbox) assign(b *lower.Builder, f *lower.Function, side int, replicas []element.Replica) lower.Edge {
	name, outside := lower.TwoSides[side], side == element.StopOutside
	before := b.Add(f.Name, f.Name+"/assign-"+name, element.Assign{Replicas: replicas, FromOutside: outside})
	for i, r := range replicas {
		assigned := b.Add(f.Name, r.Flows.Table+"/assigned-"+name, element.Assigned{Flows: r.Flows, FromOutside: outside})
		b.Wire(before, i, assigned)
		b.Lead(assigned, 0, lower.Edge{To: k.ways[i].node, Port: side})
	}
	return lower.Edge{To: before}
}
