package connectivity

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// world is a cluster with an operator and a kubelet, whose chain is the oracle.
type world struct {
	*cluster.Cluster
	oracle *oracle
	said   []string
	// chainReady and phase are what becomes of chains and pods.
	chainReady metav1.ConditionStatus
	phase      corev1.PodPhase
	refuse     string // the kind that cannot be created
	made       []client.Object
	onCreate   func() // nil: nothing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{oracle: newOracle(t), chainReady: metav1.ConditionTrue, phase: corev1.PodRunning}
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(attachment, &unstructured.Unstructured{})
	list := attachment
	list.Kind += "List"
	scheme.AddKnownTypeWithName(list, &unstructured.UnstructuredList{})
	operator := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "sinter-system", Name: "operator",
		Labels: map[string]string{v1alpha1.LabelComponent: "operator", "app.kubernetes.io/part-of": "sinter"},
	}}
	operator.Spec.Template.Spec.Containers = []corev1.Container{{Name: "operator", Image: "registry/sinter-operator:1"}}
	w.Cluster = &cluster.Cluster{
		Namespace: "lab", Now: time.Now, Pods: w,
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(operator).WithInterceptorFuncs(interceptor.Funcs{Create: w.create}).Build(),
	}
	return w
}

// create does what the operator, the scheduler and the kubelet do.
func (w *world) create(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
	if w.refuse != "" && strings.Contains(fmt.Sprintf("%T", o), w.refuse) {
		return errors.New("forbidden")
	}
	w.made = append(w.made, o)
	if w.onCreate != nil {
		w.onCreate()
	}
	switch o := o.(type) {
	case *v1alpha1.ServiceChain:
		o.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: w.chainReady, Reason: "Test", Message: "no node has a free core", LastTransitionTime: metav1.Now(),
		}}
		instance := &v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name + "-0", Labels: map[string]string{v1alpha1.LabelChain: o.Name},
		}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: instance.Name}, Spec: corev1.PodSpec{NodeName: "node-1"}}
		if err := errors.Join(c.Create(ctx, instance), c.Create(ctx, pod)); err != nil {
			return err
		}
	case *corev1.Pod:
		o.Status.Phase = w.phase
		if w.phase == corev1.PodPending {
			o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such tag"},
			}}}
		}
	}
	return c.Create(ctx, o, options...)
}

// Exec implements cluster.Pods, as sinter-smoke wire does.
func (w *world) Exec(_ context.Context, pod client.ObjectKey, name string, command []string, in io.Reader, out io.Writer) error {
	if name != container || strings.Join(command, " ") != "/usr/bin/sinter-smoke wire --interface net1" {
		return fmt.Errorf("there is no %q in container %q", command, name)
	}
	side := inside
	if strings.HasSuffix(pod.Name, "-server") {
		side = outside
	}
	wire := w.oracle.wires[side]
	fmt.Fprintln(out, net.HardwareAddr(wire.mac[:]))
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case frame := <-wire.frames:
				fmt.Fprintf(out, "%x\n", frame)
			case <-stop:
				return
			}
		}
	}()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		frame, err := hex.DecodeString(lines.Text())
		if err != nil {
			return err
		}
		w.oracle.send(side, frame)
	}
	return nil
}

func (*world) Log(context.Context, client.ObjectKey, string, bool) ([]byte, error) { return nil, nil }

func (*world) Server(context.Context) (cluster.Server, error) { return cluster.Server{}, nil }

func (*world) CPUManagerPolicy(context.Context, string) (string, error) { return "static", nil }

// report has the chain's instance report its drops.
func (w *world) report(ctx context.Context, o *objects) (map[string]int64, error) {
	instances, err := o.instances(ctx)
	if err != nil {
		return nil, err
	}
	dropped, _ := w.oracle.drops(ctx)
	instances[0].Status.Drops = nil
	for reason, n := range dropped {
		instances[0].Status.Drops = append(instances[0].Status.Drops, v1alpha1.DropCount{Reason: reason, Kind: v1alpha1.DropRefusal, Packets: n})
	}
	if err := w.Client.Update(ctx, &instances[0]); err != nil {
		return nil, err
	}
	return o.drops(ctx)
}

// test runs a test of the world.
func (w *world) test(ctx context.Context, o Options) (*Report, error) {
	o.Wait = 20 * time.Second
	if w.chainReady != metav1.ConditionTrue || w.phase == corev1.PodPending {
		o.Wait = 200 * time.Millisecond // it would be in vain
	}
	o.Doing = func(string) func() { return func() {} }
	o.Say = func(line string) { w.said = append(w.said, line) }
	r := &run{Options: o, cluster: w.Cluster, objects: newObjects(w.Client, w.Namespace), timing: fast}
	r.drops = func(ctx context.Context) (map[string]int64, error) { return w.report(ctx, r.objects) }
	return r.run(ctx)
}

