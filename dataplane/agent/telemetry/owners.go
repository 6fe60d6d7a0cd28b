package telemetry

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// owners are the cores that own shards.
func (s *Seen) owners(cores []v1alpha1.CoreStatus) []v1alpha1.CoreShards {
	var out []v1alpha1.CoreShards
	for i, shards := range engine.Owned(s.Now.Stats) {
		if shards.Len() > 0 && i < len(cores) {
			out = append(out, v1alpha1.CoreShards{LCore: cores[i].LCore, LoadPercent: cores[i].LoadPercent, Shards: shard.Text[v1alpha1.ShardRange](shards)})
		}
	}
	return out
}

// balanced judges whether the load lies evenly on the cores, as far as shards allow. The words stay the same while the
// numbers change, since each change is a write.
func (s *Seen) balanced() (status metav1.ConditionStatus, reason, message string) {
	if s.State.Engine != nil || s.Now == nil || s.Now.Hash() == "" {
		return metav1.ConditionUnknown, v1alpha1.ReasonEngineDown, "no engine runs a program"
	}
	cores, shards := len(s.Now.Stats.GetWorkers()), len(s.Now.Stats.GetShards())
	switch {
	case s.Sharing != nil && s.Sharing.Lasting() != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonMovesFail, "shards could not be moved to the pods that they are assigned to: " + s.Sharing.Lasting().Error()
	case cores == 1:
		return metav1.ConditionTrue, v1alpha1.ReasonOneCore, "one core does all work"
	case shards == 0:
		return metav1.ConditionTrue, v1alpha1.ReasonNoState, "the chain keeps no state: the core that receives a packet processes it"
	case shards == 1:
		return metav1.ConditionFalse, v1alpha1.ReasonOneShard, "the chain's state cannot be divided: one core processes all packets that need it"
	case !s.Moving:
		return metav1.ConditionFalse, v1alpha1.ReasonBalancingOff, "balancing is switched off (--balance=false)"
	case s.Balance.Failed != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonMovesFail, "shards cannot be moved: " + s.Balance.Failed.Error()
	case s.Balance.Heavy.Len() > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonShardTooHeavy, s.Balance.TooHeavy()
	}
	return metav1.ConditionTrue, v1alpha1.ReasonBalancing, fmt.Sprintf("%d shards are balanced over %d of %d cores by load", shards, s.Balance.Working, cores)
}
