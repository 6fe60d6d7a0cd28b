package servicechain_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// inspected is a chain with a function in a container.
func inspected(image string) string {
	return strings.NewReplacer("  functions:\n", "  - {name: ips-inside, wire: true}\n  - {name: ips-outside, wire: true}\n  functions:\n").Replace(
		between("name: ips\n    blackbox: {inside: ips-inside, outside: ips-outside, whenDown: Closed, image: \""+image+"\", args: [-v]}", "ips"))
}

// contains checks which image the function of the chain's pod has.
func (w *world) contains(image string) {
	w.Helper()
	p := w.pod("edge-0")
	if f := p.Spec.Containers[len(p.Spec.Containers)-1]; f.Name != "ips" || f.Image != image || len(p.Spec.InitContainers) != 1 {
		w.Errorf("the pod's last container is %s of image %s, behind %d others that make its wires; wanted ips of %s", f.Name, f.Image, len(p.Spec.InitContainers), image)
	}
}

func TestAChainRunsItsFunctionsInContainersOfItsPods(t *testing.T) {
	w := newWorld(t)
	w.chains.Policy.Images = []string{"registry.example/"}
	w.node("a")
	w.apply(inspected("registry.example/ips:1"))
	w.run()
	w.contains("registry.example/ips:1")
	w.says(v1alpha1.ConditionFunctionsRunning, no, v1alpha1.ReasonWaitingForPods, "edge-0: container ips is starting")
	p := w.pod("edge-0")
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "ips", Ready: true}}
	w.must(w.client.Status().Update(t.Context(), p))
	w.settle()
	w.says(v1alpha1.ConditionFunctionsRunning, yes, v1alpha1.ReasonContainersRunning, "edge-0: all run")

	// While the chain names an image that it may not run, its pod stays, and one that is missing is not made.
	w.apply(inspected("elsewhere.example/ips:2"))
	w.settle()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `spec.functions[0].blackbox.image: "elsewhere.example/ips:2": chains of this cluster may not run this image. Those that they may: registry.example/.`)
	w.contains("registry.example/ips:1")
	w.must(w.client.Delete(t.Context(), w.instance("edge-0")))
	w.settle()
	var list v1alpha1.ChainInstanceList
	if w.must(w.client.List(t.Context(), &list, client.InNamespace(w.namespace))); len(list.Items) > 0 {
		t.Errorf("instances are made for an image that the chain may not run: %+v", list.Items[0].Spec.Functions)
	}
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonInterfaceUnbound, "spec.functions[0] (ips): chains of this cluster may not run image elsewhere.example/ips:2")
	w.apply(inspected("registry.example/ips:2"))
	w.settle()
	if f := w.instance("edge-0").Spec.Functions; len(f) != 1 || f[0].Image != "registry.example/ips:2" {
		t.Errorf("the next instance has %+v", f)
	}
}

// The engine has next to nothing to do for all that the function can take.
func TestAChainGrowsByAnInstanceWhenAFunctionIsGivenTooMuch(t *testing.T) {
	sized := strings.Replace(inspected("registry.example/ips:1"), "args: [-v]", "args: [-v], scaling: {capacity: 10 kpps, targetUtilization: 60}", 1)
	a := sharing(t, sized+oneOrTwo)
	a.work, a.given = 0, 5000
	a.pass(10*time.Second, 2)
	a.holds(128)
	f := a.chain("edge").Status.Functions
	if len(f) != 1 || f[0].UtilizationPercent != 50 {
		t.Errorf("functions are %+v, want one that is used to 50 %%", f)
	}
	a.given = 9000
	a.pass(2*time.Second, 2)
	a.told("on 1 core: the chain scales from 1 to 2 instances of 1 cores: packets for function ips are 90 % of one container's capacity, the target is 60 % of each")
	a.startPods()
	a.pass(10*time.Second, 8)
	a.halves()
	if f = a.chain("edge").Status.Functions; len(f) != 1 || f[0].UtilizationPercent > 55 {
		t.Errorf("functions are %+v, want one that is used to about 45 %%", f)
	}

	a.given = 14000
	a.pass(10*time.Second, 2)
	a.says(v1alpha1.ConditionScaled, no, v1alpha1.ReasonAtMaximum, "packets for function ips are 140 % of one container's capacity, the target is 60 % of each, and there may be no more than 2: raise maxInstances")

	a.given = 4000
	a.pass(10*time.Second, 20)
	a.holds(128)
	a.told("for 2m0s fewer instances were enough; packets for function ips are 40 % of one container's capacity, the target is 60 % of each")
	a.says(v1alpha1.ConditionScaled, yes, v1alpha1.ReasonWithinBounds, "edge-0 works with 1 of 1 core")
}
