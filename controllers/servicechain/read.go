package servicechain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/source"
)

func newScope(chain *v1alpha1.ServiceChain, now time.Time) *scope {
	return &scope{chain: chain, status: chain.Status.DeepCopy(), now: now}
}

// soon has the chain looked at again after a time.
func (s *scope) soon(d time.Duration) {
	if s.requeue == 0 || d < s.requeue {
		s.requeue = max(d, time.Second)
	}
}

// program finds a program of the chain by its name.
func (s *scope) program(name string) *v1alpha1.ChainProgram {
	for i := range s.programs {
		if s.programs[i].Name == name {
			return &s.programs[i]
		}
	}
	return nil
}

// readChain reads a chain, with the status that was written last.
func (r *Reconciler) readChain(ctx context.Context, key types.NamespacedName) (*v1alpha1.ServiceChain, error) {
	chain := &v1alpha1.ServiceChain{}
	if err := r.Client.Get(ctx, key, chain); err != nil {
		return nil, err
	}
	return latest(ctx, r, key, chain)
}

// readObjects reads what the chain refers to and what it has.
func (r *Reconciler) readObjects(ctx context.Context, s *scope) error {
	var err error
	reader := source.Reader{Cached: r.Client, Live: r.Live}
	if s.sources, err = reader.Read(ctx, s.chain); err != nil {
		return err
	}
	if err := r.readPrograms(ctx, s); err != nil {
		return err
	}
	var instances v1alpha1.ChainInstanceList
	if err := r.Client.List(ctx, &instances, client.InNamespace(s.chain.Namespace), client.MatchingLabels{v1alpha1.LabelChain: s.chain.Name}); err != nil {
		return fmt.Errorf("list ChainInstances: %w", err)
	}
	for _, i := range instances.Items {
		if metav1.IsControlledBy(&i, s.chain) {
			s.instances = append(s.instances, i)
		}
	}
	s.lost = lostSessions(s.instances)
	slices.SortFunc(s.instances, func(a, b v1alpha1.ChainInstance) int {
		return cmp.Compare(index(s.chain.Name, a.Name), index(s.chain.Name, b.Name))
	})
	if s.chain.Spec.Scaling.Shared() {
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
	if err := r.Client.List(ctx, &programs, client.InNamespace(s.chain.Namespace), client.MatchingLabels{v1alpha1.LabelChain: s.chain.Name}); err != nil {
		return fmt.Errorf("list ChainPrograms: %w", err)
	}
	for k := range programs.Items {
		p, err := latest(ctx, r, client.ObjectKeyFromObject(s.chain), &programs.Items[k])
		if apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return err
		}
		if s.owns(p) {
			s.programs = append(s.programs, *p)
		}
	}
	slices.SortFunc(s.programs, func(a, b v1alpha1.ChainProgram) int {
		return cmp.Or(cmp.Compare(a.Spec.Revision, b.Spec.Revision), strings.Compare(a.Name, b.Name))
	})
	return nil
}

// owns tells whether an object is the chain's, and stays.
func (s *scope) owns(o client.Object) bool {
	return metav1.IsControlledBy(o, s.chain) && o.GetDeletionTimestamp().IsZero()
}

// readPods reads the pods of the chain's instances.
func (r *Reconciler) readPods(ctx context.Context, s *scope) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.chain.Namespace), client.MatchingLabels{v1alpha1.LabelChain: s.chain.Name}); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	s.pods = map[string]*corev1.Pod{}
	for k := range pods.Items {
		s.pods[pods.Items[k].Name] = &pods.Items[k]
	}
	return nil
}

// instanceName names the instance with an index, counted from 0.
func instanceName(chain string, i int) string { return fmt.Sprintf("%s-%d", chain, i) }

// index is the index of an instance's name; one that is not ours comes last.
func index(chain, instance string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(instance, chain+"-"))
	if err != nil {
		return 1 << 30
	}
	return n
}

// ownerOf makes the chain the owner of an object.
func ownerOf(chain *v1alpha1.ServiceChain) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(chain, v1alpha1.GroupVersion.WithKind(v1alpha1.KindServiceChain))}
}

// labels of all that a chain has.
func labels(chain *v1alpha1.ServiceChain) map[string]string {
	return map[string]string{
		v1alpha1.LabelChain:            chain.Name,
		v1alpha1.LabelComponent:        v1alpha1.ComponentDataPlane,
		"app.kubernetes.io/managed-by": "sinter-operator",
	}
}
