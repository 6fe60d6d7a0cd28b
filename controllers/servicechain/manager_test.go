package servicechain_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/caching"
	"github.com/sinter-nfv/sinter/controllers/chaininstance"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/networkfunction"
	"github.com/sinter-nfv/sinter/controllers/queue"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
	"github.com/sinter-nfv/sinter/controllers/source"
	"github.com/sinter-nfv/sinter/controllers/webhook"
)

// isAlone wants no chain to be left of another test: an operator serves all that there are.
func (w *world) isAlone() {
	w.Helper()
	var chains v1alpha1.ServiceChainList
	w.must(w.client.List(w.Context(), &chains))
	for _, c := range chains.Items {
		if c.Namespace != w.namespace {
			w.Fatalf("chain %s/%s is left of another test", c.Namespace, c.Name)
		}
	}
}

// start runs the whole operator, as its command does and with its rights, until the test ends. Its writes are counted by the world.
func (w *world) start(hook *envtest.WebhookInstallOptions) {
	w.Helper()
	w.isAlone()
	t := w.T
	skip := true // a test may start another operator in this process
	options := ctrl.Options{
		Scheme: scheme(t), Cache: caching.Options(), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(c, w.counting()), nil
		},
	}
	if hook != nil {
		options.WebhookServer = ctrlwebhook.NewServer(ctrlwebhook.Options{Host: hook.LocalServingHost, Port: hook.LocalServingPort, CertDir: hook.LocalServingCertDir})
	}
	mgr, err := ctrl.NewManager(asOperator, options)
	if err != nil {
		t.Fatal(err)
	}
	w.turns = queue.New(1)
	chains := &servicechain.Reconciler{Queue: w.turns, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Recorder: mgr.GetEventRecorder("sinter-servicechain")}
	chains.MetricsReaders, chains.ReadersChanged = w.chains.MetricsReaders, w.chains.ReadersChanged
	instances := &chaininstance.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Recorder: mgr.GetEventRecorder("sinter-chaininstance"), Pods: chaininstance.PodOptions{Image: "dataplane:test"}}
	functions := &networkfunction.Reconciler{Client: mgr.GetClient(), Clock: clock.RealClock{}, Judged: chains.Judged}
	for _, err := range []error{chains.SetupWithManager(mgr, 4), instances.SetupWithManager(mgr, 4), functions.SetupWithManager(mgr)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if hook != nil {
		if err := webhook.Setup(mgr, compile.Policy{}, source.NewStores(), w.turns, nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// eventually waits for something that the operator does.
func (w *world) eventually(what string, done func() bool) {
	w.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.tell()
			w.Fatalf("after five minutes: not %s", what)
		}
	}
}

// tell logs what the world's chains and instances say of themselves.
func (w *world) tell() {
	w.Helper()
	var chains v1alpha1.ServiceChainList
	var instances v1alpha1.ChainInstanceList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&chains, &instances, &pods} {
		if err := w.client.List(context.Background(), list, client.InNamespace(w.namespace)); err != nil {
			w.Error(err)
		}
	}
	for _, c := range chains.Items {
		for _, k := range c.Status.Conditions {
			w.Logf("%s of generation %d: %s of %d is %s, %s: %s", c.Name, c.Generation, k.Type, k.ObservedGeneration, k.Status, k.Reason, k.Message)
		}
	}
	for _, i := range instances.Items {
		has := slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == i.Name })
		w.Logf("instance %s runs program %q, with a pod: %v", i.Name, i.Spec.Program, has)
	}
}

// has tells whether a chain has a condition with a status, about its newest generation.
func (w *world) has(name, condition string, status metav1.ConditionStatus) bool {
	c := &v1alpha1.ServiceChain{}
	if w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, c) != nil {
		return false
	}
	found := meta.FindStatusCondition(c.Status.Conditions, condition)
	return found != nil && found.Status == status && found.ObservedGeneration == c.Generation
}

const (
	filter = `apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: filter}
spec:
  firewall:
    rulesFrom: {configMapRef: {name: acl, key: rules.csv}, format: CSV}
`
	acl = `apiVersion: v1
kind: ConfigMap
metadata: {name: acl}
data: {rules.csv: "action,protocol\nAccept,%s\n"}
`
)

// filtered is the chain edge with its firewall by reference.
func filtered() string {
	return strings.Replace(edge(443), `    firewall:
      rules:
      - {name: out, from: Inside, protocol: tcp, destinationPorts: [443], action: Accept}
`, "    functionRef: {name: filter}\n", 1)
}

