package offload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
)

// PortState is what has become of a device's part in dispatch.
type PortState struct {
	Interface  string
	Dispatcher v1alpha1.Dispatcher
	Reason     string // what is in force, and why nothing stronger
	Rules      int    // installed
	Refused    uint64 // by the driver
	Withdrawn  uint64
	Dropped    Count // by the device
}

func (d *Dispatch) report(p *port) PortState {
	r := PortState{
		Interface: p.name, Rules: len(p.table.rules), Refused: p.refused, Withdrawn: p.gone, Dropped: d.drops.of(p.name),
	}
	r.Dispatcher, r.Reason = d.says(p)
	return r
}

// says tells what is in force at a port, and why nothing stronger. The words stay the same while numbers change, since each change is a
// write. A dispatcher is in force when it was seen to be.
func (d *Dispatch) says(p *port) (v1alpha1.Dispatcher, string) {
	switch {
	case d.program == nil || p.index < 0 || p.index >= len(d.choice.Ports):
		return v1alpha1.DispatcherSoftware, "no program runs"
	case d.workers == 1:
		return d.saysAlone(p)
	case len(d.shards.queues) == 1:
		return v1alpha1.DispatcherSoftware, "the chain's state cannot be divided: one core processes all packets that need it"
	}
	choice := d.choice.Ports[p.index]
	switch {
	case choice.Dispatcher == dispatch.RSS:
		return v1alpha1.DispatcherRSS, p.driver + " hashes flows to their cores (" + choice.Why + ")" + p.byClass() + p.without()
	case choice.Dispatcher == dispatch.Flow && p.trouble() == "" && p.seen:
		return v1alpha1.DispatcherFlow, "flow rules of " + p.driver + " choose the core" + p.byClass() + p.without()
	case choice.Dispatcher == dispatch.Flow:
		return v1alpha1.DispatcherSoftware, p.notYet()
	}
	return v1alpha1.DispatcherSoftware, p.driver + ": " + choice.Why + p.byClass() + p.without()
}

// saysAlone is for one core, to which all packets go: devices can drop and mark packets for it.
func (d *Dispatch) saysAlone(p *port) (v1alpha1.Dispatcher, string) {
	const all = "one core takes all packets; "
	switch {
	case p.caps.Distrusted != "":
		return v1alpha1.DispatcherSoftware, all + p.caps.Distrusted
	case p.caps.Rules == 0:
		return v1alpha1.DispatcherSoftware, all + p.lacks()
	case p.trouble() != "" || !p.seen && len(p.table.rules) > 0:
		return v1alpha1.DispatcherSoftware, all + p.notYet()
	case len(p.table.rules) == 0:
		return v1alpha1.DispatcherSoftware, all + "no class of packets is worth a flow rule of " + p.driver + p.without()
	}
	return v1alpha1.DispatcherFlow, all + p.driver + " " + p.does() + p.without()
}

// lacks names what the device does not offer, in its driver's words.
func (p *port) lacks() string {
	words := ""
	if p.caps.Refused != "" {
		words = fmt.Sprintf(" (%q)", p.caps.Refused)
	}
	if p.caps.RSS.Buckets == 0 {
		return fmt.Sprintf("%s offers neither flow rules%s nor RSS", p.driver, words)
	}
	return fmt.Sprintf("%s offers no flow rules%s", p.driver, words)
}

// trouble is why the rules are not as planned; empty if they are.
func (p *port) trouble() string { return cmp.Or(p.planless, p.failed) }

// notYet is why rules are not in force although the device could do them.
func (p *port) notYet() string {
	if trouble := p.trouble(); trouble != "" {
		return "flow rules of " + p.driver + " are not in force: " + trouble
	}
	return "no packet has confirmed yet that " + p.driver + " executes its flow rules"
}

// does is what rules do about classes; empty: nothing.
func (p *port) does() string {
	has := func(is func(dispatch.Action) bool) bool {
		return slices.ContainsFunc(p.table.rules, func(r dispatch.Rule) bool { return is(r.Action) })
	}
	var verbs []string
	if has(func(a dispatch.Action) bool { return a.Kind == dispatch.Drop }) {
		verbs = append(verbs, "drops")
	}
	if has(func(a dispatch.Action) bool { return a.Mark != 0 }) {
		verbs = append(verbs, "marks")
	}
	if len(verbs) == 0 {
		return ""
	}
	return strings.Join(verbs, " and ") + " packets by class"
}

// byClass is does beside something else.
func (p *port) byClass() string {
	if does := p.does(); does != "" && p.seen {
		return "; it " + does
	}
	return ""
}

// without is what the driver refused, of what was planned first.
func (p *port) without() string {
	if len(p.lowered) == 0 {
		return ""
	}
	return " (" + p.lowered[len(p.lowered)-1] + ")"
}
