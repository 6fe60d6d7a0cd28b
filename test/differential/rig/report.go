package rig

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/test/packets"
)

// ReportSmallest shrinks the packets of the smallest failing chain, and logs what is left.
func ReportSmallest(t *testing.T, r *Rig, m *Mismatch) {
	if m.packet.Frame == nil {
		return // counted wrong at the end, by all packets together
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	best, steps := r.shrink(ctx, m, 30*time.Second)
	var s strings.Builder
	for i, step := range steps {
		if i == 12 && len(steps) > 14 {
			fmt.Fprintf(&s, "… %d more\n", len(steps)-i-1)
		}
		if i >= 12 && i < len(steps)-1 {
			continue
		}
		for _, p := range step.Packets {
			fmt.Fprintf(&s, "at %v into %s:\n%s\n", step.Now, r.Graph.Interfaces[p.Iface].Name, packets.Describe(p.Frame))
		}
	}
	t.Logf("the smallest example: %d packets before the one that differs\n%s%v", best.alone, s.String(), best)
}

// Dump is the chain, for people.
func Dump(g *graph.Graph) string {
	var s strings.Builder
	for _, i := range g.Interfaces {
		fmt.Fprintf(&s, "interface %s %v mtu %d gateway %v\n", i.Name, i.Prefix, i.MTU, i.Gateway)
	}
	for i, n := range g.Nodes {
		fmt.Fprintf(&s, "%3d %s: %s %+v →", i, n.Name, n.Element.Kind(), n.Element)
		for _, e := range n.Out {
			fmt.Fprintf(&s, " %d.%d", e.To, e.Port)
		}
		s.WriteString("\n")
	}
	return s.String()
}
