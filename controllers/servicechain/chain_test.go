package servicechain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
)

// edge is a chain whose firewall lets one TCP port out.
func edge(port int, more ...string) string {
	return between(fmt.Sprintf(`name: fw
    firewall:
      rules:
      - {name: out, from: Inside, protocol: tcp, destinationPorts: [%d], action: Accept}`, port), "fw", more...)
}

// between is a chain of one function between two networks.
func between(function, name string, more ...string) string {
	return fmt.Sprintf(`apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: edge}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24, networkRef: {name: lan}}
  - {name: outside, address: 203.0.113.1/24, gateway: 203.0.113.254, networkRef: {name: wan, namespace: networks}}
  functions:
  - %s
  path: [inside, %s, outside]
`, function, name) + strings.Join(more, "")
}

const (
	threeInstances = "  scaling: {instances: 3}\n"
	quickRollout   = "  rollout: {observeSeconds: 10, deadlineSeconds: 60}\n"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

func TestAChainBecomesAProgramAnInstanceAndAPod(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, yes, v1alpha1.ReasonCompiled, "traffic classes")
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonWaitingForPods, "edge-0")
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonNotReported, "edge-0")
	w.says(v1alpha1.ConditionHardwareDispatch, unknown, v1alpha1.ReasonNotReported, "")
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonWaitingForPods, "")
	programs := w.programs()
	if len(programs) != 1 || programs[0].Spec.Revision != 1 || programs[0].Name != "edge-"+programs[0].Spec.Hash[:10] {
		t.Fatalf("programs are %v, wanted revision 1, named by chain and hash", programs)
	}
	pod := w.pod("edge-0")
	if got := pod.Annotations["k8s.v1.cni.cncf.io/networks"]; got != fmt.Sprintf(
		`[{"name":"lan","namespace":%q,"interface":"net1"},{"name":"wan","namespace":"networks","interface":"net2"}]`, w.namespace) {
		t.Errorf("networks of the pod are %s", got)
	}
	if pod.Status.QOSClass != corev1.PodQOSGuaranteed {
		t.Errorf("the pod is %s, wanted Guaranteed: else its cores are not its own", pod.Status.QOSClass)
	}
	engine := pod.Spec.Containers[0]
	if cpu := engine.Resources.Limits.Cpu(); cpu.MilliValue() != 1000 {
		t.Errorf("the engine asks for %s CPUs, wanted one whole", cpu)
	}
	w.run()
	for condition, reason := range map[string]string{
		v1alpha1.ConditionReady: v1alpha1.ReasonForwarding, v1alpha1.ConditionSynthesized: v1alpha1.ReasonCompiled, v1alpha1.ConditionPlaced: v1alpha1.ReasonPlaced,
		v1alpha1.ConditionProgrammed: v1alpha1.ReasonApplied, v1alpha1.ConditionHardwareDispatch: v1alpha1.ReasonInForce,
	} {
		w.says(condition, yes, reason, "")
	}
	c := w.chain("edge")
	if c.Status.Program != programs[0].Name || c.Status.Cores != 1 || c.Status.Instances != 1 || c.Status.Mpps != "1.00" || c.Status.Classes == 0 {
		t.Errorf("status is %+v", c.Status)
	}
	w.told("ProgramCreated: revision 1")
	w.told("InstanceCreated: instance edge-0")
	w.told("PodCreated: pod edge-0")
	w.told("Forwarding: Ready is True")
}

func TestASecondReconcileWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.writes, w.events = nil, nil
	w.reconcile()
	if len(w.writes)+len(w.events) > 0 {
		t.Errorf("nothing has changed, and written was %v, told %v", w.writes, w.events)
	}
	w.report("edge-0", func(i *v1alpha1.ChainInstance) { i.Status.PacketRate = 1_050_000 })
	w.reconcile()
	if len(w.writes) > 0 {
		t.Errorf("the packet rate has changed by a twentieth, and written was %v", w.writes)
	}
}

func TestABadChangeKeepsTheProgramAndSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	before := w.instance("edge-0").Spec
	w.apply(strings.Replace(edge(443, "  resources: {memory: 1Gi}\n"), "path: [inside, fw", "path: [inside, fv", 1))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `spec.path[1]: "fv": no interface or function is named "fv"; did you mean "fw"?`)
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, "keeps running")
	w.says(v1alpha1.ConditionProgrammed, yes, v1alpha1.ReasonApplied, "")
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonInvalid, "")
	if after := w.instance("edge-0").Spec; fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the instance has changed from %v to %v", before, after)
	}
	w.told("Warning Invalid: Synthesized is False")
	w.apply(edge(443))
	w.settle()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
	if n := len(w.programs()); n != 1 {
		t.Errorf("%d programs, wanted the one from before", n)
	}
}

func TestReferencesThatMeetNothingAreTold(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	chain := strings.Replace(edge(443), `    firewall:
      rules:
      - {name: out, from: Inside, protocol: tcp, destinationPorts: [443], action: Accept}
`, "    functionRef: {name: filter}\n", 1)
	w.apply(chain)
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `functionRef.name: "filter"`)
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonNoProgram, "")
	w.says(v1alpha1.ConditionPlaced, unknown, v1alpha1.ReasonNoProgram, "")
	w.apply(`apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: filter}
spec:
  firewall:
    rulesFrom: {configMapRef: {name: acl, key: rules.csv}, format: CSV}
`)
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `"acl/rules.csv": there is no such ConfigMap`)
	rules := `apiVersion: v1
kind: ConfigMap
metadata: {name: acl}
data: {rules.csv: "action,protocol\nAccept,%s\n"}
`
	w.apply(fmt.Sprintf(rules, "tpc"))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `configmap/acl/rules.csv:2`)
	w.apply(fmt.Sprintf(rules, "tcp"))
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
	// A change of the ConfigMap alone makes a new revision.
	w.apply(fmt.Sprintf(rules, "udp"))
	w.run()
	if n := len(w.programs()); n != 2 {
		t.Errorf("%d programs after the ConfigMap has changed, wanted 2", n)
	}
	w.apply(strings.Replace(chain, "functionRef: {name: filter}", "firewall: {rulesFrom: {file: acl.csv, format: CSV}}", 1))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `"acl.csv": there are no files in a cluster`)
}

func TestAnInterfaceWithoutANetworkIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(edge(443), ", networkRef: {name: lan}", "", 1))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonInterfaceUnbound, "spec.interfaces[0] (inside): set networkRef")
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonInterfaceUnbound, "")
}

func TestWhereNoNodeFitsTheConditionSaysWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	w.node("small")
	w.apply(edge(443, "  placement: {nodeSelector: {test: "+w.namespace+"}}\n  scaling: {minCores: 9}\n"))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, "TooFewCores", w.namespace+"-small")
	w.told("Warning TooFewCores")
}

func TestANamedNodeThatTheSelectorDoesNotTakeIsToldOf(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, "  placement: {nodeName: "+w.namespace+"-a, nodeSelector: {test: "+w.namespace+", nfv: \"yes\"}}\n"))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, "NodeNotSelected", `label nfv of the node selector: wanted "yes", has none`)
	w.apply(edge(443, "  placement: {nodeName: "+w.namespace+"-a, nodeSelector: {test: "+w.namespace+"}}\n"))
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
}

func TestAPodThatIsNotTakenIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	pod := w.pod("edge-0")
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "UnexpectedAdmissionError", "not enough exclusive CPUs"
	w.must(w.client.Status().Update(t.Context(), pod))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonAdmissionFailed, "not enough exclusive CPUs")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.reconcile()
	w.must(client.IgnoreNotFound(w.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))) // as kubelet ends it
	w.run()
	if again := w.pod("edge-0"); again.UID == pod.UID {
		t.Errorf("the pod is still the one that was refused")
	}
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
	w.told("PodEnded: pod edge-0 is replaced: UnexpectedAdmissionError")
}

func TestAPodOfAnotherIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	foreign := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "edge-0"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other"}}},
	}
	w.must(w.client.Create(t.Context(), foreign))
	w.apply(edge(443))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonWaitingForPods, "another owner has a pod of this name")
	result, err := w.instances.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(foreign)})
	w.must(err)
	if d := result.RequeueAfter; d <= 0 || d > time.Minute {
		t.Errorf("the instance is looked at again after %v; nothing tells it when the pod goes, want it to look within a minute", d)
	}
	w.must(w.client.Delete(t.Context(), foreign, client.GracePeriodSeconds(0)))
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
}

