package servicechain

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// goal is what instances are to be brought to.
type goal struct {
	program *v1alpha1.ChainProgram
	// want is the spec that an instance should have.
	want func(*v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec
	// proven says that the program was in force on all instances before.
	proven bool
	policy v1alpha1.Rollout
}

// deadline is how long an instance may take to run the program.
func (g *goal) deadline() time.Duration { return time.Duration(g.policy.DeadlineSeconds) * time.Second }

// step is what a rollout does next.
type step struct {
	write   []int // instances to be brought to the goal now
	back    bool  // to what is known to work
	rollout *v1alpha1.RolloutStatus
	refused *refusal
	wait    time.Duration
}

// refusal says why a program is taken back.
type refusal struct{ reason, message string }

// advance decides the next step: one instance at a time, each loaded, then watched for
// some time, before the next one follows. It knows no more than what it is given.
func advance(g goal, instances []v1alpha1.ChainInstance, last *v1alpha1.RolloutStatus, now time.Time) step {
	var behind []int // another program, or another pod
	for i := range instances {
		if !equality.Semantic.DeepEqual(instances[i].Spec, g.want(&instances[i])) {
			behind = append(behind, i)
		}
	}
	if last != nil && last.Program != g.program.Name {
		last = nil // the goal has changed on the way
	}
	if g.proven {
		if astray := others(instances, g.program.Name); len(astray) > 0 {
			return step{write: astray, back: true} // all at once
		}
	}
	if last != nil && last.Instance != "" {
		if s, busy := watch(g, instances, last, now); busy {
			return s
		}
	}
	if len(behind) == 0 {
		return step{}
	}
	next := behind[0]
	return step{write: []int{next}, wait: g.deadline(), rollout: &v1alpha1.RolloutStatus{
		Program:  g.program.Name,
		Updated:  int32(len(instances) - len(behind)),
		Instance: instances[next].Name, Since: metav1.NewTime(now), LossPerMille: lossPerMille(&instances[next]),
	}}
}

// others are the instances that are told to run another program.
func others(instances []v1alpha1.ChainInstance, program string) (out []int) {
	for i := range instances {
		if instances[i].Spec.Program != program {
			out = append(out, i)
		}
	}
	return out
}

// watch looks at the instance that was brought to the goal last; busy: it is not done with it.
func watch(g goal, instances []v1alpha1.ChainInstance, last *v1alpha1.RolloutStatus, now time.Time) (s step, busy bool) {
	var i *v1alpha1.ChainInstance
	for k := range instances {
		if instances[k].Name == last.Instance {
			i = &instances[k]
		}
	}
	if i == nil || i.Spec.Program != g.program.Name {
		return step{}, false // gone, or not written after all
	}
	rollout := last.DeepCopy()
	if why := trouble(g, i, rollout, now); why != nil && !g.proven {
		return step{refused: why, rollout: rollout}, true
	}
	if !settled(i, g.program.Spec.Hash, rollout) {
		left := deadline(g, i, rollout).Sub(now)
		if left <= 0 { // there is no pod; that there is one will be heard of
			left = g.deadline()
		}
		return step{rollout: rollout, wait: left}, true
	}
	if rollout.AppliedTime.IsZero() {
		rollout.AppliedTime = metav1.NewTime(now)
	}
	if left := rollout.AppliedTime.Add(time.Duration(g.policy.ObserveSeconds) * time.Second).Sub(now); left > 0 {
		return step{rollout: rollout, wait: left}, true
	}
	return step{}, false
}

// trouble tells why the program should be taken back; nil: nothing is wrong.
func trouble(g goal, i *v1alpha1.ChainInstance, rollout *v1alpha1.RolloutStatus, now time.Time) *refusal {
	say := func(reason, format string, args ...any) *refusal {
		return &refusal{reason, "instance " + i.Name + " " + fmt.Sprintf(format, args...)}
	}
	if c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionProgrammed); c != nil && c.Status == isFalse && c.ObservedGeneration >= i.Generation {
		switch {
		case c.Reason == v1alpha1.ReasonLoadFailed:
			return say(v1alpha1.ReasonLoadFailed, "could not load it: %s", c.Message)
		case c.Reason == v1alpha1.ReasonEngineDown && !rollout.AppliedTime.IsZero():
			return say(v1alpha1.ReasonEngineDown, "lost its engine while it ran it: %s", c.Message)
		}
	}
	if !settled(i, g.program.Spec.Hash, rollout) {
		switch {
		case now.Before(deadline(g, i, rollout)) || !meta.IsStatusConditionTrue(i.Status.Conditions, v1alpha1.ConditionPlaced):
			return nil
		case rollout.AppliedTime.IsZero():
			return say(v1alpha1.ReasonDeadlinePassed, "did not report it within %s", g.deadline())
		}
		return say(v1alpha1.ReasonDeadlinePassed, "ran it, and then was not ready for %s", g.deadline())
	}
	if rollout.AppliedTime.IsZero() || i.Status.LastReportTime.Before(&rollout.AppliedTime) {
		return nil // what it reports is from before
	}
	if loss := lossPerMille(i); loss-rollout.LossPerMille > g.policy.PauseOnDropsPercent*10 {
		return say(v1alpha1.ReasonDropsJumped, "lost %d.%d %% of its packets with it, %d.%d %% before",
			loss/10, loss%10, rollout.LossPerMille/10, rollout.LossPerMille%10)
	}
	return nil
}

// deadline is when an instance must run the program at the latest. Time without a pod does not count; one that ran
// the program has as much time again if it is not ready any more.
func deadline(g goal, i *v1alpha1.ChainInstance, rollout *v1alpha1.RolloutStatus) time.Time {
	begins := []string{v1alpha1.ConditionPlaced}
	if !rollout.AppliedTime.IsZero() {
		begins = append(begins, v1alpha1.ConditionReady)
	}
	since := rollout.Since.Time
	for _, kind := range begins {
		if c := meta.FindStatusCondition(i.Status.Conditions, kind); c != nil && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return since.Add(g.deadline())
}

// settled tells whether the instance's pod, as it is wanted now, runs the program. Once it did,
// nothing but its working cores is changed while it is watched.
func settled(i *v1alpha1.ChainInstance, hash string, rollout *v1alpha1.RolloutStatus) bool {
	c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
	return c != nil && c.Status == isTrue && i.Status.AppliedHash == hash &&
		(c.ObservedGeneration == i.Generation || !rollout.AppliedTime.IsZero())
}

// lossPerMille is the part of its packets that an instance lost of late.
func lossPerMille(i *v1alpha1.ChainInstance) int32 {
	if i.Status.PacketRate <= 0 {
		return 0
	}
	return int32(min(i.Status.LossRate*1000/i.Status.PacketRate, 1000))
}
