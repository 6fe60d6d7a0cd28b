// Package report says in a chain's status what was found and what its instances report.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/controllers/words"
)

// View is what is known of a chain in one reconcile, and what is to be said of it.
type View struct {
	fleet.Fleet
	Chain    *v1alpha1.ServiceChain
	Status   *v1alpha1.ServiceChainStatus // to be written; it starts as what was there
	Now      time.Time
	Programs []v1alpha1.ChainProgram // by revision
	Target   *v1alpha1.ChainProgram  // that instances are to run
	Chosen   bool                    // the target, or that there is none
	Found    ConditionStatuses
	// Capacities are what functions can do, where the chain says it.
	Capacities []scaling.Capacity
}

// Program finds a program of the chain by its name.
func (s *View) Program(name string) *v1alpha1.ChainProgram {
	for i := range s.Programs {
		if s.Programs[i].Name == name {
			return &s.Programs[i]
		}
	}
	return nil
}

// Summarize makes the status of what the phases found and the instances report.
func (s *View) Summarize() {
	st := s.Status
	st.ObservedGeneration = s.Chain.Generation
	s.sumUp()
	conditions := []struct {
		name string
		ConditionStatus
	}{
		{v1alpha1.ConditionSynthesized, s.synthesized()},
		{v1alpha1.ConditionPlaced, s.placed()},
		{v1alpha1.ConditionProgrammed, s.programmed()},
	}
	ready := ConditionStatus{isTrue, v1alpha1.ReasonForwarding, fmt.Sprintf("program %s runs on %s", st.Program, words.Count(len(s.Instances), "instance"))}
	for _, c := range conditions {
		pinned := c.name == v1alpha1.ConditionSynthesized && s.Chain.Spec.RollbackTo != ""
		if c.Status != isTrue && !pinned {
			ready = ConditionStatus{c.Status, c.Reason, c.Message}
			if ready.Status == isUnknown {
				ready.Status = isFalse
			}
			break
		}
	}
	if ready.Status == isTrue {
		if i := s.firstNotReady(); i != nil {
			ready = *i
		}
	}
	functions := s.functions(v1alpha1.ConditionFunctionsUp)
	if ready.Status == isTrue && functions != nil && functions.Reason == v1alpha1.ReasonFunctionDown {
		ready = *functions
	}
	s.set(v1alpha1.ConditionReady, ready)
	for _, c := range conditions {
		s.set(c.name, c.ConditionStatus)
	}
	s.set(v1alpha1.ConditionHardwareDispatch, s.dispatch())
	s.setOrRemove(v1alpha1.ConditionFunctionsRunning, s.functions(v1alpha1.ConditionFunctionsRunning))
	s.setOrRemove(v1alpha1.ConditionFunctionsUp, functions)
	s.setOrRemove(v1alpha1.ConditionFunctionsAsDeclared, s.functions(v1alpha1.ConditionFunctionsAsDeclared))
	scaled := s.unread(v1alpha1.ConditionScaled)
	if v := s.Found.Scaled; v != nil {
		scaled = *v
	}
	s.set(v1alpha1.ConditionScaled, scaled)
}

// setOrRemove: without a value the condition is not there.
func (s *View) setOrRemove(name string, v *ConditionStatus) {
	if v != nil {
		s.set(name, *v)
	} else {
		meta.RemoveStatusCondition(&s.Status.Conditions, name)
	}
}

func (s *View) set(name string, v ConditionStatus) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: name, Status: v.Status, Reason: v.Reason, Message: words.Message(v.Message),
		ObservedGeneration: s.Chain.Generation, LastTransitionTime: metav1.NewTime(s.Now),
	})
}

func (s *View) synthesized() ConditionStatus {
	if v := s.Found.Synthesized; v != nil {
		if v.Status != isTrue && s.Status.Program != "" {
			v.Message += "; program " + s.Status.Program + " keeps running"
		}
		return *v
	}
	return s.unread(v1alpha1.ConditionSynthesized)
}

// unread is the condition as it was: what it is about could not be read this time.
func (s *View) unread(name string) ConditionStatus {
	if c := meta.FindStatusCondition(s.Chain.Status.Conditions, name); c != nil {
		return ConditionStatus{c.Status, c.Reason, c.Message}
	}
	return ConditionStatus{isUnknown, v1alpha1.ReasonNotReported, "not checked yet"}
}

