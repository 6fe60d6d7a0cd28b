package differential

import (
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// balancer is a static split (SNF, Figure 5): by source, a virtual address becomes one of two
// backends; the way back restores it.
func (d *drawer) balancer(ends [2]int) (left, right side) {
	name := d.name("lb")
	vip := addr4(172, 31, 0, 1)
	d.bases = append(d.bases, vip)
	forth := element.Classifier{Outs: 3, Default: 0}
	back := element.Classifier{Outs: 2, Default: 0}
	half := []hs.Set{hs.Prefix(netip.PrefixFrom(addr4(0, 0, 0, 0), 1)), hs.Prefix(netip.PrefixFrom(addr4(128, 0, 0, 0), 1))}
	f := d.add(name, "forth", forth)
	b := d.add(name, "back", back)
	right.outs = append(right.outs, graph.Edge{To: f})
	left.outs = append(left.outs, graph.Edge{To: b})
	for i, h := range half {
		backend := addr4(192, 168, ends[1], 2+i)
		forth.Rules = append(forth.Rules, element.Rule{
			Name: fmt.Sprint("backend", i), Out: 1 + i, Count: true,
			Filters: []hs.Filter{where(hs.Dst, hs.Single(hs.Addr(vip))).With(hs.Src, h)},
		})
		back.Rules = append(back.Rules, element.Rule{
			Name: fmt.Sprint("from", i), Out: 1,
			Filters: []hs.Filter{where(hs.Src, hs.Single(hs.Addr(backend)))},
		})
		to := d.add(name, fmt.Sprint("to", i), element.SetField{Field: hs.Dst, Value: hs.Addr(backend)})
		d.wire(f, 1+i, to)
		right.outs = append(right.outs, graph.Edge{To: to})
	}
	restore := d.add(name, "restore", element.SetField{Field: hs.Src, Value: hs.Addr(vip)})
	d.wire(b, 1, restore)
	left.outs = append(left.outs, graph.Edge{To: restore})
	d.g.Nodes[f].Element, d.g.Nodes[b].Element = forth, back
	left.in, right.in = graph.Edge{To: f}, graph.Edge{To: b}
	return left, right
}
