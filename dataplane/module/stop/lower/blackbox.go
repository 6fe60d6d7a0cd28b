// Package lower lowers functions that someone else made: all packets leave for them by an element with two wires, or copies do.
package lower

import (
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
	spec  *v1alpha1.Blackbox
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

// Lower makes "ips", which both directions share. Its wires come when it is known where packets go behind it.
func (k *blackbox) Lower(b *lower.Builder, f *lower.Function) {
	k.wires = [element.StopSides]*lower.Wire{b.ClaimWire(f, "inside", k.spec.Inside), b.ClaimWire(f, "outside", k.spec.Outside)}
	checkContainer(b, f, k.spec, k.wires[:]...)
	if k.spec.Image != "" && k.spec.WhenDown == "" { // an API server with the CRDs of another release may take it
		b.Fail(f.Object, f.Path+".whenDown", "", "image needs it: say what becomes of packets while the container is down, Open or Closed")
	}
	e := element.Stop{Interfaces: [element.StopSides]string{string(k.spec.Inside), string(k.spec.Outside)}}
	for _, w := range k.spec.Behavior.Writes {
		e.Changes = append(e.Changes, fields[w])
	}
	slices.Sort(e.Changes)
	e.Never = never(&k.spec.Behavior)
	e.WhenDown = whenDown[k.spec.WhenDown]
	if e.WhenDown == element.StopOpen && len(e.Changes) > 0 {
		b.Fail(f.Object, f.Path+".whenDown", string(k.spec.WhenDown), "what behavior.writes names would be missing in packets that pass it by; set Closed, or leave behavior.writes out")
	}
	past := k.bypass(b, f)
	k.node = b.Add(f.Name, f.Name, e)
	for side, name := range lower.TwoSides {
		if !b.Reached(f.Port(name)) {
			continue
		}
		f.Entry[name] = lower.Edge{To: k.node, Port: side}
		if past == nil {
			b.Exit(k.node, 1-side, f, lower.Opposite(name))
			continue
		}
		f.Entry[name] = past.around(b, f, k.node, side)
	}
}

// never are the things that a function says it does not do.
func never(b *v1alpha1.BlackboxBehavior) (n element.Never) {
	for of, says := range map[element.Never]*bool{element.NeverDrops: b.Drops, element.NeverResizes: b.Resizes, element.NeverOriginates: b.Originates} {
		if says != nil && !*says {
			n |= of
		}
	}
	return n
}

// addWires: a side at which no packet of the chain comes in has a wire all the same, by which the function may send packets: they are dropped.
func (k *blackbox) addWires(b *lower.Builder, f *lower.Function) {
	if slices.Contains(k.wires[:], nil) {
		return
	}
	unlinked := b.AddOnce(f, f.Name+"/unlinked")
	for out, e := range b.Nodes()[k.node].Out {
		if e.To < 0 {
			b.Wire(k.node, out, unlinked())
		}
	}
	b.AddWires(k.node, k.wires)
}
