// Package servicechain reconciles ServiceChains: it compiles them, keeps their programs
// as ChainPrograms, brings these to ChainInstances one after the other, has as many cores
// of these work as their load wants, divides the chain's state among them where they share it, and says in the status what is in force. Pods are made by package chaininstance.
//
// There is no finalizer: all that a chain has is owned by it and goes with it by
// garbage collection, also when no operator runs. A pod drains by its own preStop.
package servicechain

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/confined"
	"github.com/sinter-nfv/sinter/controllers/queue"
	"github.com/sinter-nfv/sinter/controllers/servicechain/capacity"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/servicechain/memory"
	"github.com/sinter-nfv/sinter/controllers/servicechain/report"
	"github.com/sinter-nfv/sinter/controllers/source"
)

// fieldManager owns what this controller applies.
const fieldManager = client.FieldOwner("sinter-servicechain")

// Name of the controller, in logs, metrics and events.
const Name = "servicechain"

// Reconciler reconciles ServiceChains.
type Reconciler struct {
	Client   client.Client
	Live     client.Reader // reads past the cache
	Recorder recorder.EventRecorder
	Clock    clock.PassiveClock
	// Stores are those that texts of chains may come from.
	Stores *source.Stores
	// Policy is what the administrator lets chains do.
	Policy compile.Policy
	// Queue gives compiles their turns; nil: nobody waits.
	Queue *queue.Queue
	// Compiler has limits; nil: there are none.
	Compiler *confined.Compiler
	// Isolation is what may reach the pods of chains.
	Isolation desired.Isolation
	// MetricsReaders are pins of those who may read metrics of the pods without a token; nil: there are none.
	MetricsReaders func() []string
	// ReadersChanged tells that they are others; nil: they never are.
	ReadersChanged chan event.GenericEvent

	// beside tells of chains that were compiled beside the workers; nil: a worker compiles, and who calls Reconcile waits.
	beside chan event.GenericEvent

	compiled memory.Compiled
	scalers  capacity.Scalers
	written  memory.Written
	losses   memory.Losses
	judged   memory.Judged
}

// Judged tells whether a chain's status is about a function as it is here. It is not known after a start, until the chain has been compiled.
func (r *Reconciler) Judged(chain types.NamespacedName, f *v1alpha1.NetworkFunction) (is, known bool) {
	return r.judged.Is(chain, f)
}

// The user's objects are read, and only the status of chains is written.
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=servicechains;networkfunctions,verbs=get;list;watch
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=servicechains/status,verbs=get;patch
// Objects of a chain have it as their owner and keep it from going before them, which asks for this where
// the API server's OwnerReferencesPermissionEnforcement is on.
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=servicechains/finalizers;chaininstances/finalizers,verbs=update
// Programs are made, marked as refused, and cleared away when they are old.
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=chainprograms,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=chainprograms/status,verbs=get;patch
// Instances are made, brought to programs, and taken away.
// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=chaininstances,verbs=get;list;watch;create;patch;delete
// Texts of rules and routes; of ConfigMaps that no chain names, only metadata is read.
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// Endpoints of Services that are backends of load balancers.
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch
// Each chain's agents have an account and a role of their own. The operator has all rights that it gives them.
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=get;list;watch;create;patch;delete
// Where instances share state, their pods are found, and have a secret to know each other by. It is never read.
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// One disruption budget per chain, and one network policy.
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// Decisions are told as events.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// lookAgain is how soon an object of somebody else is looked at again.
const lookAgain = 10 * time.Second

// Reconcile brings one chain nearer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	chain, err := r.readChain(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.compiled.Forget(req.NamespacedName)
		r.Compiler.Forget(req.NamespacedName)
		r.scalers.Forget(req.NamespacedName)
		r.written.Forget(req.NamespacedName)
		r.losses.Forget(req.NamespacedName)
		r.judged.Forget(req.NamespacedName)
	}
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !chain.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // waits for its instances in foreground deletion
	}
	s := newScope(chain, r.Clock.Now())
	defer func() {
		if err = errors.Join(err, r.updateStatus(ctx, s)); err == nil {
			result.RequeueAfter = s.requeue
		}
	}()
	return ctrl.Result{}, r.runPhases(ctx, s)
}

