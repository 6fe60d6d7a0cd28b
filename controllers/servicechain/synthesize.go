package servicechain

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/servicechain/memory"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

// compile compiles the chain, or remembers how it did.
func (r *Reconciler) compile(ctx context.Context, s *scope) (compile.Outcome, error) {
	key, version := client.ObjectKeyFromObject(s.Chain), s.sources.Version(s.Chain)
	if o, ok := r.compiled.Get(key, version, s.Now); ok {
		return o, nil
	}
	o, err := s.sources.Compile(ctx, s.Chain, func(bytes int) *compile.Session { return r.compiled.Session(key, bytes) })
	if err != nil {
		return o, err
	}
	r.compiled.Put(key, version, o, s.Now)
	return o, nil
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
	s.Found.Synthesized = report.True(o.Reason, o.Message)
	if o.Program == nil {
		s.Found.Synthesized.Status = metav1.ConditionFalse
		return nil
	}
	s.newest = o.Program.Name(s.Chain.Name)
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
