// Package networkfunction says in the status of NetworkFunctions which chains refer to them, and whether these run what they say now.
package networkfunction

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/words"
)

// fieldManager owns what this controller applies.
const fieldManager = client.FieldOwner("sinter-networkfunction")

// Name of the controller, in logs and metrics.
const Name = "networkfunction"

// lookAgain is how soon a function is looked at again whose chains have not taken it over: a chain whose status stays as it is tells nobody that it has.
const lookAgain = time.Second

// Reconciler reconciles NetworkFunctions: it writes their status, and nothing else.
type Reconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
	// Judged tells whether a chain's status is about this generation of a function, and whether that is known.
	Judged func(chain types.NamespacedName, f *v1alpha1.NetworkFunction) (is, known bool)
}

// +kubebuilder:rbac:groups=nfv.sinter.dev,resources=networkfunctions/status,verbs=get;patch

// Reconcile says what chains make of one function.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	f := &v1alpha1.NetworkFunction{}
	if err := r.Client.Get(ctx, req.NamespacedName, f); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	chains, err := r.users(ctx, f)
	if err != nil || !f.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	if f.Status.ObservedGeneration == f.Generation && slices.ContainsFunc(chains, func(c *v1alpha1.ServiceChain) bool { return r.unknown(f, c) }) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil // the operator has just started; what was said is still true
	}
	said, all := r.ready(f, chains)
	status := f.Status.DeepCopy()
	status.ObservedGeneration, status.Kind, status.Chains = f.Generation, f.Spec.Kind(), int32(len(chains))
	said.Type, said.ObservedGeneration, said.LastTransitionTime = v1alpha1.ConditionReady, f.Generation, metav1.NewTime(r.Clock.Now())
	said.Message = words.Message(said.Message)
	meta.SetStatusCondition(&status.Conditions, said)
	result := ctrl.Result{}
	if !all {
		result.RequeueAfter = lookAgain
	}
	if equality.Semantic.DeepEqual(&f.Status, status) {
		return result, nil
	}
	fields, err := apply.From[configuration.NetworkFunctionStatusApplyConfiguration](status)
	if err != nil {
		return result, err
	}
	o := configuration.NetworkFunction(f.Name, f.Namespace).WithUID(f.UID).WithStatus(fields)
	return result, client.IgnoreNotFound(apply.Status(ctx, r.Client, fieldManager, o))
}

// users are the chains that refer to a function, by name.
func (r *Reconciler) users(ctx context.Context, f *v1alpha1.NetworkFunction) ([]*v1alpha1.ServiceChain, error) {
	var list v1alpha1.ServiceChainList
	if err := r.Client.List(ctx, &list, client.InNamespace(f.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ServiceChains: %w", err)
	}
	var out []*v1alpha1.ServiceChain
	for i := range list.Items {
		if len(compile.Used(&list.Items[i], []*v1alpha1.NetworkFunction{f})) > 0 {
			out = append(out, &list.Items[i])
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.ServiceChain) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// unknown tells whether a chain has a status, and nothing is known of the generation of the function that it is about.
func (r *Reconciler) unknown(f *v1alpha1.NetworkFunction, c *v1alpha1.ServiceChain) bool {
	_, known := r.Judged(client.ObjectKeyFromObject(c), f)
	return !known && c.Status.ObservedGeneration > 0
}

// ready is the condition Ready of a function: the first chain's that does not run what the function says. all is false if some chain has still to take
// the function over.
func (r *Reconciler) ready(f *v1alpha1.NetworkFunction, chains []*v1alpha1.ServiceChain) (said metav1.Condition, all bool) {
	if len(chains) == 0 {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotUsed, Message: "no chain refers to this function"}, true
	}
	all = true
	var names []string
	for _, c := range chains {
		names = append(names, c.Name)
		bad := metav1.Condition{Status: metav1.ConditionFalse}
		is := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
		switch judged, _ := r.Judged(client.ObjectKeyFromObject(c), f); {
		case !judged || is == nil:
			all = false
			bad.Reason, bad.Message = v1alpha1.ReasonPending, fmt.Sprintf("chain %s has not taken over generation %d yet", c.Name, f.Generation)
		case c.Spec.RollbackTo != "":
			bad.Reason, bad.Message = v1alpha1.ReasonPinned, fmt.Sprintf("chain %s runs program %s until rollbackTo is removed", c.Name, c.Spec.RollbackTo)
		case is.Status != metav1.ConditionTrue:
			bad.Reason, bad.Message = is.Reason, fmt.Sprintf("chain %s: %s", c.Name, is.Message)
		default:
			continue
		}
		if said.Status == "" {
			said = bad
		}
	}
	if said.Status == "" {
		message := fmt.Sprintf("generation %d is in force in %s: %s", f.Generation, words.Count(len(chains), "chain"), strings.Join(names, ", "))
		said = metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonForwarding, Message: message}
	}
	return said, all
}

// SetupWithManager has the reconciler called when a function changes, and when the status of a chain that refers to it does.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.NetworkFunction{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.ServiceChain{}, handler.EnqueueRequestsFromMapFunc(functionsOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(r)
}

// functionsOf are the functions that a chain refers to. A chain that stops referring to one is seen as it was before, too.
func functionsOf(_ context.Context, o client.Object) (out []reconcile.Request) {
	c, ok := o.(*v1alpha1.ServiceChain)
	if !ok {
		return nil
	}
	for i := range c.Spec.Functions {
		if ref := c.Spec.Functions[i].FunctionRef; ref != nil {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: c.Namespace, Name: ref.Name}})
		}
	}
	return out
}
