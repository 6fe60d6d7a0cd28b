// Package rollout decides how a program comes to a chain's instances: one after the other, each watched, and back if it does badly. It knows no
// more than what it is given.
package rollout

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Goal is what instances are to be brought to.
type Goal struct {
	Program *v1alpha1.ChainProgram
	// want is the spec that an instance should have.
	Want func(*v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec
	// proven says that the program was in force on all instances before.
	Proven bool
	Policy v1alpha1.Rollout
}

// deadline is how long an instance may take to run the program.
func (g *Goal) deadline() time.Duration { return time.Duration(g.Policy.DeadlineSeconds) * time.Second }

// Step is what a rollout does next.
type Step struct {
	Write   []int // instances to be brought to the goal now
	Back    bool  // to what is known to work
	Rollout *v1alpha1.RolloutStatus
	Refused *Refusal
	Wait    time.Duration
}

// Refusal says why a program is taken back.
type Refusal struct{ Reason, Message string }

// Advance decides the next step: one instance at a time, each loaded, then watched for
// some time, before the next one follows. It knows no more than what it is given.
func Advance(g Goal, instances []v1alpha1.ChainInstance, last *v1alpha1.RolloutStatus, now time.Time) Step {
	var behind []int // another program, or another pod
	for i := range instances {
		if !equality.Semantic.DeepEqual(instances[i].Spec, g.Want(&instances[i])) {
			behind = append(behind, i)
		}
	}
	if last != nil && last.Program != g.Program.Name {
		last = nil // the goal has changed on the way
	}
	if g.Proven {
		if astray := Others(instances, g.Program.Name); len(astray) > 0 {
			return Step{Write: astray, Back: true} // all at once
		}
	}
	if last != nil && last.Instance != "" {
		if s, busy := watch(g, instances, last, now); busy {
			return s
		}
	}
	if len(behind) == 0 {
		return Step{}
	}
	next := behind[0]
	return Step{Write: []int{next}, Wait: g.deadline(), Rollout: &v1alpha1.RolloutStatus{
		Program:  g.Program.Name,
		Updated:  int32(len(instances) - len(behind)),
		Instance: instances[next].Name, Since: metav1.NewTime(now), LossPerMille: lossPerMille(&instances[next]),
	}}
}

// Others are the instances that are told to run another program.
func Others(instances []v1alpha1.ChainInstance, program string) (out []int) {
	for i := range instances {
		if instances[i].Spec.Program != program {
			out = append(out, i)
		}
	}
	return out
}

// watch looks at the instance that was brought to the goal last; busy: it is not done with it.
func watch(g Goal, instances []v1alpha1.ChainInstance, last *v1alpha1.RolloutStatus, now time.Time) (s Step, busy bool) {
	var i *v1alpha1.ChainInstance
	for k := range instances {
		if instances[k].Name == last.Instance {
			i = &instances[k]
		}
	}
	if i == nil || i.Spec.Program != g.Program.Name {
		return Step{}, false // gone, or not written after all
	}
	rollout := last.DeepCopy()
	if why := trouble(g, i, rollout, now); why != nil && !g.Proven {
		return Step{Refused: why, Rollout: rollout}, true
	}
	if !settled(i, g.Program.Spec.Hash, rollout) {
		left := deadline(g, i, rollout).Sub(now)
		if left <= 0 { // there is no pod; that there is one will be heard of
			left = g.deadline()
		}
		return Step{Rollout: rollout, Wait: left}, true
	}
	if rollout.AppliedTime.IsZero() {
		rollout.AppliedTime = metav1.NewTime(now)
	}
	if left := rollout.AppliedTime.Add(time.Duration(g.Policy.ObserveSeconds) * time.Second).Sub(now); left > 0 {
		return Step{Rollout: rollout, Wait: left}, true
	}
	return Step{}, false
}

// trouble tells why the program should be taken back; nil: nothing is wrong.
func trouble(g Goal, i *v1alpha1.ChainInstance, rollout *v1alpha1.RolloutStatus, now time.Time) *Refusal {
	say := func(reason, format string, args ...any) *Refusal {
		return &Refusal{reason, "instance " + i.Name + " " + fmt.Sprintf(format, args...)}
	}
	if c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionProgrammed); c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration >= i.Generation {
		switch {
		case c.Reason == v1alpha1.ReasonLoadFailed:
			return say(v1alpha1.ReasonLoadFailed, "could not load it: %s", c.Message)
		case c.Reason == v1alpha1.ReasonEngineDown && !rollout.AppliedTime.IsZero():
			return say(v1alpha1.ReasonEngineDown, "lost its engine while it ran the program: %s", c.Message)
		}
	}
	if !settled(i, g.Program.Spec.Hash, rollout) {
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
	if loss := lossPerMille(i); loss-rollout.LossPerMille > g.Policy.PauseOnDropsPercent*10 {
		return say(v1alpha1.ReasonDropsJumped, "lost %d.%d %% of its packets with the new program, %d.%d %% before",
			loss/10, loss%10, rollout.LossPerMille/10, rollout.LossPerMille%10)
	}
	return nil
}

// deadline is when an instance must run the program at the latest. Time without a pod does not count; one that ran
// the program has as much time again if it is not ready any more.
func deadline(g Goal, i *v1alpha1.ChainInstance, rollout *v1alpha1.RolloutStatus) time.Time {
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
	return c != nil && c.Status == metav1.ConditionTrue && i.Status.AppliedHash == hash &&
		(c.ObservedGeneration == i.Generation || !rollout.AppliedTime.IsZero())
}

// lossPerMille is the part of its packets that an instance lost of late.
func lossPerMille(i *v1alpha1.ChainInstance) int32 {
	if i.Status.PacketRate <= 0 {
		return 0
	}
	return int32(min(i.Status.LossRate*1000/i.Status.PacketRate, 1000))
}
