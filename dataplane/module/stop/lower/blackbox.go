// Package lower lowers functions that someone else made: all packets leave for them by an element with two wires, or copies do.
package lower

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func init() {
	lower.Register("blackbox", func(k *v1alpha1.FunctionKinds) *v1alpha1.Blackbox { return k.Blackbox },
		func(s *v1alpha1.Blackbox) lower.Kind {
			switch s.Attachment {
			case v1alpha1.BlackboxTap:
				return &tap{spec: s}
			case v1alpha1.BlackboxRouted:
				return &routed{spec: s}
			case v1alpha1.BlackboxService:
				return newService(s)
			default:
				return &blackbox{spec: s}
			}
		})
	lower.When(lower.Wired, func(b *lower.Builder) {
		for _, f := range b.Functions {
			if k, ok := f.Kind.(*routed); ok {
				k.checkRoutes(b, f)
			}
		}
	})
	lower.When(lower.Finished, func(b *lower.Builder) {
		for _, f := range b.Functions {
			if k, ok := f.Kind.(interface {
				addWires(b *lower.Builder, f *lower.Function)
			}); ok {
				k.addWires(b, f)
			}
		}
	})
}

// blackbox is a function through which packets go.
type blackbox struct {
	lower.TwoSided
	spec *v1alpha1.Blackbox
	ways []way // one, or one for each replica
}

// way is a stop with its wires.
type way struct {
	wires [element.StopSides]*lower.Wire // nil: it was not found
	node  int
}

// fields are those that a blackbox may say it writes.
var fields = map[v1alpha1.HeaderField]headerspace.Field{
	v1alpha1.FieldVLAN: headerspace.VLAN, v1alpha1.FieldSource: headerspace.Src, v1alpha1.FieldDestination: headerspace.Dst,
	v1alpha1.FieldDSCP: headerspace.DSCP, v1alpha1.FieldTTL: headerspace.TTL,
	v1alpha1.FieldSourcePort: headerspace.SPort, v1alpha1.FieldDestinationPort: headerspace.DPort,
}

// whenDown is what becomes of packets while the function is down; absent: nobody knows that it is.
var whenDown = map[v1alpha1.BlackboxWhenDown]element.WhenDown{
	v1alpha1.BlackboxOpen: element.StopOpen, v1alpha1.BlackboxClosed: element.StopClosed,
}

// Traits say what the function may do that nobody foresees.
func (k *blackbox) Traits() lower.Traits {
	writes := func(f ...v1alpha1.HeaderField) bool {
		return slices.ContainsFunc(f, func(f v1alpha1.HeaderField) bool { return slices.Contains(k.spec.Behavior.Writes, f) })
	}
	addresses := writes(v1alpha1.FieldSource, v1alpha1.FieldDestination)
	return lower.Traits{Transparent: !addresses, Unforeseen: addresses, SetsTags: writes(v1alpha1.FieldVLAN)}
}

// Lower makes "ips", which both directions share, or "ips/<wire inside>" for each replica. Their wires come when it is known where packets go behind
// them.
func (k *blackbox) Lower(b *lower.Builder, f *lower.Function) {
	if k.spec.Image != "" && k.spec.WhenDown == "" { // an API server with the CRDs of another release may take it
		b.Fail(f.Object, f.Path+".whenDown", "", "image needs it: say what becomes of packets while the container is down, Open or Closed")
	}
	e := k.behavior(b, f)
	past, replicas := k.bypass(b, f), k.replicas(b, f)
	for i, r := range k.spec.Ways() {
		name, field := f.Name, ""
		if replicas != nil {
			name, field = replicas[i].Flows.Table, fmt.Sprintf("replicas[%d].", i)
		}
		w := way{wires: [element.StopSides]*lower.Wire{b.ClaimWire(f, field+"inside", r.Inside), b.ClaimWire(f, field+"outside", r.Outside)}}
		e.Interfaces = [element.StopSides]string{string(r.Inside), string(r.Outside)}
		w.node = b.Add(f.Name, name, e)
		k.ways = append(k.ways, w)
	}
	checkContainer(b, f, k.spec, k.wires()...)
	for side, name := range lower.TwoSides {
		if b.Reached(f.Port(name)) {
			f.Entry[name] = k.enter(b, f, side, past, replicas)
		}
	}
}

// behavior is what the function says of itself.
func (k *blackbox) behavior(b *lower.Builder, f *lower.Function) (e element.Stop) {
	for _, w := range k.spec.Behavior.Writes {
		e.Changes = append(e.Changes, fields[w])
	}
	slices.Sort(e.Changes)
	e.Never = never(&k.spec.Behavior)
	e.WhenDown = whenDown[k.spec.WhenDown]
	if e.WhenDown == element.StopOpen && len(e.Changes) > 0 {
		b.Fail(f.Object, f.Path+".whenDown", string(k.spec.WhenDown), "what behavior.writes names would be missing in packets that pass it by; set Closed, or leave behavior.writes out")
	}
	return e
}

// enter has packets that come in by a side go through the function, and out by its other port. It is where they come in.
func (k *blackbox) enter(b *lower.Builder, f *lower.Function, side int, past *passing, replicas []element.Replica) lower.Edge {
	in := lower.Edge{To: k.ways[0].node, Port: side}
	if replicas != nil {
		in = k.assign(b, f, side, replicas)
	}
	if past != nil {
		return past.around(b, f, in, k.ways, side)
	}
	for _, w := range k.ways {
		b.Exit(w.node, 1-side, f, lower.Opposite(lower.TwoSides[side]))
	}
	return in
}

// wires are those of all ways.
func (k *blackbox) wires() (all []*lower.Wire) {
	for _, w := range k.ways {
		all = append(all, w.wires[:]...)
	}
	return all
}

// never are the things that a function says it does not do.
func never(b *v1alpha1.BlackboxBehavior) (n element.Never) {
	for of, says := range map[element.Never]*bool{element.NeverDrops: b.Drops, element.NeverResizes: b.Resizes, element.NeverOriginates: b.Originates, element.NeverReorders: b.Reorders} {
		if says != nil && !*says {
			n |= of
		}
	}
	return n
}

// addWires: a side at which no packet of the chain comes in has a wire all the same, by which the function may send packets: they are dropped.
func (k *blackbox) addWires(b *lower.Builder, f *lower.Function) {
	if slices.Contains(k.wires(), nil) {
		return
	}
	unlinked := b.AddOnce(f, f.Name+"/unlinked")
	for _, w := range k.ways {
		for out, e := range b.Nodes()[w.node].Out {
			if e.To < 0 {
				b.Wire(w.node, out, unlinked())
			}
		}
		b.AddWires(w.node, w.wires)
	}
}
