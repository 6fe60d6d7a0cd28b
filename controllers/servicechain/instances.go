package servicechain

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/words"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// rollOut makes the instances that are missing, takes away those that are too many, and
// brings the others to the program, one after the other.
func (r *Reconciler) rollOut(ctx context.Context, s *scope) error {
	if err := r.removeSurplus(ctx, s); err != nil || s.target == nil {
		return err
	}
	if err := r.ensureSecret(ctx, s); err != nil {
		return err
	}
	bindings, unbound := bind(s.chain, s.target)
	s.bindings = bindings
	if unbound != "" {
		s.verdicts.placed = &verdict{isFalse, v1alpha1.ReasonInterfaceUnbound, unbound}
	}
	want := func(i *v1alpha1.ChainInstance) v1alpha1.ChainInstanceSpec {
		if unbound != "" || s.verdicts.synthesized.status == isFalse {
			// The spec is not to be trusted: nothing but the program changes.
			spec := *i.Spec.DeepCopy()
			spec.Program = s.target.Name
			return spec
		}
		spec := specOf(s.chain, s.target, bindings, i.WorkingCores())
		if spec.Shared && i.Spec.Shared { // what is where is decided elsewhere
			spec.Groups, spec.Peers, spec.Front = owned(i.Spec.DeepCopy().Groups, int(spec.Cores)), i.Spec.Peers, i.Spec.Front
		}
		return spec
	}
	g := goal{program: s.target, want: want, proven: s.status.Program == s.target.Name, policy: s.chain.Spec.Rollout}
	next := advance(g, s.instances, s.status.Rollout, s.now)
	if len(next.write) > 0 && !next.back && s.status.Rollout == nil && r.handingOver(s) {
		next = step{} // one after the other
	}
	for _, k := range next.write {
		if err := r.writeInstance(ctx, s, &s.instances[k], want(&s.instances[k])); err != nil {
			return err
		}
	}
	if next.refused != nil {
		return r.refuse(ctx, s, next.refused)
	}
	if next.wait > 0 {
		s.soon(next.wait)
	}
	if unbound == "" {
		if err := r.createMissing(ctx, s, specOf(s.chain, s.target, bindings, 0)); err != nil {
			return err
		}
	}
	s.report(r, next.rollout)
	return nil
}

// report takes over where the rollout is now.
func (s *scope) report(r *Reconciler, rollout *v1alpha1.RolloutStatus) {
	before := s.status.Rollout
	s.status.Rollout = rollout
	switch {
	case rollout != nil && (before == nil || before.Program != rollout.Program) && s.status.Program != rollout.Program:
		r.event(s, s.target, normal, "RolloutStarted", "RollOut", "program %s is brought to %d instances, one after the other", rollout.Program, len(s.instances))
	case rollout == nil && len(s.instances) > 0 && len(others(s.instances, s.target.Name)) == 0:
		if s.status.Program != "" && s.status.Program != s.target.Name {
			r.event(s, s.target, normal, "RolloutCompleted", "RollOut", "all instances run program %s", s.target.Name)
		}
		s.status.Program = s.target.Name
	}
}

// refuse marks the program as one that is not to be tried again. The instances go back
// with the next reconcile, which the mark causes.
func (r *Reconciler) refuse(ctx context.Context, s *scope, why *refusal) error {
	p := s.target.DeepCopy()
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRefused, Status: isTrue, Reason: why.reason, Message: words.Message(why.message),
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
	p.Status.ObservedGeneration = p.Generation
	if err := apply.Status(ctx, r.Client, fieldManager, p); err != nil {
		return err
	}
	r.written.put(client.ObjectKeyFromObject(s.chain), p)
	r.event(s, p, warning, "ProgramRefused", "RollBack", "program %s is taken back: %s", p.Name, why.message)
	s.verdicts.programmed = &verdict{isFalse, v1alpha1.ReasonRolledBack, fmt.Sprintf("program %s is taken back: %s", p.Name, why.message)}
	s.status.Rollout = nil
	s.soon(time.Second)
	return nil
}

