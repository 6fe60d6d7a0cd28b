package servicechain

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/words"
)

type condition = metav1.ConditionStatus

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown

	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)

// updateStatus says what was seen, if it is not what was said before. All conditions
// are always there. Each change of one is an event.
func (r *Reconciler) updateStatus(ctx context.Context, s *scope) error {
	if !s.read {
		return nil // nothing was seen; what was said before may still be true
	}
	s.summarize()
	key := client.ObjectKeyFromObject(s.chain)
	s.status.LostSessions = r.losses.total(key, s.chain.Status.LostSessions, s.lost)
	if equality.Semantic.DeepEqual(&s.chain.Status, s.status) {
		r.losses.said(key, s.lost)
		return nil
	}
	next := s.chain.DeepCopy()
	next.Status = *s.status
	if err := apply.Status(ctx, r.Client, fieldManager, next); err != nil {
		return err
	}
	r.written.put(key, next)
	r.losses.said(key, s.lost)
	for _, c := range s.status.Conditions {
		before := meta.FindStatusCondition(s.chain.Status.Conditions, c.Type)
		if before != nil && before.Status == c.Status && before.Reason == c.Reason && (c.Type != v1alpha1.ConditionSynthesized || before.Message == c.Message) {
			continue
		}
		if before == nil && c.Status == isUnknown {
			continue // nothing is known, as before
		}
		kind := warning
		if c.Status == isTrue || c.Reason == v1alpha1.ReasonRollingOut || c.Reason == v1alpha1.ReasonWaitingForPods {
			kind = normal
		}
		r.event(s, nil, kind, c.Reason, c.Type, "%s is %s: %s", c.Type, c.Status, c.Message)
	}
	if n := s.status.LostSessions - s.chain.Status.LostSessions; n > 0 {
		r.event(s, nil, warning, "SessionsLost", "Report", "%d sessions ended with an engine that died or a pod that was replaced", n)
	}
	return nil
}

// event tells a decision about the chain.
func (r *Reconciler) event(s *scope, related runtime.Object, kind, reason, action, format string, args ...any) {
	words.Event(r.Recorder, s.chain, related, kind, reason, action, format, args...)
}

// summarize makes the status of what the phases found and the instances report.
func (s *scope) summarize() {
	st := s.status
	st.ObservedGeneration = s.chain.Generation
	s.sumUp()
	conditions := []struct {
		name string
		verdict
	}{
		{v1alpha1.ConditionSynthesized, s.synthesized()},
		{v1alpha1.ConditionPlaced, s.placed()},
		{v1alpha1.ConditionProgrammed, s.programmed()},
	}
	ready := verdict{isTrue, v1alpha1.ReasonForwarding, fmt.Sprintf("program %s runs on %s", st.Program, count(len(s.instances), "instance"))}
	for _, c := range conditions {
		pinned := c.name == v1alpha1.ConditionSynthesized && s.chain.Spec.RollbackTo != ""
		if c.status != isTrue && !pinned {
			ready = verdict{c.status, c.reason, c.message}
			if ready.status == isUnknown {
				ready.status = isFalse
			}
			break
		}
	}
	if ready.status == isTrue {
		if i := s.firstNotReady(); i != nil {
			ready = *i
		}
	}
	s.set(v1alpha1.ConditionReady, ready)
	for _, c := range conditions {
		s.set(c.name, c.verdict)
	}
	s.set(v1alpha1.ConditionHardwareDispatch, s.dispatch())
	scaled := s.unread(v1alpha1.ConditionScaled)
	if v := s.verdicts.scaled; v != nil {
		scaled = *v
	}
	s.set(v1alpha1.ConditionScaled, scaled)
}

