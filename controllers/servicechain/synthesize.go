package servicechain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/servicechain/memory"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
	"github.com/sinter-nfv/sinter/controllers/source"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

// errPending says that the chain is not compiled yet. It is reconciled again when it is.
var errPending = errors.New("the chain is not compiled yet")

// patience is how long a status stays as it is while its chain is compiled. Then it says that it is, if it is about an older spec.
const patience = 3 * time.Second

// compile compiles the chain, or remembers how it did. A worker does not wait for it: chains that take long, or wait for their turn, keep none from
// others.
func (r *Reconciler) compile(ctx context.Context, s *scope) (compile.Outcome, error) {
	key, version := client.ObjectKeyFromObject(s.Chain), s.sources.Version(s.Chain)
	if o, ok := r.compiled.Get(key, version, s.Now); ok {
		return o, nil
	}
	if err := r.compiled.Failed(key); err != nil {
		return compile.Outcome{}, err
	}
	since, begins := r.compiled.Begin(key, s.Now)
	switch {
	case begins && r.beside == nil:
		r.finish(ctx, s.sources, s.Chain, version)
		return r.compile(ctx, s)
	case begins:
		chain := s.Chain.DeepCopy()
		go func() {
			r.finish(ctx, s.sources, chain, version)
			select {
			case r.beside <- event.GenericEvent{Object: chain}:
			case <-ctx.Done():
			}
		}()
	}
	if o, ok := r.compiled.Last(key, version); ok {
		return o, nil // a store is asked again; until it answers, that is how it is
	}
	s.waits = since
	left := since.Add(patience).Sub(s.Now)
	switch {
	case s.Chain.Status.ObservedGeneration == s.Chain.Generation: // the operator has just started, or what the chain refers to has changed
	case left > 0:
		s.soon(left)
	default:
		s.Found.Synthesized = &report.ConditionStatus{
			Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCompiling,
			Message: "it is being compiled, or waits for its namespace's turn, since " + since.UTC().Format(time.TimeOnly) + " UTC",
		}
	}
	return compile.Outcome{}, errPending
}

// finish compiles a chain after Begin.
func (r *Reconciler) finish(ctx context.Context, sources *source.Sources, chain *v1alpha1.ServiceChain, version string) {
	key := client.ObjectKeyFromObject(chain)
	var o compile.Outcome
	err := fmt.Errorf("compile %s: the compiler has failed; the log has the details", key)
	defer func() {
		if p := recover(); p != nil { // beside, nobody else does
			ctrl.LoggerFrom(ctx).Error(err, "the compiler has failed", "chain", key, "panic", p, "stack", string(debug.Stack()))
		}
		if !r.compiled.End(key, version, o, err, r.Clock.Now()) {
			r.Compiler.Forget(key)
		}
	}()
	o, err = sources.Compile(ctx, chain)
}

// synthesize compiles the chain. A spec that does not compile is no error here: what
// ran goes on, and the condition says why.
func (r *Reconciler) synthesize(ctx context.Context, s *scope) error {
	o, err := r.compile(ctx, s)
	if err != nil {
		return err
	}
	if o.Again {
		s.soon(memory.AskAgain)
	}
	s.judged = true
	s.Found.Synthesized = report.True(o.Reason, o.Message)
	if o.Program == nil {
		s.Found.Synthesized.Status = metav1.ConditionFalse
		return nil
	}
	s.newest = o.Program.Name(s.Chain.Name)
	if p := s.Program(s.newest); p != nil && p.Spec.EngineMemoryMiB == 0 { // kept by a release that did not compute it; a program never changes
		setMemory(&p.Spec, o.Program)
	}
	return nil
}

// ensureProgram keeps a new program as a revision.
func (r *Reconciler) ensureProgram(ctx context.Context, s *scope) error {
	if s.newest == "" || s.Program(s.newest) != nil {
		return nil
	}
	o, err := r.compile(ctx, s)
	if err != nil {
		return err
	}
	p := &v1alpha1.ChainProgram{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Chain.Namespace, Name: s.newest, Labels: desired.Labels(s.Chain), OwnerReferences: desired.Owner(s.Chain)},
		Spec: v1alpha1.ChainProgramSpec{
			Chain: s.Chain.Name, Revision: s.lastRevision() + 1, Hash: o.Program.Hash, Schema: program.SchemaVersion,
			Encoding: v1alpha1.EncodingGzip, Program: o.Program.Packed, Classes: o.Program.Classes, TableMemoryMiB: o.Program.TableMemoryMiB,
			FlowMemoryMiB: o.Program.FlowMemoryMiB, Interfaces: o.Program.Interfaces,
		},
	}
	setMemory(&p.Spec, o.Program)
	switch err := r.Client.Create(ctx, p, fieldManager); {
	case apierrors.IsAlreadyExists(err):
		return r.readProgram(ctx, s)
	case err != nil:
		return fmt.Errorf("create ChainProgram %s: %w", p.Name, err)
	}
	r.event(s, p, normal, "ProgramCreated", "Synthesize", "revision %d is program %s with %d traffic classes", p.Spec.Revision, p.Name, p.Spec.Classes)
	s.Programs = append(s.Programs, *p)
	return nil
}

func setMemory(to *v1alpha1.ChainProgramSpec, from *compile.Program) {
	to.EngineMemoryMiB, to.CoreMemoryMiB, to.StateMemoryMiB = from.EngineMemoryMiB, from.CoreMemoryMiB, from.StateMemoryMiB
}

// readProgram reads the newest program past the cache, which does not show it yet: without it, instances that have
// been brought to it would be taken back.
func (r *Reconciler) readProgram(ctx context.Context, s *scope) error {
	p := &v1alpha1.ChainProgram{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: s.Chain.Namespace, Name: s.newest}, p)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("get ChainProgram %s: %w", s.newest, err)
	case err != nil || !s.owns(p): // it goes, and will be made again
		s.soon(0)
	default:
		s.Programs = append(s.Programs, *p)
	}
	return nil
}

func (s *scope) lastRevision() int64 {
	if len(s.Programs) == 0 {
		return 0
	}
	return s.Programs[len(s.Programs)-1].Spec.Revision
}