func TestAPodThatTheNamespaceForbidsIsToldOf(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	ns := &corev1.Namespace{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Name: w.namespace}, ns))
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	w.must(w.client.Update(t.Context(), ns))
	w.apply(edge(443))
	w.writes = nil
	w.reconcile()
	w.reconcile()
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonPodRefused, "violates PodSecurity")
	w.told("Warning PodRefused")
}

func TestAPodThatFindsNoRoomIsPlacedAgain(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.settle()
	pod := w.pod("edge-0")
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/1 nodes are available", LastTransitionTime: metav1.NewTime(w.clock.Now()),
	}}
	w.must(w.client.Status().Update(t.Context(), pod))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonUnschedulable, "0/1 nodes")
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	w.settle()
	if again := w.pod("edge-0"); again.UID == pod.UID {
		t.Errorf("the pod still waits for the nodes that have no room")
	}
}

func TestOtherCoresMakeAnotherPod(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	before := w.pod("edge-0")
	w.apply(edge(443, "  scaling: {minCores: 2}\n"))
	w.settle()
	w.must(client.IgnoreNotFound(w.client.Delete(t.Context(), before, client.GracePeriodSeconds(0))))
	w.run()
	after := w.pod("edge-0")
	if cpu := after.Spec.Containers[0].Resources.Requests.Cpu(); before.UID == after.UID || cpu.Value() != 2 {
		t.Errorf("the engine asks for %s CPUs, wanted 2", cpu)
	}
	w.told("PodOutdated")
}

func TestWhatAChainHasGoesWithIt(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	chain := w.chain("edge")
	head := metav1.ObjectMeta{Namespace: w.namespace, Name: "edge-dataplane"}
	owned := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: head}, &rbacv1.Role{ObjectMeta: head}, &rbacv1.RoleBinding{ObjectMeta: head}, &policyv1.PodDisruptionBudget{ObjectMeta: head}, &networkingv1.NetworkPolicy{ObjectMeta: head},
		w.instance("edge-0"), &w.programs()[0],
	}
	for _, o := range owned {
		w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		if !metav1.IsControlledBy(o, chain) {
			t.Errorf("%T %s has the owners %v, wanted the chain: it would stay behind", o, o.GetName(), o.GetOwnerReferences())
		}
	}
	if !metav1.IsControlledBy(w.pod("edge-0"), w.instance("edge-0")) {
		t.Errorf("the pod is not its instance's")
	}
	w.must(w.client.Delete(t.Context(), chain))
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(chain), chain); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the chain is still there (%v): nothing must keep it", err)
	}
}

// An object that others made under a name that a chain needs is not the chain's: an account may have any rights.
func TestObjectsOfOthersAreNotAdopted(t *testing.T) {
	head := metav1.ObjectMeta{Name: "edge-dataplane", Labels: map[string]string{"whose": "another"}}
	for kind, taken := range map[string]client.Object{
		"ServiceAccount": &corev1.ServiceAccount{ObjectMeta: head},
		"Role":           &rbacv1.Role{ObjectMeta: head},
		"RoleBinding": &rbacv1.RoleBinding{
			ObjectMeta: head, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{ObjectMeta: head},
		"NetworkPolicy":       &networkingv1.NetworkPolicy{ObjectMeta: head},
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			w.node("a")
			taken.SetNamespace(w.namespace)
			w.must(w.client.Create(t.Context(), taken))
			before := taken.GetResourceVersion()
			w.apply(edge(443))
			w.run()
			w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(taken), taken))
			if taken.GetResourceVersion() != before {
				t.Errorf("it was written: labels %v, owners %v", taken.GetLabels(), taken.GetOwnerReferences())
			}
			w.says(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonNameTaken, kind+" edge-dataplane is there and is not this chain's")
			var pods corev1.PodList
			w.must(w.client.List(t.Context(), &pods, client.InNamespace(w.namespace)))
			wanted := 0
			if kind == "PodDisruptionBudget" || kind == "NetworkPolicy" { // pods get nothing from it
				wanted = 1
			}
			if len(pods.Items) != wanted {
				t.Errorf("%d pods were made, want %d", len(pods.Items), wanted)
			}
			w.must(w.client.Delete(t.Context(), taken))
			w.run()
			w.pod("edge-0")
		})
	}
}

