package servicechain_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/chaininstance"
	"github.com/sinter-nfv/sinter/controllers/networkfunction"
	"github.com/sinter-nfv/sinter/controllers/queue"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/source"
	"github.com/sinter-nfv/sinter/test/kept"
)

// world is a namespace with the three controllers, called by hand, and a test that plays
// scheduler, kubelet and agents.
type world struct {
	*testing.T
	namespace string
	client    client.Client // the test's own
	clock     *testingclock.FakePassiveClock
	chains    *servicechain.Reconciler
	instances *chaininstance.Reconciler
	functions *networkfunction.Reconciler
	turns     *queue.Queue // of the operator that start runs

	frozen *frozen // what the controllers see of chains and programs; nil: what there is
	broken string  // what the API server does not let the controllers do, such as "delete *v1alpha1.ChainInstance edge-1"; empty: nothing

	mu     sync.Mutex
	writes []string // of the controllers
	events []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	needCluster(t)
	c, err := client.NewWithWatch(cluster, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, client: c, clock: testingclock.NewFakePassiveClock(time.Now().Truncate(time.Second))}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "chain-"}}
	w.must(c.Create(t.Context(), ns))
	w.namespace = ns.Name
	w.Cleanup(w.leave)
	watched := interceptor.NewClient(c, w.cached(w.counting()))
	w.chains = &servicechain.Reconciler{Client: watched, Live: c, Recorder: w, Clock: w.clock, Stores: source.NewStores(), Isolation: desired.Isolation{On: true}}
	w.instances = &chaininstance.Reconciler{Client: watched, Live: c, Recorder: w, Clock: w.clock, Pods: chaininstance.PodOptions{Image: "dataplane:test"}}
	w.functions = &networkfunction.Reconciler{Client: watched, Clock: w.clock, Judged: w.chains.Judged}
	return w
}

// leave deletes what an operator of another test would go on with: chains that wait for nodes would take those of that test. Nothing collects garbage here.
func (w *world) leave() {
	for _, o := range []client.Object{&v1alpha1.ServiceChain{}, &v1alpha1.ChainInstance{}, &corev1.Pod{}} {
		if err := w.client.DeleteAllOf(context.Background(), o, client.InNamespace(w.namespace), client.GracePeriodSeconds(0)); err != nil {
			w.Error(err)
		}
	}
}

// counting notes every write of the controllers.
func (w *world) counting() interceptor.Funcs {
	note := func(verb string, o any) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		what := fmt.Sprintf("%s %T", verb, o)
		name := ""
		if o, ok := o.(client.Object); ok {
			name = o.GetName()
		}
		if w.broken != "" && strings.HasPrefix(what+" "+name, w.broken) {
			return fmt.Errorf("the test does not let it: %s", w.broken)
		}
		w.writes = append(w.writes, what)
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if dry := new(client.CreateOptions).ApplyOptions(opts).DryRun; len(dry) > 0 {
				return c.Create(ctx, o, opts...) // writes nothing
			}
			if err := note("create", o); err != nil {
				return err
			}
			sent := o.DeepCopyObject()
			err := c.Create(ctx, o, opts...)
			if err == nil {
				w.keeps(sent, o)
			}
			return err
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := note("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := note("apply", o); err != nil {
				return err
			}
			return c.Apply(ctx, o, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := note("apply "+sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Apply(ctx, o, opts...)
		},
	}
}

// keeps checks that the API server has taken all of a pod. An old one, or one with a feature switched off, removes fields silently.
func (w *world) keeps(sent runtime.Object, got client.Object) {
	pod, ok := sent.(*corev1.Pod)
	if !ok {
		return
	}
	if lost, err := kept.Missing(pod.Spec, got.(*corev1.Pod).Spec); err != nil || len(lost) > 0 {
		w.Errorf("the API server does not keep these fields of the pod: %q, %v", lost, err)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Eventf notes an event.
func (w *world) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// AnnotatedEventf notes an event.
func (w *world) AnnotatedEventf(o, related runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	w.Eventf(o, related, kind, reason, action, note, args...)
}

// node adds a node with room for chains.
func (w *world) node(name string) {
	w.Helper()
	w.nodeWith(name, "8")
}

// nodeWith adds a node with so many CPUs.
func (w *world) nodeWith(name, cpus string) {
	w.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name, Labels: map[string]string{"test": w.namespace}}}
	w.must(w.client.Create(w.Context(), n))
	w.Cleanup(func() { _ = w.client.Delete(context.Background(), n) })
	n.Status = corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpus), corev1.ResourceMemory: resource.MustParse("16Gi"),
			"hugepages-2Mi": resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("100"),
		},
	}
	n.Status.Capacity = n.Status.Allocatable
	w.must(w.client.Status().Update(w.Context(), n))
}

// apply applies YAML in the world's namespace, as users do.
func (w *world) apply(text string) {
	w.Helper()
	for _, doc := range strings.Split(text, "\n---\n") {
		o := document(w.T, doc)
		o.SetNamespace(w.namespace)
		w.must(w.client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("user"), client.ForceOwnership))
	}
}