// specOf is what an instance of the chain should be of which so many cores work; 0: a new one.
// How many should work is decided elsewhere.
func specOf(c *v1alpha1.ServiceChain, p *v1alpha1.ChainProgram, bindings []v1alpha1.InterfaceBinding, working int) v1alpha1.ChainInstanceSpec {
	b := scaling.BoundsOf(&c.Spec.Scaling)
	if working == 0 {
		working = b.MinCores
	}
	spec := v1alpha1.ChainInstanceSpec{
		Chain: c.Name, Program: p.Name, Cores: int32(b.MaxCores),
		Shared:     c.Spec.Scaling.Shared(),
		Interfaces: bindings,
		Placement:  *c.Spec.Placement.DeepCopy(),
		Resources:  c.Spec.Resources,
	}
	if !spec.Shared { // the instance has state of its own: all shards
		spec.Groups = groupOf(dealt(0, 1), min(working, b.MaxCores))
	}
	return spec
}

// groupOf is the one group, with some shards and the first cores.
func groupOf(shards []v1alpha1.ShardRange, cores int) []v1alpha1.InstanceGroup {
	return []v1alpha1.InstanceGroup{{Name: shard.GroupAll, Shards: shards, Cores: first(cores)}}
}

func (r *Reconciler) createMissing(ctx context.Context, s *scope, spec v1alpha1.ChainInstanceSpec) error {
	wanted := int(s.chain.Spec.Scaling.Instances)
	isNew := len(s.instances) == 0
	for k, name := range s.missing(wanted) {
		if spec.Shared && isNew {
			spec.Groups, spec.Front = groupOf(dealt(k, wanted), scaling.BoundsOf(&s.chain.Spec.Scaling).MinCores), k == 0
		}
		i := v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Namespace: s.chain.Namespace, Name: name}}
		if err := r.writeInstance(ctx, s, &i, spec); err != nil {
			return err
		}
		s.instances = append(s.instances, i)
		r.event(s, &i, normal, "InstanceCreated", "Scale", "instance %s with program %s on %s", name, spec.Program, count(int(spec.Cores), "core"))
	}
	return nil
}

func (r *Reconciler) writeInstance(ctx context.Context, s *scope, i *v1alpha1.ChainInstance, spec v1alpha1.ChainInstanceSpec) error {
	// What was seen of an instance and decided by must still be so.
	head := metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Name, ResourceVersion: i.ResourceVersion, Labels: labels(s.chain), OwnerReferences: ownerOf(s.chain)}
	if err := apply.Object(ctx, r.Client, fieldManager, &v1alpha1.ChainInstance{ObjectMeta: head, Spec: spec}); err != nil {
		return err
	}
	if i.Spec.Program != "" && i.Spec.Program != spec.Program {
		r.event(s, i, normal, "InstanceUpdated", "RollOut", "instance %s goes from program %s to %s", i.Name, i.Spec.Program, spec.Program)
	}
	i.Spec = spec
	return nil
}

func (r *Reconciler) removeSurplus(ctx context.Context, s *scope) error {
	kept := s.instances[:0]
	for k := range s.instances {
		i := &s.instances[k]
		// Where state is shared, an instance gives it to others before it goes.
		if s.chain.Spec.Scaling.Shared() || index(s.chain.Name, i.Name) < int(s.chain.Spec.Scaling.Instances) {
			if i.DeletionTimestamp.IsZero() {
				kept = append(kept, *i)
			}
			continue
		}
		if !i.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.delete(ctx, i); err != nil {
			return err
		}
		r.event(s, i, normal, "InstanceRemoved", "Scale", "instance %s is one too many", i.Name)
	}
	s.instances = kept
	return nil
}

func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	uid := obj.GetUID()
	err := r.Client.Delete(ctx, obj, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", obj.GetName(), err)
	}
	return nil
}
