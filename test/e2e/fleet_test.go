package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const (
	fleet      = "e2e-fleet" // namespace of the chains
	fakeNodes  = 8
	nodeCores  = 4 // allocatable, of which one is shared: a pod's agent needs a part of one
	nodeVFs    = 8
	fleetSize  = 20
	vfResource = "intel.com/sriov_vf"
)

// The nodes and their kubelets are kwok's, the virtual functions a number; operator, API server and scheduler are real.
// Each chain needs a core and two virtual functions: three chains fill a node, seven nodes would just do.
func TestTwentyChainsAtOnceFindTheirNodesAndDevices(t *testing.T) {
	w := begin(t)
	startKwok(w)
	w.kubectl("create", "namespace", fleet)
	defer w.kubectl("delete", "namespace", fleet, "--timeout=120s")
	for i := range fakeNodes {
		w.apply(fakeNode(i))
		defer w.kubectl("delete", "node", fmt.Sprintf("fake-%d", i))
	}
	w.kubectl("wait", "--for=condition=Ready", "node", "-l", "type=kwok", "--timeout=60s")

	var manifests []string
	for i := range fleetSize {
		manifests = append(manifests, fleetChain(w, i))
	}
	start := time.Now()
	w.apply(strings.Join(manifests, "---\n"))
	var pods corev1.PodList
	w.eventually("every chain has a running pod", 2*time.Minute, func() error {
		if err := w.api.List(t.Context(), &pods, client.InNamespace(fleet)); err != nil {
			return err
		}
		running := 0
		for _, p := range pods.Items {
			if p.Status.Phase == corev1.PodRunning && p.Spec.NodeName != "" {
				running++
			}
		}
		if running != fleetSize {
			return fmt.Errorf("%d of %d pods run", running, fleetSize)
		}
		return nil
	})
	t.Logf("%d chains are placed in %.1f s", fleetSize, time.Since(start).Seconds())

	checkNodes(t, pods.Items)
	w.eventually("every chain says that it is placed", time.Minute, func() error {
		var chains v1alpha1.ServiceChainList
		if err := w.api.List(t.Context(), &chains, client.InNamespace(fleet)); err != nil {
			return err
		}
		for _, c := range chains.Items {
			if !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionPlaced) {
				return fmt.Errorf("chain %s: %+v", c.Name, meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionPlaced))
			}
		}
		return nil
	})
	// Nobody acts for the agents, so that the chains say what they wait for.
	var chain v1alpha1.ServiceChain
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: fleet, Name: "chain-0"}, &chain); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(chain.Status.Conditions, v1alpha1.ConditionProgrammed); c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonNotReported {
		t.Errorf("Programmed is %+v, wanted %s: there are no agents", c, v1alpha1.ReasonNotReported)
	}
}

// checkNodes tells whether no node gives more than it has.
func checkNodes(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	vfs, cores := map[string]int64{}, map[string]int64{}
	for _, p := range pods {
		engine := p.Spec.Containers[0].Resources.Limits
		q := engine[vfResource]
		vfs[p.Spec.NodeName] += q.Value()
		cores[p.Spec.NodeName] += engine.Cpu().Value()
		if q.Value() != 2 {
			t.Errorf("pod %s asks for %d virtual functions, wanted 2", p.Name, q.Value())
		}
	}
	for node := range cores {
		if !strings.HasPrefix(node, "fake-") || vfs[node] > nodeVFs || cores[node] > nodeCores {
			t.Errorf("node %s has %d virtual functions and %d cores in use, of %d and %d", node, vfs[node], cores[node], nodeVFs, nodeCores)
		}
	}
	t.Logf("cores in use by node: %v", cores)
}

// startKwok has kwok play the fake nodes' kubelets until the test ends.
func startKwok(w *world) {
	w.Helper()
	folder := strings.TrimSpace(w.must(run(w.Context(), "", "hack/cluster/kwok.sh")))
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	cmd := exec.CommandContext(ctx, folder+"/kwok", "--kubeconfig", os.Getenv("KUBECONFIG"),
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--cidr=10.245.0.0/16", "--node-ip=192.0.2.1", "--server-address=", "--node-lease-duration-seconds=40", "--config="+folder+"/stages.yaml")
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		stop()
		w.Fatal(err)
	}
	w.Cleanup(func() {
		stop()
		_ = cmd.Wait() // killed
		if w.Failed() {
			w.Logf("kwok: %s", log.String())
		}
	})
}

func fakeNode(i int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Node
metadata:
  name: fake-%d
  annotations: {kwok.x-k8s.io/node: fake, node.alpha.kubernetes.io/ttl: "0"}
  labels: {type: kwok, kubernetes.io/hostname: fake-%[1]d, nfv.sinter.dev/cpu-manager-policy: static, nfv.sinter.dev/topology-manager-policy: single-numa-node}
spec:
  taints: [{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]
status:
  capacity: &resources {cpu: "%d", memory: 32Gi, pods: "110", hugepages-2Mi: 8Gi, %s: "%d"}
  allocatable: *resources
`, i, nodeCores, vfResource, nodeVFs)
}

// fleetChain is the sample on virtual functions, on a fake node.
func fleetChain(w *world, i int) string {
	w.Helper()
	text, err := os.ReadFile(repository + "/" + sample)
	if err != nil {
		w.Fatal(err)
	}
	var chain v1alpha1.ServiceChain
	if err := yaml.Unmarshal(text, &chain); err != nil {
		w.Fatal(err)
	}
	chain.Namespace, chain.Name = fleet, fmt.Sprintf("chain-%d", i)
	for k := range chain.Spec.Interfaces {
		chain.Spec.Interfaces[k].NetworkRef, chain.Spec.Interfaces[k].ResourceName = nil, vfResource
	}
	chain.Spec.Placement.NodeSelector = map[string]string{"type": "kwok"}
	chain.Spec.Placement.Tolerations = []corev1.Toleration{{Key: "kwok.x-k8s.io/node", Operator: corev1.TolerationOpExists}}
	out, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindServiceChain, "metadata": map[string]string{"namespace": fleet, "name": chain.Name}, "spec": chain.Spec,
	})
	if err != nil {
		w.Fatal(err)
	}
	return string(out)
}