// left are the objects with the label of a run.
func (w *world) left(t *testing.T) (names []string) {
	t.Helper()
	networks := &unstructured.UnstructuredList{}
	networks.SetGroupVersionKind(attachment.GroupVersion().WithKind(attachment.Kind + "List"))
	for _, list := range []client.ObjectList{&v1alpha1.ServiceChainList{}, &corev1.PodList{}, networks} {
		if err := w.Client.List(t.Context(), list, client.HasLabels{Label}); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			names = append(names, o.(client.Object).GetName())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestARunLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	report, err := w.test(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failed > 0 || report.Node != "node-1" || !strings.HasPrefix(report.Chain, "lab/sinter-test-") {
		t.Errorf("%+v", report)
	}
	if left := w.left(t); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func TestAllObjectsHaveTheLabelOfTheRun(t *testing.T) {
	w := newWorld(t)
	if _, err := w.test(t.Context(), Options{Keep: true}); err != nil {
		t.Fatal(err)
	}
	left := w.left(t)
	if len(left) != 5 {
		t.Errorf("left are %q, want a chain, two pods and two networks", left)
	}
	want := fmt.Sprintf("kept; to delete it: kubectl --namespace lab delete servicechains,pods,network-attachment-definitions -l %s=%s", Label, left[0])
	if got := strings.Join(w.said, "\n"); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	var client corev1.Pod
	if err := w.Client.Get(t.Context(), types.NamespacedName{Namespace: "lab", Name: left[0] + "-client"}, &client); err != nil {
		t.Fatal(err)
	}
	if got, want := client.Annotations[networksAnnotation], "lab/"+left[0]+"-inside@net1"; got != want {
		t.Errorf("the client's networks are %q, want %q", got, want)
	}
	if got := client.Spec.Containers[0].Image; got != "registry/sinter-operator:1" {
		t.Errorf("the client's image is %q", got)
	}
}

func TestNamedNetworksAreUsedAndStay(t *testing.T) {
	w := newWorld(t)
	if _, err := w.test(t.Context(), Options{Inside: "lan", Outside: "wan", Image: "mine:1"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range w.made {
		switch o := o.(type) {
		case *unstructured.Unstructured:
			t.Errorf("network %s was made", o.GetName())
		case *v1alpha1.ServiceChain:
			if a, b := o.Spec.Interfaces[0].NetworkRef.Name, o.Spec.Interfaces[1].NetworkRef.Name; a != "lan" || b != "wan" {
				t.Errorf("the chain is between %s and %s", a, b)
			}
		}
	}
}

func TestAFailureIsSaidAndLeavesNothingBehind(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		want   string
	}{
		"no chain":   {func(w *world) { w.refuse = "ServiceChain" }, "create ServiceChain lab/sinter-test-"},
		"no pods":    {func(w *world) { w.refuse = "v1.Pod" }, "forbidden"},
		"no core":    {func(w *world) { w.chainReady = metav1.ConditionFalse }, "Ready is False: Test: no node has a free core"},
		"no image":   {func(w *world) { w.phase = corev1.PodPending }, "image registry/sinter-operator:1 cannot be pulled (ErrImagePull)"},
		"a pod ends": {func(w *world) { w.phase = corev1.PodFailed }, "-client does not run: it is Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.change(w)
			report, err := w.test(t.Context(), Options{})
			if err == nil || report != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := w.left(t); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

func TestAnInterruptionLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	w.chainReady = metav1.ConditionFalse
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := w.test(ctx, Options{}); err == nil {
		t.Error("no error")
	}
	if left := w.left(t); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// Two chains with the same addresses on the same bridges would take each other's packets.
func TestARunBesideAnotherIsRefused(t *testing.T) {
	w := newWorld(t)
	if _, err := w.test(t.Context(), Options{Keep: true}); err != nil {
		t.Fatal(err)
	}
	before := len(w.left(t))
	_, err := w.test(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "a test runs already in namespace lab") || !strings.Contains(err.Error(), "-l "+Label+"="+w.left(t)[0]) {
		t.Errorf("got %v, want how to delete the run that was kept", err)
	}
	if after := len(w.left(t)); after != before {
		t.Errorf("%d objects are left of %d", after, before)
	}
}

func TestARunWaitsForThePodsOfTheOneBefore(t *testing.T) {
	w := newWorld(t)
	ending := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "sinter-test-abcde-0", Labels: map[string]string{v1alpha1.LabelChain: "sinter-test-abcde"}}}
	if err := w.Client.Create(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	var gone atomic.Bool
	w.onCreate = func() {
		if !gone.Load() {
			t.Error("something is made while the pod is still there")
		}
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		gone.Store(true)
		if err := w.Client.Delete(t.Context(), ending); err != nil {
			t.Error(err)
		}
	}()
	if report, err := w.test(t.Context(), Options{}); err != nil || report.Failed > 0 {
		t.Errorf("%v, %+v", err, report)
	}
}

func TestBridgeNamesFit(t *testing.T) {
	w := newWorld(t)
	if _, err := w.test(t.Context(), Options{}); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, o := range w.made {
		if n, ok := o.(*unstructured.Unstructured); ok {
			config, _, _ := unstructured.NestedString(n.Object, "spec", "config")
			_, bridge, _ := strings.Cut(config, `"bridge": "`)
			if bridge = strings.TrimSuffix(bridge, `"}`); bridge == "" || len(bridge) > 15 {
				t.Errorf("the bridge is %q, in %s", bridge, config)
			}
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d networks, want 2", found)
	}
}

func TestWithoutAnOperatorAnImageIsNeeded(t *testing.T) {
	w := newWorld(t)
	if err := w.Client.DeleteAllOf(t.Context(), &appsv1.Deployment{}, client.InNamespace("sinter-system")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.test(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "name the image by --image") {
		t.Errorf("got %v", err)
	}
}