// An operator of before gave the agents of all chains of a namespace one role, for the objects of all.
func TestABindingToTheRoleOfAllChainsIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "edge-dataplane"}}
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding))
	old := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: binding.Name, Labels: binding.Labels, OwnerReferences: binding.OwnerReferences},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sinter-agent"},
	}
	w.must(w.client.Delete(t.Context(), binding))
	w.must(w.client.Create(t.Context(), old))
	w.run()
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding))
	if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "edge-dataplane"}); binding.RoleRef != want {
		t.Errorf("agents have the rights of %v, want %v", binding.RoleRef, want)
	}
	role := &rbacv1.Role{ObjectMeta: binding.ObjectMeta}
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(role), role))
	for _, rule := range role.Rules {
		if len(rule.ResourceNames) == 0 {
			t.Errorf("the rule %v is for all objects of the namespace", rule)
		}
	}
}

func TestADrainTakesOneInstanceThatWorksAndAnyThatDoesNot(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, threeInstances))
	w.run()
	budget := &policyv1.PodDisruptionBudget{}
	key := client.ObjectKey{Namespace: w.namespace, Name: "edge-dataplane"}
	right := func() bool {
		w.must(w.client.Get(t.Context(), key, budget))
		p := budget.Spec.UnhealthyPodEvictionPolicy
		return budget.Spec.MinAvailable.IntValue() == 2 && p != nil && *p == policyv1.AlwaysAllow
	}
	if !right() {
		t.Errorf("the disruption budget is %+v, wanted two of three to be kept, and pods that are not ready to go always", budget.Spec)
	}
	budget.Spec.UnhealthyPodEvictionPolicy = nil // as an operator of before made it
	w.must(w.client.Update(t.Context(), budget))
	w.settle()
	if !right() {
		t.Errorf("the disruption budget is %+v, wanted it to be put right", budget.Spec)
	}
}

func TestFewerInstancesTakeTheLastAway(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, threeInstances))
	w.run()
	w.apply(edge(443, "  scaling: {instances: 1}\n"))
	w.settle()
	var list v1alpha1.ChainInstanceList
	w.must(w.client.List(t.Context(), &list, client.InNamespace(w.namespace)))
	if len(list.Items) != 1 || list.Items[0].Name != "edge-0" {
		t.Errorf("instances are %v, wanted edge-0 alone", list.Items)
	}
	w.told("InstanceRemoved: instance edge-2")
}

func TestLostSessionsAreCountedBeyondTheirInstance(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, threeInstances))
	w.run()
	lost := func(instance string, sessions, want int64) {
		t.Helper()
		w.report(instance, func(i *v1alpha1.ChainInstance) { i.Status.LostSessions = sessions })
		w.settle()
		if n := w.chain("edge").Status.LostSessions; n != want {
			t.Errorf("%d sessions are lost, wanted %d", n, want)
		}
	}
	lost("edge-2", 5, 5)
	lost("edge-0", 2, 7)
	w.apply(edge(443, "  scaling: {instances: 1}\n"))
	w.settle()
	lost("edge-0", 2, 7)
	lost("edge-0", 3, 8)
	w.chains = &servicechain.Reconciler{Client: w.chains.Client, Live: w.chains.Live, Recorder: w, Clock: w.clock} // another operator takes over
	lost("edge-0", 3, 8)
	lost("edge-0", 4, 9)
	w.apply(edge(443, threeInstances))
	w.run()
	lost("edge-2", 1, 10) // one whose counters start again
}