func (s *scope) set(name string, v verdict) {
	meta.SetStatusCondition(&s.status.Conditions, metav1.Condition{
		Type: name, Status: v.status, Reason: v.reason, Message: words.Message(v.message),
		ObservedGeneration: s.chain.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
}

func (s *scope) synthesized() verdict {
	if v := s.verdicts.synthesized; v != nil {
		if v.status == isFalse && s.status.Program != "" {
			v.message += "; program " + s.status.Program + " runs on"
		}
		return *v
	}
	return s.unread(v1alpha1.ConditionSynthesized)
}

// unread is the condition as it was: what it is about could not be read this time.
func (s *scope) unread(name string) verdict {
	if c := meta.FindStatusCondition(s.chain.Status.Conditions, name); c != nil {
		return verdict{c.Status, c.Reason, c.Message}
	}
	return verdict{isUnknown, v1alpha1.ReasonNotReported, "not looked at yet"}
}

// placed is the first instance's word that is not good.
func (s *scope) placed() verdict {
	if v := s.verdicts.placed; v != nil {
		return *v
	}
	if !s.chosen {
		return s.unread(v1alpha1.ConditionPlaced)
	}
	if s.target == nil {
		return verdict{isUnknown, v1alpha1.ReasonNoProgram, "there is no program to place"}
	}
	needed := s.needed()
	for _, i := range needed {
		if v := s.instanceSays(i, v1alpha1.ConditionPlaced, v1alpha1.ReasonWaitingForPods, "its pod is being made"); v.status != isTrue {
			return v
		}
	}
	nodes := make([]string, 0, len(needed))
	for _, i := range needed {
		text := i.Name
		if node := i.Status.Node; node != "" { // else its agent has not reported yet
			text += " on " + node
		}
		nodes = append(nodes, text)
	}
	return verdict{isTrue, v1alpha1.ReasonPlaced, strings.Join(nodes, ", ")}
}

// programmed is what keeps the wanted program from being in force everywhere.
func (s *scope) programmed() verdict {
	if v := s.verdicts.programmed; v != nil && v.status != isTrue {
		return *v
	}
	if s.target == nil {
		return s.unread(v1alpha1.ConditionProgrammed)
	}
	var waits *verdict
	needed := s.needed()
	for _, i := range needed {
		c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionProgrammed)
		if c == nil || c.Status != isFalse || c.ObservedGeneration < i.Generation {
			continue
		}
		v := verdict{isFalse, c.Reason, i.Name + ": " + c.Message}
		if c.Reason == v1alpha1.ReasonLoadFailed || c.Reason == v1alpha1.ReasonEngineDown {
			return v
		}
		if waits == nil {
			waits = &v
		}
	}
	if ro := s.status.Rollout; ro != nil && s.status.Program != ro.Program {
		return verdict{isFalse, v1alpha1.ReasonRollingOut, fmt.Sprintf("program %s: instance %s is brought to it; then %d of %d run it", ro.Program, ro.Instance, ro.Updated+1, len(s.instances))}
	}
	if waits != nil {
		return *waits
	}
	for _, i := range needed {
		if p := s.program(i.Spec.Program); p == nil || i.Status.AppliedHash != p.Spec.Hash {
			return verdict{isFalse, v1alpha1.ReasonNotReported, i.Name + ": has not reported to run program " + i.Spec.Program}
		}
	}
	if v := s.verdicts.programmed; v != nil {
		return *v
	}
	return verdict{isTrue, v1alpha1.ReasonApplied, fmt.Sprintf("program %s is in force on %s", s.target.Name, count(len(s.instances), "instance"))}
}

// count is a number of things in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// needed are the instances that the chain does not forward without: not those that have no shards yet, or none any more.
func (s *scope) needed() (list []*v1alpha1.ChainInstance) {
	for k := range s.instances {
		if i := &s.instances[k]; !i.Spec.Shared || len(i.Spec.Groups) > 0 {
			list = append(list, i)
		}
	}
	return list
}

func (s *scope) firstNotReady() *verdict {
	for _, i := range s.needed() {
		if v := s.instanceSays(i, v1alpha1.ConditionReady, v1alpha1.ReasonPodNotReady, "is not ready yet"); v.status != isTrue {
			v.status = isFalse
			return &v
		}
	}
	return nil
}

// dispatch is how packets really come to cores.
func (s *scope) dispatch() verdict {
	var says []string
	software := false
	for i := range s.instances {
		for _, d := range s.instances[i].Status.Dispatch {
			software = software || d.Dispatcher == v1alpha1.DispatcherSoftware
			says = append(says, fmt.Sprintf("%s/%s: %s", s.instances[i].Name, d.Interface, cmp.Or(d.Reason, string(d.Dispatcher))))
		}
	}
	switch {
	case len(says) == 0:
		return verdict{isUnknown, v1alpha1.ReasonNotReported, "no instance has reported yet"}
	case software:
		return verdict{isFalse, v1alpha1.ReasonSoftwareDispatch, strings.Join(says, "; ")}
	}
	return verdict{isTrue, v1alpha1.ReasonInForce, strings.Join(says, "; ")}
}

// judged is an instance's condition Placed or Ready, nil if it is not about what is wanted now.
// Such a condition outlives a change of the working cores, and nothing else is changed of an
// instance unless a program is being brought to it.
func (s *scope) judged(i *v1alpha1.ChainInstance, name string) *metav1.Condition {
	c := meta.FindStatusCondition(i.Status.Conditions, name)
	ro := s.status.Rollout
	changed := ro != nil && ro.Instance == i.Name && ro.AppliedTime.IsZero()
	if c == nil || changed && c.ObservedGeneration < i.Generation {
		return nil
	}
	return c
}

// isReady tells whether an instance takes packets with the wanted program.
func (s *scope) isReady(i *v1alpha1.ChainInstance) bool {
	c := s.judged(i, v1alpha1.ConditionReady)
	return c != nil && c.Status == isTrue
}

// instanceSays is an instance's condition as the chain tells it.
func (s *scope) instanceSays(i *v1alpha1.ChainInstance, name, reason, message string) verdict {
	c := s.judged(i, name)
	if c == nil {
		return verdict{isFalse, reason, i.Name + ": " + message}
	}
	return verdict{c.Status, c.Reason, i.Name + ": " + c.Message}
}

// sumUp adds up what the instances report.
func (s *scope) sumUp() {
	var packets, drops int64
	s.status.Cores, s.status.Instances, s.status.Front = 0, 0, ""
	for i := range s.instances {
		instance := &s.instances[i]
		s.status.Cores += instance.Spec.Cores
		packets += instance.Status.PacketRate
		drops += instance.Status.DropRate
		if instance.Spec.Shared && instance.Spec.Front {
			s.status.Front = instance.Name
		}
		if meta.IsStatusConditionTrue(instance.Status.Conditions, v1alpha1.ConditionReady) {
			s.status.Instances++
		}
	}
	if p := s.program(s.status.Program); p != nil {
		s.status.Classes = p.Spec.Classes
	}
	s.status.Groups = groupPlaces(s.chain.Status.Groups, s.instances)
	s.status.PacketRate = steady(s.chain.Status.PacketRate, packets)
	s.status.DropRate = steady(s.chain.Status.DropRate, drops)
	s.status.Mpps = fmt.Sprintf("%.2f", float64(s.status.PacketRate)/1e6)
}

// steady keeps a rate as it was said unless it differs by more than a tenth: a status
// that follows every report would be written all the time.
func steady(said, now int64) int64 {
	if diff := max(said, now) - min(said, now); said > 0 && now > 0 && diff*10 <= max(said, now) {
		return said
	}
	return now
}
