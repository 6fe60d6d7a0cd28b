package servicechain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
	"github.com/sinter-nfv/sinter/controllers/servicechain/rollout"
	"github.com/sinter-nfv/sinter/controllers/words"
)

// rollOut makes the instances that are missing, takes away those that are too many, and
// brings the others to the program, one after the other.
func (r *Reconciler) rollOut(ctx context.Context, s *scope) error {
	if err := r.removeSurplus(ctx, s); err != nil || s.Target == nil {
		return err
	}
	if err := r.ensureSecret(ctx, s); err != nil {
		return err
	}
	functions, unbound := desired.Functions(s.Chain, s.sources.Functions, s.Target, r.Policy.Allows)
	var bindings []v1alpha1.InterfaceBinding
	if unbound == "" {
		bindings, unbound = desired.Bind(s.Chain, s.Target, functions)
	}
	s.bindings, s.containers = bindings, functions
	if unbound != "" {
		s.Found.Placed = report.False(v1alpha1.ReasonInterfaceUnbound, unbound)
	}
	want := func(i *v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec {
		if unbound != "" || s.Found.Synthesized.Status == metav1.ConditionFalse {
			// The spec is not to be trusted: nothing but the program changes.
			spec := *i.Spec.DeepCopy()
			spec.Program = s.Target.Name
			return spec
		}
		spec := r.instance(s, i.WorkingCores())
		if spec.Shared && i.Spec.Shared { // what is where is decided elsewhere
			spec.Groups, spec.Peers, spec.Front = desired.Owned(i.Spec.DeepCopy().Groups, int(spec.Cores)), i.Spec.Peers, i.Spec.Front
		}
		if has := i.Spec.Resources.Memory; s.Chain.Spec.Resources.Memory.IsZero() && has.Cmp(spec.Resources.Memory) > 0 {
			spec.Resources.Memory = has // a program that needs less, as on a way back, is no reason for another pod
		}
		return spec
	}
	g := rollout.Goal{Program: s.Target, Want: want, Proven: s.Status.Program == s.Target.Name, Policy: s.Chain.Spec.Rollout}
	next := rollout.Advance(g, s.Instances, s.Status.Rollout, s.Now)
	if len(next.Write) > 0 && !next.Back && s.Status.Rollout == nil && r.handingOver(s) {
		next = rollout.Step{} // one after the other
	}
	for _, k := range next.Write {
		if err := r.writeInstance(ctx, s, &s.Instances[k], want(&s.Instances[k])); err != nil {
			return err
		}
	}
	if next.Refused != nil {
		return r.refuse(ctx, s, next.Refused)
	}
	if next.Wait > 0 {
		s.soon(next.Wait)
	}
	if unbound == "" {
		if err := r.createMissing(ctx, s, r.instance(s, 0)); err != nil {
			return err
		}
	}
	s.report(r, next.Rollout)
	return nil
}

// instance is what an instance of the chain should be of which so many cores work; 0: a new one.
func (r *Reconciler) instance(s *scope, working int) v1alpha1.ChainInstanceSpec {
	spec := desired.Instance(s.Chain, s.Target, s.bindings, s.containers, working)
	spec.MetricsReaders = r.readers()
	return spec
}

// report takes over where the rollout is now.
func (s *scope) report(r *Reconciler, now *v1alpha1.RolloutStatus) {
	before := s.Status.Rollout
	s.Status.Rollout = now
	switch {
	case now != nil && (before == nil || before.Program != now.Program) && s.Status.Program != now.Program:
		r.event(s, s.Target, normal, "RolloutStarted", "RollOut", "program %s is rolled out to %d instances, one after the other", now.Program, len(s.Instances))
	case now == nil && len(s.Instances) > 0 && len(rollout.Others(s.Instances, s.Target.Name)) == 0:
		if s.Status.Program != "" && s.Status.Program != s.Target.Name {
			r.event(s, s.Target, normal, "RolloutCompleted", "RollOut", "all instances run program %s", s.Target.Name)
		}
		s.Status.Program = s.Target.Name
	}
}

// refuse marks the program as one that is not to be tried again. The instances go back
// with the next reconcile, which the mark causes.
func (r *Reconciler) refuse(ctx context.Context, s *scope, why *rollout.Refusal) error {
	p := s.Target.DeepCopy()
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRefused, Status: metav1.ConditionTrue, Reason: why.Reason, Message: words.Message(why.Message),
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(s.Now),
	})
	p.Status.ObservedGeneration = p.Generation
	o := configuration.ChainProgram(p.Name, p.Namespace).WithUID(p.UID).WithStatus(configuration.Status().
		WithObservedGeneration(p.Status.ObservedGeneration).WithConditions(apply.Conditions(p.Status.Conditions)...))
	if err := apply.Status(ctx, r.Client, fieldManager, o); err != nil {
		return err
	}
	p.ResourceVersion = *o.ResourceVersion
	r.written.Put(client.ObjectKeyFromObject(s.Chain), p)
	r.event(s, p, warning, "ProgramRefused", "RollBack", "program %s is rolled back: %s", p.Name, why.Message)
	s.Found.Programmed = report.False(v1alpha1.ReasonRolledBack, fmt.Sprintf("program %s is rolled back: %s", p.Name, why.Message))
	s.Status.Rollout = nil
	s.soon(time.Second)
	return nil
}

