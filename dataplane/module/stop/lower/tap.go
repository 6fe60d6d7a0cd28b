package lower

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// tap is a function that gets copies of packets by one wire, or by one for each direction.
type tap struct {
	lower.TwoSided
	spec  *v1alpha1.Blackbox
	wires map[string]*lower.Wire // by side; nil: it was not found
}

// Traits say that packets go on as they are.
func (tap) Traits() lower.Traits { return lower.Traits{Transparent: true} }

// Lower makes, per direction, "probe/inside", which copies, and "probe/to-inside", by which copies leave. With one wire both directions share the latter.
func (k *tap) Lower(b *lower.Builder, f *lower.Function) {
	k.wires = map[string]*lower.Wire{lower.Inside: b.ClaimWire(f, lower.Inside, k.spec.Inside)}
	if k.spec.Outside != "" {
		k.wires[lower.Outside] = b.ClaimWire(f, lower.Outside, k.spec.Outside)
	}
	checkContainer(b, f, k.spec, k.wires[lower.Inside], k.wires[lower.Outside])
	if k.spec.WhenDown != "" {
		b.Fail(f.Object, f.Path+".whenDown", string(k.spec.WhenDown), "a Tap gets copies, so packets of the chain do not depend on it; leave it out")
	}
	if k.spec.Bypass != nil {
		b.Fail(f.Object, f.Path+".bypass", "", "a Tap gets copies, so there is nothing to go past; leave it out")
	}
	ends := map[v1alpha1.Name]int{}
	for _, side := range lower.TwoSides {
		wire := k.spec.Inside
		if side == lower.Outside && k.spec.Outside != "" {
			wire = k.spec.Outside
		}
		if !b.Reached(f.Port(side)) {
			continue
		}
		if _, there := ends[wire]; !there {
			ends[wire] = b.Add(f.Name, f.Name+"/to-"+side, element.Tap{Interface: string(wire)})
		}
		tee := b.Add(f.Name, f.Name+"/"+side, element.Tee{Outs: 2})
		f.Entry[side] = lower.Edge{To: tee}
		b.Exit(tee, 0, f, lower.Opposite(side))
		b.Wire(tee, 1, ends[wire])
	}
}

// addWires: what the function sends is dropped.
func (k *tap) addWires(b *lower.Builder, f *lower.Function) {
	for _, side := range lower.TwoSides {
		if w := k.wires[side]; w != nil {
			b.AddTap(f, w)
		}
	}
}
