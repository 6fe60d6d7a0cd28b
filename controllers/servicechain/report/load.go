package report

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/words"
)

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