func (r *Reconciler) createMissing(ctx context.Context, s *scope, spec v1alpha1.ChainInstanceSpec) error {
	wanted := int(s.Chain.Spec.Scaling.Instances)
	isNew := len(s.Instances) == 0
	for k, name := range s.Missing(s.Chain.Name, wanted) {
		if spec.Shared && isNew {
			spec.Groups, spec.Front = desired.Groups(desired.Dealt(k, wanted), scaling.BoundsOf(&s.Chain.Spec.Scaling).MinCores), k == 0
		}
		i := v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Namespace: s.Chain.Namespace, Name: name}}
		if err := r.writeInstance(ctx, s, &i, spec); err != nil {
			return err
		}
		s.Instances = append(s.Instances, i)
		r.event(s, &i, normal, "InstanceCreated", "Scale", "instance %s with program %s on %s", name, spec.Program, words.Count(int(spec.Cores), "core"))
	}
	return nil
}

func (r *Reconciler) writeInstance(ctx context.Context, s *scope, i *v1alpha1.ChainInstance, spec v1alpha1.ChainInstanceSpec) error {
	fields, err := apply.From[configuration.ChainInstanceSpecApplyConfiguration](spec)
	if err != nil {
		return err
	}
	o := configuration.ChainInstance(i.Name, i.Namespace).WithLabels(desired.Labels(s.Chain)).WithOwnerReferences(desired.Owns(s.Chain)).WithSpec(fields)
	if i.ResourceVersion != "" { // the decision holds only for the version that it was made from
		o.WithResourceVersion(i.ResourceVersion)
	}
	if err := apply.Object(ctx, r.Client, fieldManager, o); err != nil {
		return err
	}
	if i.Spec.Program != "" && i.Spec.Program != spec.Program {
		r.event(s, i, normal, "InstanceUpdated", "RollOut", "instance %s changes from program %s to %s", i.Name, i.Spec.Program, spec.Program)
	}
	i.Spec = spec
	return nil
}

func (r *Reconciler) removeSurplus(ctx context.Context, s *scope) error {
	kept := s.Instances[:0:0]
	var errs []error
	for k := range s.Instances {
		i := &s.Instances[k]
		// Where state is shared, an instance gives it to others before it goes.
		wanted := s.Chain.Spec.Scaling.Shared() || desired.Index(s.Chain.Name, i.Name) < int(s.Chain.Spec.Scaling.Instances)
		switch going := !i.DeletionTimestamp.IsZero(); {
		case wanted && !going:
			kept = append(kept, *i)
		case !going:
			err := r.delete(ctx, i)
			if err == nil {
				r.event(s, i, normal, "InstanceRemoved", "Scale", "instance %s is no longer needed", i.Name)
			}
			errs = append(errs, err)
		}
	}
	s.Instances = kept
	return errors.Join(errs...)
}

func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	uid := obj.GetUID()
	err := r.Client.Delete(ctx, obj, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", obj.GetName(), err)
	}
	return nil
}
