package offload

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// lower takes out of a device's capabilities what a rule asked for that its driver refused, so that the next plan does
// without: of the things that none of the rules asks for which it took the one that is missed least. If there is none, it is room that is short. It
// returns what it took out.
func lower(caps *dispatch.Capabilities, taken []dispatch.Rule, refused *dispatch.Rule) string {
	proven := provenBy(taken)
	field := func(least, most dispatch.How) string {
		for f, c := range refused.Match.Conds {
			if how := c.How(hs.Field(f)); how > proven.fields[f] && how >= least && how <= most {
				caps.Fields[f] = how - 1
				return fmt.Sprintf("%s by %s", hs.Field(f), how)
			}
		}
		return ""
	}
	switch a := refused.Action; {
	case a.Mark != 0 && !proven.mark:
		caps.MarkBits = 0
		return "marks"
	case (a.Kind == dispatch.Jump || refused.Table > 0) && !proven.jump:
		caps.Jump = false
		return "a second table"
	case refused.Match.DstMAC != dispatch.MAC{} && !proven.mac:
		caps.DstMAC = false
		return "destination MAC addresses"
	}
	if what := field(dispatch.Masked, dispatch.Ranged); what != "" {
		return what
	}
	switch a := refused.Action; {
	case a.Kind == dispatch.Drop && !proven.drop:
		caps.Drop = false
		return "drops"
	case a.Kind == dispatch.ToQueue && !proven.queue:
		caps.Queue = false
		return "queues"
	}
	if what := field(dispatch.Exact, dispatch.Prefix); what != "" {
		return what
	}
	caps.Rules = len(taken)
	return fmt.Sprintf("more than %d rules", len(taken))
}

// proven is what a driver has taken.
type proven struct {
	fields                       [hs.NumFields]dispatch.How
	mark, jump, mac, drop, queue bool
}

func provenBy(rules []dispatch.Rule) (p proven) {
	for i := range rules {
		r := &rules[i]
		for f, c := range r.Match.Conds {
			p.fields[f] = max(p.fields[f], c.How(hs.Field(f)))
		}
		p.mark = p.mark || r.Action.Mark != 0
		p.jump = p.jump || r.Table > 0
		p.mac = p.mac || r.Match.DstMAC != dispatch.MAC{}
		p.drop = p.drop || r.Action.Kind == dispatch.Drop
		p.queue = p.queue || r.Action.Kind == dispatch.ToQueue
	}
	return p
}
