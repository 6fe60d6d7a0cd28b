package servicechain

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
)

// A phase is a part of a reconcile. It runs unless one that it needs has failed.
type phase struct {
	name  string
	run   func(context.Context, *scope) error
	needs []string
}

// phases are in the order in which they run. What does not need a phase goes on without it: as long as a disruption budget cannot be written,
// say, programs are rolled out all the same, and cores are added under load.
func (r *Reconciler) phases() []phase {
	return []phase{
		{"read", r.readObjects, nil},
		{"synthesize", r.synthesize, []string{"read"}},
		{"program", r.ensureProgram, []string{"synthesize"}},
		{"choose", r.chooseProgram, []string{"program"}},
		{"access", r.ensureAccess, []string{"program"}}, // to that program, too
		{"budget", r.ensureBudget, []string{"read"}},
		{"isolate", r.ensureIsolation, []string{"read"}},
		{"readers", r.ensureReaders, []string{"read"}},
		{"roll out", r.rollOut, []string{"choose", "access"}}, // an agent that may not read a program would have it rolled back
		{"scale", r.scale, []string{"read"}},
		{"prune", r.pruneHistory, []string{"choose"}},
	}
}

// runPhases runs all phases that can be run, and returns the errors of all that failed.
func (r *Reconciler) runPhases(ctx context.Context, s *scope) error {
	failed := sets.New[string]()
	var errs []error
	for _, p := range r.phases() {
		if failed.HasAny(p.needs...) {
			failed.Insert(p.name)
			continue
		}
		err := p.run(ctx, s)
		var taken *takenError
		switch {
		case err == nil:
			continue
		case apierrors.IsConflict(err):
			s.soon(0) // the cache is behind, so that nothing more is decided by what it shows
			return errors.Join(errs...)
		case errors.Is(err, errPending):
		case errors.As(err, &taken):
			s.Found.Placed = report.False(v1alpha1.ReasonNameTaken, taken.Error())
			s.soon(lookAgain) // nobody tells when it goes
		default:
			errs = append(errs, err)
		}
		failed.Insert(p.name)
	}
	return errors.Join(errs...)
}