// SetupWithManager has the reconciler called whenever something that a chain depends on changes.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	r.beside = make(chan event.GenericEvent)
	b := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.ServiceChain{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&v1alpha1.ChainProgram{}).
		Owns(&v1alpha1.ChainInstance{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NetworkFunction{}, handler.EnqueueRequestsFromMapFunc(r.usersOfFunction), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(ctrlsource.Channel(r.beside, &handler.EnqueueRequestForObject{})).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.usersOfConfigMap), builder.OnlyMetadata).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(r.usersOfService)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	if r.ReadersChanged != nil {
		b.WatchesRawSource(ctrlsource.Channel(r.ReadersChanged, handler.EnqueueRequestsFromMapFunc(r.all)))
	}
	return b.Complete(r)
}

// all are the chains of the cluster.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.chainsThat(ctx, "", func(*v1alpha1.ServiceChain, []*v1alpha1.NetworkFunction) bool { return true })
}

// usersOfFunction are the chains that refer to a function.
func (r *Reconciler) usersOfFunction(ctx context.Context, f client.Object) []reconcile.Request {
	return r.chainsThat(ctx, f.GetNamespace(), func(c *v1alpha1.ServiceChain, _ []*v1alpha1.NetworkFunction) bool {
		for i := range c.Spec.Functions {
			if c.Spec.Functions[i].FunctionRef != nil { // any: a new name may be the one that was missed
				return true
			}
		}
		return false
	})
}

// usersOfConfigMap are the chains that take texts from a ConfigMap.
func (r *Reconciler) usersOfConfigMap(ctx context.Context, m client.Object) []reconcile.Request {
	return r.chainsThat(ctx, m.GetNamespace(), func(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) bool {
		for _, name := range source.ConfigMaps(c, functions) {
			if name == m.GetName() {
				return true
			}
		}
		return false
	})
}

// usersOfService are the chains whose backends are a slice's endpoints.
func (r *Reconciler) usersOfService(ctx context.Context, slice client.Object) []reconcile.Request {
	service := slice.GetLabels()[discoveryv1.LabelServiceName]
	return r.chainsThat(ctx, slice.GetNamespace(), func(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) bool {
		return slices.Contains(source.Services(c, functions), service)
	})
}

func (r *Reconciler) chainsThat(ctx context.Context, namespace string, do func(*v1alpha1.ServiceChain, []*v1alpha1.NetworkFunction) bool) []reconcile.Request {
	var chains v1alpha1.ServiceChainList
	var functions v1alpha1.NetworkFunctionList
	if err := errors.Join(
		r.Client.List(ctx, &chains, client.InNamespace(namespace)),
		r.Client.List(ctx, &functions, client.InNamespace(namespace)),
	); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "chains could not be listed; they follow with their next change")
		return nil
	}
	all := make([]*v1alpha1.NetworkFunction, len(functions.Items))
	for i := range functions.Items {
		all[i] = &functions.Items[i]
	}
	var out []reconcile.Request
	for i := range chains.Items {
		if do(&chains.Items[i], all) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&chains.Items[i])})
		}
	}
	return out
}

// scope is what one reconcile has read and decided.
type scope struct {
	report.View
	sources    *source.Sources
	read       bool                        // these, and what the view has
	lost       map[types.UID]int64         // sessions, as instances report
	newest     string                      // name of the program that the spec compiles to
	bindings   []v1alpha1.InterfaceBinding // of the target's interfaces; nil: not all are known
	containers []v1alpha1.InstanceFunction // of the target's functions
	requeue    time.Duration
	waits      time.Time // since when the chain waits to be compiled; zero: it does not
	judged     bool      // the status is about the chain as it is here
}

// unsettled tells whether the chain will be compiled soon: what is known of it is about what it was.
func (s *scope) unsettled() bool { return !s.waits.IsZero() && s.Found.Synthesized == nil }
