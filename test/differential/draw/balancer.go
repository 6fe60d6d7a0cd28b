package draw

import (
	"fmt"
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// balancer is a static split (SNF, Figure 5): by source, a virtual address becomes one of two
// backends; the way back restores it.
func (d *Drawer) balancer(ends [2]int) (left, right Side) {
	name := d.name("lb")
	vip := Addr4(172, 31, 0, 1)
	d.bases = append(d.bases, vip)
	forth := element.Classifier{Outs: 3, Default: 0}
	back := element.Classifier{Outs: 2, Default: 0}
	half := []hs.Set{hs.Prefix(netip.PrefixFrom(Addr4(0, 0, 0, 0), 1)), hs.Prefix(netip.PrefixFrom(Addr4(128, 0, 0, 0), 1))}
	f := d.Add(name, "forth", forth)
	b := d.Add(name, "back", back)
	right.Outs = append(right.Outs, graph.Edge{To: f})
	left.Outs = append(left.Outs, graph.Edge{To: b})
	for i, h := range half {
		backend := Addr4(192, 168, ends[1], 2+i)
		forth.Rules = append(forth.Rules, element.Rule{
			Name: fmt.Sprint("backend", i), Out: 1 + i, Count: true,
			Filters: []hs.Filter{Where(hs.Dst, hs.Single(hs.Addr(vip))).With(hs.Src, h)},
		})
		back.Rules = append(back.Rules, element.Rule{
			Name: fmt.Sprint("from", i), Out: 1,
			Filters: []hs.Filter{Where(hs.Src, hs.Single(hs.Addr(backend)))},
		})
		to := d.Add(name, fmt.Sprint("to", i), element.SetField{Field: hs.Dst, Value: hs.Addr(backend)})
		d.Wire(f, 1+i, to)
		right.Outs = append(right.Outs, graph.Edge{To: to})
	}
	restore := d.Add(name, "restore", element.SetField{Field: hs.Src, Value: hs.Addr(vip)})
	d.Wire(b, 1, restore)
	left.Outs = append(left.Outs, graph.Edge{To: restore})
	d.Graph.Nodes[f].Element, d.Graph.Nodes[b].Element = forth, back
	left.In, right.In = graph.Edge{To: f}, graph.Edge{To: b}
	return left, right
}
