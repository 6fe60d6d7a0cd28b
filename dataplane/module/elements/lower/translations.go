package lower

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/wiring"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// checkTranslations warns of what elements translate to and nobody answers for, and refuses what is served, too.
func checkTranslations(b *lower.Builder) {
	for _, f := range b.Functions {
		in, ok := f.Kind.(elements)
		if !ok {
			continue
		}
		for k := range in.spec.Elements {
			e := &in.spec.Elements[k]
			name := f.Name + "/" + string(e.Name)
			node := b.FindNode(name)
			if node < 0 || b.IsGenerated(node) {
				continue // no packet gets there, or no reply is expected
			}
			if s, ok := b.Nodes()[node].Element.(element.SetField); ok && (s.Field == headerspace.Src || s.Field == headerspace.Dst) {
				at := lower.Index(f.Path+".elements", k) + ".setField.value"
				if in.click != nil {
					at = fmt.Sprintf("%s[%s]", f.Path, in.click.Made[string(e.Name)].Pos)
				}
				checkTranslation(b, f, at, node, s)
				b.CheckRewrite(lower.Rewrite{Object: f.Object, Where: at, Node: node, SetField: s})
			}
		}
	}
}

func checkTranslation(b *lower.Builder, f *lower.Function, at string, node int, s element.SetField) {
	a := headerspace.AsAddr(s.Value)
	left := wiring.LeavesBy(b.Nodes(), node, s.Field)
	for _, i := range b.Interfaces {
		if !left[i.Exit()] || !i.Prefix.IsValid() || !i.Prefix.Contains(a) {
			continue
		}
		broadcast, has := rules.Broadcast(i.Prefix)
		switch {
		case has && (a == broadcast || a == i.Prefix.Masked().Addr()):
			b.Warn(f.Object, at, a.String(), "is the network or broadcast address of %s, of interface %q; nobody answers for it", i.Prefix.Masked(), i.Name)
		case s.Field == headerspace.Src && !b.AnswersFor(i, a):
			b.Warn(f.Object, at, a.String(), "lies in %s of interface %q, which does not answer ARP requests for it: replies never arrive; add it to the interface's addresses",
				i.Prefix.Masked(), i.Name)
		}
	}
}
