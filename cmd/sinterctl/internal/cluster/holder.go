package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// byGroup are the shards of each group.
type byGroup map[v1alpha1.Name]shard.Set

// holder is an instance with its shards: those that it is to have by its spec, and by its last report those that its cores own and
// that its engine has.
type holder struct {
	*v1alpha1.ChainInstance
	wanted, owned, has byGroup
	cores              []owner // in the order of the report
}

// owner is a core with the shards of a group that it owns.
type owner struct {
	*v1alpha1.CoreShards
	group *v1alpha1.GroupStatus
	set   shard.Set
}

func holderOf(i *v1alpha1.ChainInstance) (holder, error) {
	h := holder{ChainInstance: i, wanted: byGroup{}, owned: byGroup{}, has: byGroup{}}
	for k := range i.Spec.Groups {
		g := &i.Spec.Groups[k]
		if _, err := h.wanted.add(g.Name, g.Shards); err != nil {
			return h, err
		}
	}
	for k := range i.Status.Groups {
		g := &i.Status.Groups[k]
		for j := range g.Owners {
			set, err := h.owned.add(g.Name, g.Owners[j].Shards)
			if err != nil {
				return h, err
			}
			h.cores = append(h.cores, owner{&g.Owners[j], g, set})
		}
	}
	maps.Copy(h.has, h.owned)
	_, err := h.has.add(shard.GroupAll, i.Status.Shards)
	return h, err
}

// add adds shards of a group, and returns them.
func (s byGroup) add(group v1alpha1.Name, ranges []v1alpha1.ShardRange) (shard.Set, error) {
	set, err := shard.Parse(ranges)
	if err != nil {
		return set, fmt.Errorf("group %s: shards: %w", group, err)
	}
	s[group] = s[group].Or(set)
	return set, nil
}

// keepsNoState tells whether the engine runs a program without state. An engine that shares no state has all shards that there are.
func (h *holder) keepsNoState() bool {
	c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionBalanced)
	return c != nil && c.Reason == v1alpha1.ReasonNoState ||
		!h.Spec.Shared && h.Status.AppliedHash != "" && len(h.Status.Groups) > 0 && len(h.cores) == 0
}

// onCores are the places on cores.
func (h *holder) onCores() (out []ShardPlace) {
	for _, o := range h.cores {
		p := h.place(o.group.Name, o.set, "")
		p.Core, p.WorkPercent = h.core(o.CoreShards), workOf(o.group.Work, o.set)
		out = append(out, p)
	}
	return out
}

// onNone are the places of shards that the instance has, or is to have, and that none of its cores owns.
func (h *holder) onNone(all []holder) (out []ShardPlace) {
	for _, group := range slices.Sorted(maps.Keys(h.has)) {
		if rest := h.has[group].Without(h.owned[group]); rest.Len() > 0 {
			out = append(out, h.place(group, rest, "the report of "+h.Name+" names no core for them"))
		}
	}
	for _, group := range slices.Sorted(maps.Keys(h.wanted)) {
		if !h.Spec.Shared && len(h.cores) > 0 {
			continue // the engine has all shards that there are, which are fewer than 128 where pools are small
		}
		missing := h.wanted[group].Without(h.has[group])
		for i := range all {
			other := &all[i]
			theirs := missing.And(other.has[group])
			if !h.Spec.Shared || !other.Spec.Shared || theirs.Len() == 0 {
				continue
			}
			p := h.place(group, theirs, joined(other.Name+" still reports them", other.movesFail()))
			p.HeldBy = other.Name
			out = append(out, p)
			missing = missing.Without(theirs)
		}
		if missing.Len() > 0 {
			out = append(out, h.place(group, missing, cmp.Or(h.unready(), h.movesFail(), "no instance reports them")))
		}
	}
	return out
}

func (h *holder) place(group v1alpha1.Name, set shard.Set, message string) ShardPlace {
	return ShardPlace{
		Instance: h.Name, Node: h.Status.Node, Ready: meta.IsStatusConditionTrue(h.Status.Conditions, v1alpha1.ConditionReady),
		Front: h.Spec.Front, Shared: h.Spec.Shared, Group: string(group),
		Shards: append([]string{}, shard.Text[string](set)...), Count: set.Len(), Message: message, LastReportTime: h.Status.LastReportTime,
	}
}

// core is the load of a core that owns shards.
func (h *holder) core(o *v1alpha1.CoreShards) *CoreLoad {
	for i := range h.Status.Cores {
		if k := &h.Status.Cores[i]; k.LCore == o.LCore {
			return new(coreLoadOf(k))
		}
	}
	return &CoreLoad{LCore: o.LCore, LoadPercent: o.LoadPercent}
}

// workOf adds up the works of shards, in thousandths of a core, to percent.
func workOf(works []int32, set shard.Set) *int32 {
	if len(works) == 0 {
		return nil
	}
	sum := int32(0)
	for n := range set.All() {
		if n < len(works) {
			sum += works[n]
		}
	}
	return new((sum + 5) / 10)
}

// unready is why the instance does not forward; empty: it does.
func (h *holder) unready() string {
	c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case c != nil && c.Status != metav1.ConditionTrue:
		return "not ready: " + oneLine(cmp.Or(c.Message, c.Reason))
	case h.Status.LastReportTime.IsZero():
		return "its agent has not reported yet"
	}
	return ""
}

// movesFail is why the instance's shards do not move; empty: nothing is known of that.
func (h *holder) movesFail() string {
	c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionBalanced)
	if c == nil || c.Reason != v1alpha1.ReasonMovesFail {
		return ""
	}
	return oneLine(c.Message)
}

// joined is a text with the reason for it, if there is one.
func joined(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}
