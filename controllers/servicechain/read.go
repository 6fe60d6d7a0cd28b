package servicechain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/servicechain/memory"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
	"github.com/sinter-nfv/sinter/controllers/source"
)

// storesPatience is how long the stores of a chain may keep a worker from other chains.
const storesPatience = 30 * time.Second

func newScope(chain *v1alpha1.ServiceChain, now time.Time) *scope {
	return &scope{View: report.View{Chain: chain, Status: chain.Status.DeepCopy(), Now: now}}
}

// soon has the chain looked at again after a time.
func (s *scope) soon(d time.Duration) {
	if s.requeue == 0 || d < s.requeue {
		s.requeue = max(d, time.Second)
	}
}

// readChain reads a chain, with the status that was written last.
func (r *Reconciler) readChain(ctx context.Context, key types.NamespacedName) (*v1alpha1.ServiceChain, error) {
	chain := &v1alpha1.ServiceChain{}
	if err := r.Client.Get(ctx, key, chain); err != nil {
		return nil, err
	}
	return memory.Latest(ctx, r.Live, &r.written, key, chain)
}

// readObjects reads what the chain refers to and what it has.
func (r *Reconciler) readObjects(ctx context.Context, s *scope) error {
	var err error
	reader := source.Reader{Cached: r.Client, Live: r.Live, Policy: r.Policy, Stores: r.Stores, Queue: r.Queue, Compiler: r.Compiler, Patience: storesPatience}
	if s.sources, err = reader.Read(ctx, s.Chain); err != nil {
		return err
	}
	s.Capacities = desired.Capacities(s.Chain, s.sources.Functions)
	if err := r.readPrograms(ctx, s); err != nil {
		return err
	}
	var instances v1alpha1.ChainInstanceList
	if err := r.Client.List(ctx, &instances, client.InNamespace(s.Chain.Namespace), client.MatchingLabels{v1alpha1.LabelChain: s.Chain.Name}); err != nil {
		return fmt.Errorf("list ChainInstances: %w", err)
	}
	for _, i := range instances.Items {
		if metav1.IsControlledBy(&i, s.Chain) {
			s.Instances = append(s.Instances, i)
		}
	}
	s.lost = memory.LostSessions(s.Instances)
	slices.SortFunc(s.Instances, func(a, b v1alpha1.ChainInstance) int {
		return cmp.Compare(desired.Index(s.Chain.Name, a.Name), desired.Index(s.Chain.Name, b.Name))
	})
	if s.Chain.Spec.Scaling.Shared() {
		if err := r.readPods(ctx, s); err != nil {
			return err
		}
	}
	s.read = true
	return nil
}

// readPrograms reads the chain's programs, with the marks that were written last.
func (r *Reconciler) readPrograms(ctx context.Context, s *scope) error {
	var programs v1alpha1.ChainProgramList
	if err := r.Client.List(ctx, &programs, client.InNamespace(s.Chain.Namespace), client.MatchingLabels{v1alpha1.LabelChain: s.Chain.Name}); err != nil {
		return fmt.Errorf("list ChainPrograms: %w", err)
	}
	for k := range programs.Items {
		p, err := memory.Latest(ctx, r.Live, &r.written, client.ObjectKeyFromObject(s.Chain), &programs.Items[k])
		if apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return err
		}
		if s.owns(p) {
			s.Programs = append(s.Programs, *p)
		}
	}
	slices.SortFunc(s.Programs, func(a, b v1alpha1.ChainProgram) int {
		return cmp.Or(cmp.Compare(a.Spec.Revision, b.Spec.Revision), strings.Compare(a.Name, b.Name))
	})
	return nil
}

// owns tells whether an object is the chain's, and stays.
func (s *scope) owns(o client.Object) bool {
	return metav1.IsControlledBy(o, s.Chain) && o.GetDeletionTimestamp().IsZero()
}

// readPods reads the pods of the chain's instances.
func (r *Reconciler) readPods(ctx context.Context, s *scope) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.Chain.Namespace), client.MatchingLabels{v1alpha1.LabelChain: s.Chain.Name}); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	s.Pods = map[string]*corev1.Pod{}
	for k := range pods.Items {
		s.Pods[pods.Items[k].Name] = &pods.Items[k]
	}
	return nil
}
