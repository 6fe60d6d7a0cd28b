package report

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/words"
)

// groupPlaces are the groups of all instances. The load is as it was said unless it has really changed.
func groupPlaces(said []v1alpha1.GroupPlace, instances []v1alpha1.ChainInstance) []v1alpha1.GroupPlace {
	const most = 1024 // that the schema takes
	var out []v1alpha1.GroupPlace
	for k := range instances {
		i := &instances[k]
		for _, g := range i.Spec.Groups {
			if len(out) == most {
				return out
			}
			p := v1alpha1.GroupPlace{Instance: i.Name, Name: g.Name, Shards: g.Shards, Node: i.Status.Node}
			for _, c := range g.Cores {
				// Cores are counted within the pod; the agent reports which CPUs they are.
				if int(c) < len(i.Status.Cores) {
					core := &i.Status.Cores[c]
					p.Cores = append(p.Cores, core.LCore)
					p.LoadPercent = max(p.LoadPercent, core.LoadPercent)
				}
			}
			before := slices.IndexFunc(said, func(o v1alpha1.GroupPlace) bool { return o.Instance == p.Instance && o.Name == p.Name })
			p.Owners = ownersOf(i, g.Name)
			if before >= 0 && slices.Equal(said[before].Cores, p.Cores) {
				p.LoadPercent = steadyLoad(said[before].LoadPercent, p.LoadPercent)
				steadyOwners(said[before].Owners, p.Owners)
			}
			out = append(out, p)
		}
	}
	return out
}

// ownersOf are the cores that own a group's shards, as the agent reports.
func ownersOf(i *v1alpha1.ChainInstance, group v1alpha1.Name) []v1alpha1.CoreShards {
	for _, g := range i.Status.Groups {
		if g.Name == group {
			return slices.Clone(g.Owners)
		}
	}
	return nil
}

// steadyOwners keeps the loads of cores as they were said unless they have really changed.
func steadyOwners(said, now []v1alpha1.CoreShards) {
	for k := range now {
		before := slices.IndexFunc(said, func(o v1alpha1.CoreShards) bool { return o.LCore == now[k].LCore })
		if before >= 0 {
			now[k].LoadPercent = steadyLoad(said[before].LoadPercent, now[k].LoadPercent)
		}
	}
}

// steadyLoad keeps a load as it was said unless it differs by ten points.
func steadyLoad(said, now int32) int32 {
	if max(said, now)-min(said, now) < 10 {
		return said
	}
	return now
}

// Scaled judges whether the instances have the cores that their load wants. Its words stay
// the same while the load is borne.
func Scaled(spec *v1alpha1.Scaling, instances []v1alpha1.ChainInstance, findings []scaling.Note) ConditionStatus {
	var heavy, short, stuck, works []string
	reason := ""
	for _, n := range findings {
		short, reason = append(short, n.Message), string(n.Reason)
	}
	b := scaling.BoundsOf(spec)
	fixed := b.MinCores == b.MaxCores && b.MinPods == b.MaxPods
	for k := range instances {
		i := &instances[k]
		if i.Spec.Shared && len(i.Spec.Groups) == 0 {
			works = append(works, i.Name+" has no shards"+why(i))
			continue
		}
		c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionBalanced)
		if c == nil || c.Status == isUnknown {
			continue
		}
		switch text := i.Name + ": " + c.Message; {
		case c.Reason == v1alpha1.ReasonShardTooHeavy:
			heavy = append(heavy, text)
		case fixed || c.Reason == v1alpha1.ReasonBalancing || c.Reason == v1alpha1.ReasonOneCore:
			works = append(works, fmt.Sprintf("%s works with %d of %s", i.Name, i.WorkingCores(), words.Count(int(i.Spec.Cores), "core")))
		default:
			stuck, reason = append(stuck, text), c.Reason
		}
	}
	status := isFalse
	switch {
	case len(heavy) > 0:
		reason, works = v1alpha1.ReasonShardTooHeavy, append(heavy, short...)
	case len(short) > 0:
		works = short
	case len(stuck) > 0:
		works = stuck
	case len(works) == 0:
		return ConditionStatus{isUnknown, v1alpha1.ReasonNotReported, "no instance has reported the load of its shards"}
	case fixed:
		status, reason = isTrue, v1alpha1.ReasonFixed
	default:
		status, reason = isTrue, v1alpha1.ReasonWithinBounds
	}
	return ConditionStatus{status, reason, strings.Join(works, "; ")}
}

// why is what keeps an instance from being ready, as the end of a sentence.
func why(i *v1alpha1.ChainInstance) string {
	c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status == isTrue {
		return ""
	}
	return " and is not ready: " + c.Message
}