// A container that ends says why on its last line. The chain says that, whatever else its silence leads to, until the container runs again.
func TestTheLastWordsOfAnEngineAreInTheCondition(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
	pod := w.pod("edge-0")
	ready := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	pod.Status.Conditions[ready].Status = corev1.ConditionFalse
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		{
			Name: "engine", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Message: "EAL: Cannot find device (0000:03:00.1)\nerror interface inside: no Ethernet device at 0000:03:00.1\n",
			}},
		},
	}
	w.must(w.client.Status().Update(t.Context(), pod))
	const cause = "edge-0: container engine ended with exit code 1 (3 restarts): EAL: Cannot find device (0000:03:00.1); interface inside: no Ethernet device at 0000:03:00.1"
	w.settle()
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonContainerFailed, cause)
	for _, reason := range []string{v1alpha1.ReasonEngineDown, v1alpha1.ReasonNoProgram} { // as the agent tells it
		w.report("edge-0", func(i *v1alpha1.ChainInstance) {
			i.Status.AppliedHash = ""
			programmed(i, no, reason, "connection refused")
		})
		w.settle()
		w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonContainerFailed, cause)
		w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonContainerFailed, cause)
	}
	w.report("edge-0", func(i *v1alpha1.ChainInstance) {
		programmed(i, no, v1alpha1.ReasonLoadFailed, "no memory for the table")
	})
	w.settle()
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonLoadFailed, "no memory for the table") // the agent knows better

	pod = w.pod("edge-0")
	pod.Status.Conditions[ready].Status = corev1.ConditionTrue
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Ready, pod.Status.ContainerStatuses[i].State = true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	w.must(w.client.Status().Update(t.Context(), pod))
	w.report("edge-0", nil)
	w.settle()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
}

func TestAPodThatDoesNotStartIsToldByItsCause(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.settle()
	pod := w.pod("edge-0")
	w.bind(pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now())}}
	w.must(w.client.Status().Update(t.Context(), pod))
	w.must(w.client.Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "edge-0.", Namespace: w.namespace}, Type: corev1.EventTypeWarning, Reason: "FailedCreatePodSandBox",
		Message:        `cannot find a network-attachment-definition (lan) in namespace (nfv): network-attachment-definitions "lan" not found`,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: pod.Name, UID: pod.UID}, LastTimestamp: metav1.NewTime(w.clock.Now()),
	}))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonWaitingForPods, "the pod is starting")
	w.clock.SetTime(w.clock.Now().Add(11 * time.Second))
	w.settle()
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonWaitingForPods,
		`edge-0: the pod is starting; its last event is FailedCreatePodSandBox: cannot find a network-attachment-definition (lan) in namespace (nfv)`)

	pod = w.pod("edge-0")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "engine", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}}}
	w.must(w.client.Status().Update(t.Context(), pod))
	w.settle()
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonContainerFailed, "edge-0: container engine: image dataplane:test cannot be pulled (ErrImagePull)")
}

func TestAgentsThatReportTroubleAreHeard(t *testing.T) {
	for name, test := range map[string]struct {
		change            func(*v1alpha1.ChainInstance)
		condition, reason string
	}{
		"the engine does not answer": {func(i *v1alpha1.ChainInstance) {
			programmed(i, no, v1alpha1.ReasonEngineDown, "the engine does not answer")
		}, v1alpha1.ConditionProgrammed, v1alpha1.ReasonEngineDown},
		"the first program cannot be loaded": {func(i *v1alpha1.ChainInstance) {
			i.Status.AppliedHash = ""
			programmed(i, no, v1alpha1.ReasonLoadFailed, "no memory")
		}, v1alpha1.ConditionProgrammed, v1alpha1.ReasonLoadFailed},
		"cores are fed by software": {func(i *v1alpha1.ChainInstance) {
			i.Status.Dispatch[0].Dispatcher = v1alpha1.DispatcherSoftware
		}, v1alpha1.ConditionHardwareDispatch, v1alpha1.ReasonSoftwareDispatch},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("a")
			w.apply(edge(443))
			w.run()
			w.report("edge-0", test.change)
			w.settle()
			w.says(test.condition, no, test.reason, "edge-0")
		})
	}
	t.Run("the pod fails its probe", func(t *testing.T) {
		w := newWorld(t)
		w.node("a")
		w.apply(edge(443))
		w.run()
		pod := w.pod("edge-0")
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		w.must(w.client.Status().Update(t.Context(), pod))
		w.settle()
		w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonPodNotReady, "edge-0")
	})
}