func TestTheOperatorSeesWhatAChainDependsOn(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	var reader atomic.Value
	reader.Store(onePin)
	w.chains.MetricsReaders = func() []string { return []string{reader.Load().(string)} }
	w.chains.ReadersChanged = make(chan event.GenericEvent)
	w.start(nil)
	w.apply(filtered())
	w.eventually("told that the function is missing", func() bool { return w.has("edge", v1alpha1.ConditionSynthesized, no) })
	w.apply(filter)
	w.apply(fmt.Sprintf(acl, "tcp"))
	w.eventually("compiled with function and ConfigMap", func() bool { return w.has("edge", v1alpha1.ConditionSynthesized, yes) })
	w.eventually("a pod", func() bool {
		return w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge-0"}, &corev1.Pod{}) == nil
	})
	reads := func(pin string) func() bool {
		return func() bool { return slices.Equal(w.instance("edge-0").Spec.MetricsReaders, []string{pin}) }
	}
	w.eventually("told who reads metrics", reads(onePin))
	reader.Store(anotherPin)
	w.chains.ReadersChanged <- event.GenericEvent{Object: &v1alpha1.ServiceChain{}}
	w.eventually("told that another one reads metrics", reads(anotherPin))
	w.apply(fmt.Sprintf(acl, "udp"))
	w.eventually("a second program from the ConfigMap's change", func() bool { return len(w.programs()) == 2 })
	p := w.pod("edge-0")
	w.must(w.client.Delete(t.Context(), p, client.GracePeriodSeconds(0)))
	w.eventually("another pod in place of the one deleted", func() bool {
		again := &corev1.Pod{}
		return w.client.Get(t.Context(), client.ObjectKeyFromObject(p), again) == nil && again.UID != p.UID
	})
	w.must(w.client.Delete(t.Context(), w.instance("edge-0")))
	w.eventually("another instance in place of the one deleted", func() bool {
		i := &v1alpha1.ChainInstance{}
		return w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "edge-0"}, i) == nil && i.DeletionTimestamp.IsZero()
	})
	var events corev1.EventList
	w.eventually("events that kubectl describe shows", func() bool {
		w.must(w.client.List(t.Context(), &events, client.InNamespace(w.namespace)))
		for _, e := range events.Items {
			if e.Reason == "ProgramCreated" && e.InvolvedObject.Name == "edge" {
				return true
			}
		}
		return false
	})
}

// A chain that waits for its turn holds up no worker, and says so.
func TestChainsThatWaitToBeCompiledSayItAndKeepNobodyElseWaiting(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.start(nil)
	w.apply(edge(443))
	w.eventually("compiled", func() bool { return w.has("edge", v1alpha1.ConditionSynthesized, yes) })
	release, err := w.turns.Take(t.Context(), "other", queue.Whole)
	w.must(err)
	w.apply(edge(8443))
	for i := range 8 { // twice as many as there are workers
		w.apply(strings.Replace(edge(1000+i), "name: edge", fmt.Sprintf("name: edge%d", i), 1))
	}
	w.eventually("told that it waits", func() bool { return w.has("edge", v1alpha1.ConditionSynthesized, unknown) })
	w.says(v1alpha1.ConditionSynthesized, unknown, v1alpha1.ReasonCompiling, "waits for its namespace's turn")
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonCompiling, "")
	if program := w.instance("edge-0").Spec.Program; len(w.programs()) != 1 || program != w.programs()[0].Name {
		t.Errorf("meanwhile the instance is told to run %s, want the only program", program)
	}
	release()
	for _, name := range []string{"edge", "edge0", "edge7"} {
		w.eventually(name+" compiled", func() bool { return w.has(name, v1alpha1.ConditionSynthesized, yes) })
	}
}

