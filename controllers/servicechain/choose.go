package servicechain

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
)

// chooseProgram decides which program the instances should run: the one that the user
// pinned, else the newest that is not known to be bad, else the one in force.
func (r *Reconciler) chooseProgram(_ context.Context, s *scope) error {
	var why *report.ConditionStatus
	s.Target, why = choose(s)
	s.Found.Programmed, s.Chosen = why, true
	return nil
}

// choose also says what keeps the newest program from being the one; nil: nothing.
func choose(s *scope) (*v1alpha1.ChainProgram, *report.ConditionStatus) {
	inForce := s.inForce()
	if pin := s.Chain.Spec.RollbackTo; pin != "" {
		if p := s.Program(pin); p != nil {
			if c := refused(p, inForce); c != nil {
				return inForce, report.False(v1alpha1.ReasonRolledBack, fmt.Sprintf(
					"spec.rollbackTo: program %s was rolled back, %s keeps running: %s; remove the field, or name another program", pin, inForce.Name, c.Message))
			}
			return p, report.True(v1alpha1.ReasonPinned, fmt.Sprintf("spec.rollbackTo pins the chain to program %s; remove the field to run what the rest of the spec says", pin))
		}
		return inForce, report.False(v1alpha1.ReasonUnknownPin, fmt.Sprintf("spec.rollbackTo: %q: is no program of this chain; it has %s", pin, s.programNames()))
	}
	newest := s.Program(s.newest)
	switch {
	case newest == nil && inForce == nil:
		return nil, report.False(v1alpha1.ReasonNoProgram, "no program has been compiled yet")
	case newest == nil:
		return inForce, nil // Synthesized says why
	}
	if c := refused(newest, inForce); c != nil {
		return inForce, report.False(v1alpha1.ReasonRolledBack, fmt.Sprintf(
			"program %s was rolled back, %s runs again: %s; delete ChainProgram %s to try it again", newest.Name, inForce.Name, c.Message, newest.Name))
	}
	return newest, nil
}

// refused is the condition by which a program is not to be tried again; nil: it is good, or there is no other to go back to.
func refused(p, inForce *v1alpha1.ChainProgram) *metav1.Condition {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRefused)
	if c == nil || c.Status != metav1.ConditionTrue || inForce == nil || inForce.Name == p.Name {
		return nil
	}
	return c
}

// inForce is the program that was last brought to all instances; should the status be
// lost, the one that the first instance is told to run.
func (s *scope) inForce() *v1alpha1.ChainProgram {
	if p := s.Program(s.Chain.Status.Program); p != nil {
		return p
	}
	for i := range s.Instances {
		if p := s.Program(s.Instances[i].Spec.Program); p != nil {
			return p
		}
	}
	return nil
}

func (s *scope) programNames() string {
	if len(s.Programs) == 0 {
		return "none"
	}
	names := make([]string, len(s.Programs))
	for i, p := range s.Programs {
		names[len(names)-1-i] = p.Name
	}
	return fmt.Sprint(slices.Clip(names))
}

// history is how many programs are kept that nothing uses.
const history = 5

// pruneHistory deletes the oldest programs that are in no use.
func (r *Reconciler) pruneHistory(ctx context.Context, s *scope) error {
	used := map[string]bool{s.newest: true, s.Status.Program: true, s.Chain.Spec.RollbackTo: true}
	if s.Target != nil {
		used[s.Target.Name] = true
	}
	for i := range s.Instances {
		used[s.Instances[i].Spec.Program] = true
	}
	var idle []*v1alpha1.ChainProgram
	for i := range s.Programs {
		if !used[s.Programs[i].Name] {
			idle = append(idle, &s.Programs[i])
		}
	}
	for _, p := range idle[:max(0, len(idle)-history)] {
		if err := r.delete(ctx, p); err != nil {
			return err
		}
		r.event(s, p, normal, "ProgramDeleted", "Prune", "program %s, revision %d, is older than the %d that are kept", p.Name, p.Spec.Revision, history)
	}
	return nil
}