// placed is the first instance's word that is not good.
func (s *View) placed() ConditionStatus {
	if v := s.Found.Placed; v != nil {
		return *v
	}
	if !s.Chosen {
		return s.unread(v1alpha1.ConditionPlaced)
	}
	if s.Target == nil {
		return ConditionStatus{isUnknown, v1alpha1.ReasonNoProgram, "there is no program to place"}
	}
	needed := s.needed()
	for _, i := range needed {
		if v := s.instanceSays(i, v1alpha1.ConditionPlaced, v1alpha1.ReasonWaitingForPods, "its pod is being created"); v.Status != isTrue {
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
	return ConditionStatus{isTrue, v1alpha1.ReasonPlaced, strings.Join(nodes, ", ")}
}

// programmed is what keeps the wanted program from being in force everywhere.
func (s *View) programmed() ConditionStatus {
	if v := s.Found.Programmed; v != nil && v.Status != isTrue {
		return *v
	}
	if s.Target == nil {
		return s.unread(v1alpha1.ConditionProgrammed)
	}
	var waits *ConditionStatus
	needed := s.needed()
	for _, i := range needed {
		c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionProgrammed)
		if c == nil || c.Status != isFalse || c.ObservedGeneration < i.Generation {
			continue
		}
		v := ConditionStatus{isFalse, c.Reason, i.Name + ": " + c.Message}
		if why := s.failed(i); why != nil && c.Reason != v1alpha1.ReasonLoadFailed {
			return *why
		}
		if c.Reason == v1alpha1.ReasonLoadFailed || c.Reason == v1alpha1.ReasonEngineDown {
			return v
		}
		if waits == nil {
			waits = &v
		}
	}
	if ro := s.Status.Rollout; ro != nil && s.Status.Program != ro.Program {
		for _, i := range needed {
			if why := s.failed(i); why != nil && i.Name == ro.Instance {
				return *why
			}
		}
		return ConditionStatus{isFalse, v1alpha1.ReasonRollingOut, fmt.Sprintf("program %s: instance %s is being updated; then %d of %d run it", ro.Program, ro.Instance, ro.Updated+1, len(s.Instances))}
	}
	if waits != nil {
		return *waits
	}
	for _, i := range needed {
		if p := s.Program(i.Spec.Program); p == nil || i.Status.AppliedHash != p.Spec.Hash {
			if why := s.failed(i); why != nil {
				return *why
			}
			return ConditionStatus{isFalse, v1alpha1.ReasonNotReported, i.Name + ": has not reported that it runs program " + i.Spec.Program}
		}
	}
	if v := s.Found.Programmed; v != nil {
		return *v
	}
	return ConditionStatus{isTrue, v1alpha1.ReasonApplied, fmt.Sprintf("program %s runs on %s", s.Target.Name, words.Count(len(s.Instances), "instance"))}
}

// needed are the instances that the chain does not forward without: not those that have no shards yet, or none any more.
func (s *View) needed() (list []*v1alpha1.ChainInstance) {
	for k := range s.Instances {
		if i := &s.Instances[k]; !i.Spec.Shared || len(i.Spec.Groups) > 0 {
			list = append(list, i)
		}
	}
	return list
}

func (s *View) firstNotReady() *ConditionStatus {
	for _, i := range s.needed() {
		if v := s.instanceSays(i, v1alpha1.ConditionReady, v1alpha1.ReasonPodNotReady, "is not ready yet"); v.Status != isTrue {
			v.Status = isFalse
			return &v
		}
	}
	return nil
}

// dispatch is how packets really come to cores. Interfaces of which the same is said are named together: a chain
// whose instances are alike says it once.
func (s *View) dispatch() ConditionStatus {
	var says []string
	interfaces := map[string][]string{} // by what is said of them
	software := false
	for i := range s.Instances {
		for _, d := range s.Instances[i].Status.Dispatch {
			software = software || d.Dispatcher == v1alpha1.DispatcherSoftware
			text := cmp.Or(d.Reason, string(d.Dispatcher))
			if interfaces[text] == nil {
				says = append(says, text)
			}
			interfaces[text] = append(interfaces[text], fmt.Sprintf("%s/%s", s.Instances[i].Name, d.Interface))
		}
	}
	for k, text := range says {
		says[k] = strings.Join(interfaces[text], ", ") + ": " + text
	}
	switch {
	case len(says) == 0:
		return ConditionStatus{isUnknown, v1alpha1.ReasonNotReported, "no instance has reported yet"}
	case software:
		return ConditionStatus{isFalse, v1alpha1.ReasonSoftwareDispatch, strings.Join(says, "; ")}
	}
	return ConditionStatus{isTrue, v1alpha1.ReasonInForce, strings.Join(says, "; ")}
}

// judged is an instance's condition Placed or Ready, nil if it is not about what is wanted now.
// Such a condition outlives a change of the working cores, and nothing else is changed of an
// instance unless a program is being brought to it.
func (s *View) judged(i *v1alpha1.ChainInstance, name string) *metav1.Condition {
	c := meta.FindStatusCondition(i.Status.Conditions, name)
	ro := s.Status.Rollout
	changed := ro != nil && ro.Instance == i.Name && ro.AppliedTime.IsZero()
	if c == nil || changed && c.ObservedGeneration < i.Generation {
		return nil
	}
	return c
}

// IsReady tells whether an instance takes packets with the wanted program.
func (s *View) IsReady(i *v1alpha1.ChainInstance) bool {
	c := s.judged(i, v1alpha1.ConditionReady)
	return c != nil && c.Status == isTrue
}

// causes are the reasons of an instance for which its agent cannot report.
var causes = []string{v1alpha1.ReasonContainerFailed, v1alpha1.ReasonAgentNotReady, v1alpha1.ReasonClockSkew}

// failed is the cause for which an agent cannot report, be it that a container of its pod does not run; nil: no such cause is known.
func (s *View) failed(i *v1alpha1.ChainInstance) *ConditionStatus {
	c := s.judged(i, v1alpha1.ConditionReady)
	if c == nil || !slices.Contains(causes, c.Reason) {
		return nil
	}
	return &ConditionStatus{c.Status, c.Reason, i.Name + ": " + c.Message}
}

// instanceSays is an instance's condition as the chain tells it.
func (s *View) instanceSays(i *v1alpha1.ChainInstance, name, reason, message string) ConditionStatus {
	c := s.judged(i, name)
	if c == nil {
		return ConditionStatus{isFalse, reason, i.Name + ": " + message}
	}
	return ConditionStatus{c.Status, c.Reason, i.Name + ": " + c.Message}
}

// sumUp adds up what the instances report.
func (s *View) sumUp() {
	var packets, drops int64
	s.Status.Cores, s.Status.Instances, s.Status.Front = 0, 0, ""
	for i := range s.Instances {
		instance := &s.Instances[i]
		s.Status.Cores += instance.Spec.Cores
		packets += instance.Status.PacketRate
		drops += instance.Status.DropRate
		if instance.Spec.Shared && instance.Spec.Front {
			s.Status.Front = instance.Name
		}
		if meta.IsStatusConditionTrue(instance.Status.Conditions, v1alpha1.ConditionReady) {
			s.Status.Instances++
		}
	}
	s.Status.DesiredInstances = s.Desired()
	s.Status.Selector = labels.SelectorFromSet(labels.Set{v1alpha1.LabelChain: s.Chain.Name, v1alpha1.LabelComponent: v1alpha1.ComponentDataPlane}).String()
	if p := s.Program(s.Status.Program); p != nil {
		s.Status.Classes = p.Spec.Classes
		s.Status.StateMemory = resource.Quantity{}
		if mib := int64(p.Spec.StateMemoryMiB); mib > 0 {
			s.Status.StateMemory = *resource.NewQuantity(mib<<20, resource.BinarySI)
		}
	}
	s.Status.PacketRate = steady(s.Chain.Status.PacketRate, packets)
	s.Status.DropRate = steady(s.Chain.Status.DropRate, drops)
	s.Status.Functions = s.blackboxes()
	s.Status.Mpps = fmt.Sprintf("%.2f", float64(s.Status.PacketRate)/1e6)
}

// Desired is the number of instances that there should be.
func (s *View) Desired() int32 {
	n := s.Chain.Spec.Scaling.Instances
	if s.Chain.Spec.Scaling.Shared() { // the load decides
		n = max(n, int32(len(s.Instances)))
	}
	return n
}

// steady keeps a rate as it was said unless it differs by more than a tenth: a status
// that follows every report would be written all the time.
func steady(said, now int64) int64 {
	if diff := max(said, now) - min(said, now); said > 0 && now > 0 && diff*10 <= max(said, now) {
		return said
	}
	return now
}