func TestTheWebhookRefusesWhatDoesNotCompile(t *testing.T) {
	w := newWorld(t)
	hook := &envtest.WebhookInstallOptions{Paths: []string{filepath.Join("..", "..", "config", "webhook", "manifests.yaml")}}
	w.must(hook.Install(cluster))
	t.Cleanup(func() {
		for _, h := range hook.ValidatingWebhooks {
			if err := w.client.Delete(context.Background(), h); err != nil {
				t.Error(err)
			}
		}
		if err := hook.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	w.start(hook)
	apply := func(text string) error {
		u := document(t, text)
		u.SetNamespace(w.namespace)
		return w.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("user"), client.ForceOwnership)
	}
	w.eventually("taken", func() bool { return apply(edge(443)) == nil }) // once the webhook listens
	for name, test := range map[string]struct{ text, want string }{
		"a path that leads nowhere": {strings.Replace(edge(443), "[inside, fw", "[inside, fv", 1), `spec.path[1]: "fv": no interface or function is named "fv"; did you mean "fw"?`},
		"a gateway that is far":     {strings.Replace(edge(443), "gateway: 203.0.113.254", "gateway: 192.0.2.1", 1), "gateway"},
		"a name that is too long":   {strings.Replace(edge(443), "name: edge", "name: "+strings.Repeat("e", 53), 1), "at most 52 characters"},
	} {
		if err := apply(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the answer is %v, wanted %q", name, err, test.want)
		}
	}
	w.must(apply(filtered())) // the function may come next
	w.must(apply(fmt.Sprintf(acl, "tcp")))
	w.must(apply(filter))
	bad := strings.Replace(filter, "rulesFrom: {configMapRef: {name: acl, key: rules.csv}, format: CSV}", `rules: [{name: r, source: ["300.0.0.1"], action: Accept}]`, 1)
	w.eventually("refused, as the chain edge would not compile", func() bool {
		err := apply(bad)
		return err != nil && strings.Contains(err.Error(), "chain edge") && strings.Contains(err.Error(), "300.0.0.1")
	})

	// Nobody judges ConfigMaps. What they spoil is not the function's fault.
	w.must(apply(fmt.Sprintf(acl, "tpc")))
	if err := apply(filter + "    countRules: true\n"); err != nil {
		t.Errorf("a function of a chain that does not compile for another reason is refused: %v", err)
	}
	w.must(apply(fmt.Sprintf(acl, "tcp")))
	gone := document(t, filter)
	gone.SetNamespace(w.namespace)
	w.must(w.client.Delete(t.Context(), gone))
	w.eventually("taken with a path that leads nowhere, as the function is missing", func() bool {
		return apply(strings.Replace(filtered(), "[inside, fw", "[inside, fv", 1)) == nil
	})
	w.eventually("seen", func() bool { return w.has("edge", v1alpha1.ConditionSynthesized, no) })
	if err := apply(bad); err == nil || !strings.Contains(err.Error(), "300.0.0.1") {
		t.Errorf("a new function that is wrong itself is taken where the chain's path is wrong as well: %v", err)
	}
	if err := apply(filter); err != nil {
		t.Errorf("a new function is refused for the chain's path: %v", err)
	}
}

// TestManyChainsCostLittleEach tells what a chain costs; SINTER_CHAINS=1000 for the number in the documentation.
func TestManyChainsCostLittleEach(t *testing.T) {
	w := newWorld(t)
	n := 25
	if s := os.Getenv("SINTER_CHAINS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		w.must(err)
	}
	for i := range n/7 + 1 { // the agents take a little of an eighth core
		w.node(strconv.Itoa(i))
	}
	w.start(nil)
	// each tells what it costs until something has come true of all chains, and the operator has come to rest.
	each := func(what string, do func(), done func() bool) {
		w.taken()
		began := time.Now()
		do()
		w.eventually(what, done)
		took, writes := time.Since(began), w.rest()
		t.Logf("%d chains, %s: %v and %.1f writes each", n, what, took/time.Duration(n), float64(writes)/float64(n))
	}
	count := func(list client.ObjectList) int {
		w.must(w.client.List(t.Context(), list, client.InNamespace(w.namespace)))
		return meta.LenList(list)
	}
	each("from apply to pod", func() {
		for i := range n {
			w.apply(strings.Replace(edge(1000+i, "  placement: {nodeSelector: {test: "+w.namespace+"}}\n"), "name: edge", fmt.Sprintf("name: edge%d", i), 1))
		}
	}, func() bool { return count(&corev1.PodList{}) == n })
	each("from pod to Ready", func() {
		w.startPods()
		for i := range n {
			w.report(fmt.Sprintf("edge%d-0", i), nil)
		}
	}, func() bool {
		var chains v1alpha1.ServiceChainList
		w.must(w.client.List(t.Context(), &chains, client.InNamespace(w.namespace)))
		for i := range chains.Items {
			if !meta.IsStatusConditionTrue(chains.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
				return false
			}
		}
		return true
	})
	// On a busy machine the operator may finish late what it began before: it does so once.
	for try, writes := 0, 1; writes > 0; try++ {
		w.taken()
		for i := range n {
			w.report(fmt.Sprintf("edge%d-0", i), func(i *v1alpha1.ChainInstance) { i.Status.PacketRate = int64(1_040_000 + try) })
		}
		if writes = w.rest(); writes >= n || try == 3 {
			t.Fatalf("all agents have reported what they report all the time, and the operator has written %d times", writes)
		}
	}
}

// taken gives the number of writes since it was last asked.
func (w *world) taken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.writes)
	w.writes = nil
	return n
}

// rest waits until the operator has written nothing for a second, and gives the number of writes before.
func (w *world) rest() (sum int) {
	for {
		time.Sleep(time.Second)
		n := w.taken()
		if n == 0 {
			return sum
		}
		sum += n
	}
}