func document(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// reconcile calls the controllers once for everything of the namespace.
func (w *world) reconcile() {
	w.Helper()
	var chains v1alpha1.ServiceChainList
	w.must(w.client.List(w.Context(), &chains, client.InNamespace(w.namespace)))
	for _, c := range chains.Items {
		_, err := w.chains.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&c)})
		w.must(err)
	}
	var instances v1alpha1.ChainInstanceList
	w.must(w.client.List(w.Context(), &instances, client.InNamespace(w.namespace)))
	for _, i := range instances.Items {
		_, err := w.instances.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&i)})
		w.must(err)
	}
	var functions v1alpha1.NetworkFunctionList
	w.must(w.client.List(w.Context(), &functions, client.InNamespace(w.namespace)))
	for _, f := range functions.Items {
		_, err := w.functions.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&f)})
		w.must(err)
	}
}

// settle calls the controllers until they have nothing more to write.
func (w *world) settle() {
	w.Helper()
	for range 20 {
		w.writes = nil
		if w.reconcile(); len(w.writes) == 0 {
			return
		}
	}
	w.Fatalf("the controllers write on and on: %v", w.writes)
}

// run plays kubelet and agents: pods start, and agents report their instance's program.
func (w *world) run() {
	w.Helper()
	w.settle()
	w.startPods()
	var instances v1alpha1.ChainInstanceList
	w.must(w.client.List(w.Context(), &instances, client.InNamespace(w.namespace)))
	for _, i := range instances.Items {
		w.report(i.Name, nil)
	}
	w.settle()
}

func (w *world) startPods() {
	w.Helper()
	var pods corev1.PodList
	w.must(w.client.List(w.Context(), &pods, client.InNamespace(w.namespace)))
	for _, p := range pods.Items {
		if p.Spec.NodeName == "" {
			w.bind(&p)
		}
		p.Status.Phase = corev1.PodRunning
		p.Status.PodIP = "10.244.0." + p.Name[strings.LastIndex(p.Name, "-")+1:]
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
		w.must(w.client.Status().Update(w.Context(), &p))
	}
}

// bind puts a pod on the node that it likes most, as the scheduler does.
func (w *world) bind(p *corev1.Pod) {
	w.Helper()
	node := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
	w.must(w.client.SubResource("binding").Create(w.Context(), p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}))
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(p), p))
}

// report plays an agent: its program runs, and whatever change says.
func (w *world) report(instance string, change func(*v1alpha1.ChainInstance)) {
	w.Helper()
	i := w.instance(instance)
	var p v1alpha1.ChainProgram
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: i.Spec.Program}, &p))
	now := metav1.NewTime(w.clock.Now())
	s := v1alpha1.ChainInstanceStatus{
		Program: i.Spec.Program, AppliedHash: p.Spec.Hash, PacketRate: 1_000_000, LastReportTime: now, Node: "n",
		Dispatch: []v1alpha1.InterfaceDispatch{{Interface: "inside", Dispatcher: v1alpha1.DispatcherFlow}},
	}
	s.ObservedGeneration = i.Generation
	i.Status = s
	programmed(i, metav1.ConditionTrue, v1alpha1.ReasonApplied, "runs")
	if change != nil {
		change(i)
	}
	fields, err := apply.From[configuration.ChainInstanceStatusApplyConfiguration](i.Status)
	w.must(err)
	w.must(apply.Status(w.Context(), w.client, "agent", configuration.ChainInstance(i.Name, i.Namespace).WithUID(i.UID).WithStatus(fields)))
}

// programmed sets the condition that is the agent's.
func programmed(i *v1alpha1.ChainInstance, status metav1.ConditionStatus, reason, message string) {
	i.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionProgrammed, Status: status, Reason: reason, Message: message,
		ObservedGeneration: i.Generation, LastTransitionTime: metav1.Now(),
	}}
}

func (w *world) chain(name string) *v1alpha1.ServiceChain {
	w.Helper()
	c := &v1alpha1.ServiceChain{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, c))
	return c
}

func (w *world) instance(name string) *v1alpha1.ChainInstance {
	w.Helper()
	i := &v1alpha1.ChainInstance{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, i))
	return i
}

func (w *world) pod(name string) *corev1.Pod {
	w.Helper()
	p := &corev1.Pod{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, p))
	return p
}

func (w *world) programs() []v1alpha1.ChainProgram {
	w.Helper()
	var list v1alpha1.ChainProgramList
	w.must(w.client.List(w.Context(), &list, client.InNamespace(w.namespace)))
	return list.Items
}

// says checks a condition's status and reason, and that its message has a text.
func (w *world) says(condition string, status metav1.ConditionStatus, reason, text string) {
	w.Helper()
	c := meta.FindStatusCondition(w.chain("edge").Status.Conditions, condition)
	if c == nil {
		w.Errorf("chain edge has no condition %s", condition)
		return
	}
	if c.Status != status || c.Reason != reason || !strings.Contains(c.Message, text) {
		w.Errorf("%s is %s, %s: %q; wanted %s, %s with %q", condition, c.Status, c.Reason, c.Message, status, reason, text)
	}
}

// told checks that an event was told.
func (w *world) told(text string) {
	w.Helper()
	for _, e := range w.events {
		if strings.Contains(e, text) {
			return
		}
	}
	w.Errorf("no event says %q; there are\n%s", text, strings.Join(w.events, "\n"))
}
