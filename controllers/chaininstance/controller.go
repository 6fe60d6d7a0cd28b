// Package chaininstance reconciles ChainInstances: each has one pod, on a node that
// package placement proposes and the scheduler binds. A pod that a node refuses, that
// ends, or that is no longer what is wanted is replaced. How it fares is told in the
// instance's conditions Placed and Ready; the rest of the status is the agent's.
package chaininstance

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// fieldManager owns what this controller applies.
const fieldManager = client.FieldOwner("sinter-chaininstance")

// Name of the controller, in logs, metrics and events.
const Name = "chaininstance"

const (
	// replaceAfter is how old a failed pod gets, so that a node that refuses pods one
	// after the other is not asked all the time.
	replaceAfter = 10 * time.Second
	// placeAgainAfter is how long the scheduler may find no room on the nodes proposed.
	placeAgainAfter = time.Minute
	// askAgainAfter is when nodes are asked again of which none fitted.
	askAgainAfter = 15 * time.Second
)

// Reconciler reconciles ChainInstances.
type Reconciler struct {
	Client   client.Client
	Live     client.Reader // what is not worth a cache: events of pods that do not start
	Recorder recorder.EventRecorder
	Clock    clock.PassiveClock
	Pods     PodOptions

	recent recent
}

// Instances are read; of their status, two conditions are written.
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=chaininstances,verbs=get;list;watch
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=chaininstances/status,verbs=get;patch
// Each instance has a pod, which is never changed, only made and replaced. All pods are seen, as what
// they ask for is what is not free on their nodes.
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// Why a pod does not start is told in events.
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// Nodes are chosen by what they have.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// scope is what one reconcile has read and decided.
type scope struct {
	instance *v1alpha1.ChainInstance
	pod      *corev1.Pod // nil: there is none
	now      time.Time
	placed   verdict
	clock    string // what is wrong with that of the node; empty: nothing, or it is not asked for
	forwards bool   // the engine does, by the kubelet's word, although the pod is not ready
	requeue  time.Duration
}

// Reconcile brings one instance nearer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	instance := &v1alpha1.ChainInstance{}
	if err := r.Client.Get(ctx, req.NamespacedName, instance); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !instance.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	s := &scope{instance: instance, now: r.Clock.Now()}
	defer func() {
		if err = errors.Join(err, r.updateStatus(ctx, s)); err == nil {
			result.RequeueAfter = s.requeue
		}
	}()
	for _, phase := range []func(context.Context, *scope) error{r.readPod, r.replacePod, r.createPod, r.judge, r.judgeEngine, r.judgeClock} {
		if err := phase(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// SetupWithManager has the reconciler called whenever an instance or its pod changes. Changes
// of nodes are waited for: instances that found no room ask again by themselves.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, nodeNameField, func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.NodeName}
	}); err != nil {
		return fmt.Errorf("index pods by node: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.ChainInstance{}).
		Owns(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func (r *Reconciler) readPod(ctx context.Context, s *scope) error {
	pod := &corev1.Pod{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(s.instance), pod)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get Pod %s: %w", s.instance.Name, err)
	}
	s.pod = pod
	r.recent.shown(pod)
	return nil
}

// replacePod deletes a pod that has ended, was refused, or is not what is wanted. Its
// successor is made when it is gone, since it has the same name and needs the same devices.
func (r *Reconciler) replacePod(ctx context.Context, s *scope) error {
	if s.pod == nil || !s.pod.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(s.pod, s.instance) {
		return nil
	}
	reason, message, wait := outdated(s.pod, s.instance, s.now)
	if reason == "" {
		return nil
	}
	if wait > 0 {
		s.requeue = wait
		return nil
	}
	uid := s.pod.UID
	if err := r.Client.Delete(ctx, s.pod, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Pod %s: %w", s.pod.Name, err)
	}
	r.event(s, corev1.EventTypeNormal, reason, "ReplacePod", "pod %s is replaced: %s", s.pod.Name, message)
	now := metav1.NewTime(s.now)
	s.pod.DeletionTimestamp = &now
	return nil
}

// outdated tells why a pod is to be replaced, and after what time.
func outdated(pod *corev1.Pod, i *v1alpha1.ChainInstance, now time.Time) (reason, message string, wait time.Duration) {
	if pod.Annotations[v1alpha1.AnnotationPodHash] != podHash(&i.Spec) {
		return "PodOutdated", "cores, interfaces, functions, placement or resources have changed", 0
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return "PodEnded", refusal(pod), left(pod.CreationTimestamp.Add(replaceAfter), now)
	}
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
		return "PodUnschedulable", "looking for another node: " + c.Message, left(c.LastTransitionTime.Add(placeAgainAfter), now)
	}
	return "", "", 0
}

// left is the time until then, a second at least if there is any.
func left(then, now time.Time) time.Duration {
	if d := then.Sub(now); d > 0 {
		return max(d, time.Second)
	}
	return 0
}

// refusal is what a pod that has ended says of why.
func refusal(pod *corev1.Pod) string {
	if pod.Status.Reason != "" || pod.Status.Message != "" {
		return pod.Status.Reason + " " + pod.Status.Message
	}
	return "it has ended as " + string(pod.Status.Phase)
}

// createPod makes the pod on one of the nodes that fit.
func (r *Reconciler) createPod(ctx context.Context, s *scope) error {
	if s.pod != nil {
		if !metav1.IsControlledBy(s.pod, s.instance) {
			s.requeue = askAgainAfter // nothing tells this instance that the pod is gone
		}
		return nil
	}
	r.recent.Lock()
	defer r.recent.Unlock()
	decision, err := r.place(ctx, s)
	if err != nil {
		return err
	}
	if !decision.Placed() {
		s.placed = verdict{metav1.ConditionFalse, string(decision.Reason()), decision.Message()}
		s.requeue = askAgainAfter
		return nil
	}
	pod := newPod(s.instance, r.Pods, decision.Affinity())
	if dropped, err := r.dropsClaims(ctx, pod); dropped {
		s.placed = no(v1alpha1.ReasonPodRefused, "the API server removes the pod's resourceClaims: the cluster has dynamic resource allocation (DRA) switched off. "+
			"Use Kubernetes 1.34 or later, where it is on, or set resourceName instead of resourceClaimTemplateName")
		s.requeue = askAgainAfter
		return nil
	} else if err != nil {
		return fmt.Errorf("try Pod %s: %w", pod.Name, err)
	}
	switch err := r.Client.Create(ctx, pod, fieldManager); {
	case apierrors.IsAlreadyExists(err): // the cache is behind, and will call again
		s.requeue = time.Second
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		s.placed = no(v1alpha1.ReasonPodRefused, "the cluster refuses the pod: %v", err)
		s.requeue = askAgainAfter
		return nil
	case err != nil:
		return fmt.Errorf("create Pod %s: %w", pod.Name, err)
	}
	s.pod = pod
	r.recent.add(pod)
	r.event(s, corev1.EventTypeNormal, "PodCreated", "Place", "pod %s may run on %v, of %d nodes asked", pod.Name, decision.Required(), decision.Asked)
	return nil
}

// dropsClaims reports whether the API server would remove the pod's claims. Without DRA it does so silently, and the engine
// would start without its devices. A refusal is left to the request that creates the pod.
func (r *Reconciler) dropsClaims(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if len(pod.Spec.ResourceClaims) == 0 {
		return false, nil
	}
	trial := pod.DeepCopy()
	err := r.Client.Create(ctx, trial, fieldManager, client.DryRunAll)
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return len(trial.Spec.ResourceClaims) == 0, nil
}
