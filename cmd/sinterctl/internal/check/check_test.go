package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/placement"
)

// forbidden is RBAC's refusal of what is denied.
func (w *world) forbidden(what string) error {
	if !slices.Contains(w.denied, what) {
		return nil
	}
	verb, kind, _ := strings.Cut(what, " ")
	return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", fmt.Errorf("User %q cannot %s resource %q", "jane", verb, kind))
}

const (
	wrongDriver = "edge-0: container engine ended with exit code 1: interface outside: VF 0000:03:00.1 is bound to iavf and has no interface in the pod: bind it to vfio-pci on the node"
	sharedGroup = "edge-0: container engine ended with exit code 1: EAL: 0000:03:00.1 VFIO group is not viable! Not all devices in IOMMU group bound to VFIO or unbound"
)

// faults are what may be wrong with a cluster.
var faults = map[string]func(*world){
	"hugepages: none": func(w *world) {
		for _, n := range w.nodes {
			n.Status.Allocatable[pages] = resource.MustParse("0")
			n.Status.Allocatable["hugepages-1Gi"] = resource.MustParse("4Gi")
		}
	},
	"virtual function: none": func(w *world) {
		for _, n := range w.nodes {
			delete(n.Status.Allocatable, "example.com/vf")
		}
	},
	"driver: wrong":       func(w *world) { w.says(metav1.ConditionFalse, v1alpha1.ReasonContainerFailed, wrongDriver) },
	"IOMMU group: shared": func(w *world) { w.says(metav1.ConditionFalse, v1alpha1.ReasonContainerFailed, sharedGroup) },
	"image: of the chain": func(w *world) {
		w.says(metav1.ConditionFalse, v1alpha1.ReasonContainerFailed, "edge-0: container engine: image r.example/d:1 cannot be pulled (ErrImagePull): not found")
	},
	"Multus: absent":         func(w *world) { w.kinds, w.network = w.kinds[1:], nil },
	"network: no attachment": func(w *world) { w.network.SetName("other") },
	"image: of the operator": func(w *world) {
		w.waits(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: `Back-off pulling image "registry.example.com/sinter-operator:v1"`}}, corev1.ContainerState{})
	},
	"operator: ends": func(w *world) {
		w.waits(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}})
	},
	"operator: not scheduled": func(w *world) {
		w.waits(corev1.ContainerState{}, corev1.ContainerState{})
		w.pod.Status.ContainerStatuses = nil
		w.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available: 3 Insufficient cpu"}}
	},
	"operator: none, with chains": func(w *world) { w.operator, w.hook = nil, nil },
	"operator: none, only kinds":  func(w *world) { w.operator, w.hook, w.chain = nil, nil, nil },
	"operator: one of two":        func(w *world) { w.operator.Spec.Replicas = new(int32(2)) },
	"operator: scaled down":       func(w *world) { w.operator.Spec.Replicas, w.operator.Status.AvailableReplicas = new(int32(0)), 0 },
	"CPU manager: none by the kubelet": func(w *world) {
		for name := range w.kubelet {
			w.kubelet[name] = "none"
		}
	},
	"CPU manager: none by one label": func(w *world) {
		w.kubelet = nil
		w.nodes[1].Labels[v1alpha1.LabelCPUManager] = "none"
	},
	"CPU manager: not known": func(w *world) {
		w.denied = []string{"get nodes/proxy"}
		for _, n := range w.nodes {
			n.Labels = nil
		}
	},
	"CPU manager: a label that is wrong": func(w *world) { w.nodes[2].Labels[v1alpha1.LabelCPUManager] = "none" },
	"webhook: no endpoint":               func(w *world) { w.endpoints = nil },
	"webhook: no authority":              func(w *world) { w.hook.Webhooks[0].ClientConfig.CABundle = nil },
	"webhook: unreachable": func(w *world) {
		w.judged = apierrors.NewInternalError(errors.New(`failed calling webhook "vservicechain.nfv.sinter.dev": failed to call webhook: Post "https://sinter-webhook.sinter-system.svc:443/validate": context deadline exceeded`))
	},
	"webhook: certificate": func(w *world) {
		w.judged = apierrors.NewInternalError(errors.New(`failed calling webhook "vservicechain.nfv.sinter.dev": x509: certificate signed by unknown authority`))
	},
	"webhook: another one": func(w *world) {
		w.judged = apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example.com": no endpoints available for service "policy"`))
	},
	"webhook: not asked": func(w *world) { w.judged = nil },
	"webhook: no such namespace": func(w *world) {
		w.judged = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "lab")
	},
	"clock: of a node, ahead":  func(w *world) { w.leases[1].Spec.RenewTime = new(metav1.NewMicroTime(now.Add(2 * time.Minute))) },
	"clock: of a node, behind": func(w *world) { w.leases[0].Spec.RenewTime = new(metav1.NewMicroTime(now.Add(-5 * time.Minute))) },
	"clock: of this computer": func(w *world) {
		w.server.Time = now.Add(time.Hour)
		for _, l := range w.leases {
			l.Spec.RenewTime = new(metav1.NewMicroTime(now.Add(time.Hour)))
		}
	},
	"clock: not told": func(w *world) { w.server.Time = time.Time{} },
	"API server: old": func(w *world) { w.server.Version = "v1.30.9" },
	"nodes: not ready, cordoned, tainted": func(w *world) {
		w.nodes[0].Status.Conditions[0].Status = corev1.ConditionUnknown
		w.nodes[1].Spec.Unschedulable = true
		w.nodes[2].Spec.Taints = []corev1.Taint{{Key: "nfv", Effect: corev1.TaintEffectNoSchedule}}
	},
	"nodes: one is not ready": func(w *world) { w.nodes[0].Status.Conditions[0].Status = corev1.ConditionFalse },
	"CPUs: too few": func(w *world) {
		w.chain.Spec.Scaling.MaxCores = 8
	},
	"kinds: one is missing": func(w *world) { w.kinds = w.kinds[:len(w.kinds)-1] },
	"kinds: another version": func(w *world) {
		w.kinds[len(w.kinds)-1].Version = "v1"
	},
	"chain: a new spec": func(w *world) { w.chain.Generation = 3 },
	"chain: a rollout":  func(w *world) { w.says(metav1.ConditionFalse, v1alpha1.ReasonRollingOut, "1 of 2 instances") },
	"chain: not compiled": func(w *world) {
		w.says(metav1.ConditionFalse, v1alpha1.ReasonInvalid, "spec.path[1]: no such function")
	},
	"chain: another reason": func(w *world) {
		w.says(metav1.ConditionFalse, v1alpha1.ReasonEngineDown, "edge-0: the engine does not answer:\n connection refused")
	},
}

// Each fault is told with its cause and a remedy, and nothing else is complained of.
func TestEachFaultIsToldWithItsRemedy(t *testing.T) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		w := newWorld()
		faults[name](w)
		report := w.run(t)
		fmt.Fprintf(&b, "%s\n", name)
		told := 0
		for _, l := range report.Checks {
			if l.Result == OK {
				continue
			}
			if told++; l.Remedy == "" {
				t.Errorf("%s: no remedy for %q", name, l.Message)
			}
			fmt.Fprintf(&b, "  %s %s/%s: %s\n    %s\n", l.Result, l.Group, l.Check, l.Message, l.Remedy)
		}
		if told == 0 {
			t.Errorf("%s: nothing is told", name)
		}
		if (report.Err() != nil) != (report.Errors > 0) {
			t.Errorf("%s: %d errors, and the error %v", name, report.Errors, report.Err())
		}
	}
	golden(t, "faults.txt", b.String())
}

// Faults that have nothing to do with Sinter's own objects are the same before it is installed.
func TestFaultsOfAClusterAreTheSameBeforeTheInstallation(t *testing.T) {
	for name, fault := range faults {
		room, _, _ := strings.Cut(name, ":")
		if !slices.Contains([]string{"hugepages", "virtual function", "CPU manager", "clock", "API server", "Multus"}, room) {
			continue
		}
		told := map[bool][]string{}
		for _, before := range []bool{false, true} {
			w := newWorld()
			fault(w)
			if before {
				w.uninstall()
				if room == "Multus" {
					w.kinds = nil
				}
			}
			for _, l := range w.run(t).Checks {
				if l.Result != OK {
					told[before] = append(told[before], fmt.Sprint(l.Result, " ", l.Check))
				}
			}
		}
		if !slices.Equal(told[false], told[true]) {
			t.Errorf("%s: with Sinter %q, before %q", name, told[false], told[true])
		}
	}
}

func TestAClusterThatIsWell(t *testing.T) {
	golden(t, "well.txt", newWorld().text(t))
	before := newWorld()
	before.uninstall()
	golden(t, "before.txt", before.text(t))
	report := newWorld().run(t)
	if report.Err() != nil || !report.Installed {
		t.Errorf("the error is %v of %+v", report.Err(), report)
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "well.json", string(text)+"\n")
}

func TestTextOfFaults(t *testing.T) {
	w := newWorld()
	faults["hugepages: none"](w)
	faults["webhook: no endpoint"](w)
	faults["IOMMU group: shared"](w)
	faults["CPU manager: not known"](w)
	golden(t, "wrong.txt", w.text(t))
}

// Whoever may see little gets what can be seen; the rest is unknown, and no error.
func TestRightsThatAreMissingAreNoFaults(t *testing.T) {
	w := newWorld()
	w.denied = []string{
		"list nodes", "list leases", "list networkattachmentdefinitions", "list deployments", "list validatingwebhookconfigurations", "list servicechains", "get nodes/proxy",
	}
	golden(t, "forbidden.txt", w.text(t))
	w = newWorld()
	w.denied = []string{"list leases", "create servicechains", "list servicechains -A"}
	golden(t, "forbidden-some.txt", w.text(t))
	w = newWorld()
	w.denied = []string{"list servicechains"}
	if got := w.text(t); !strings.Contains(got, "which ones chains name is not known") || !strings.Contains(got, "unknown  needs the right to list servicechains\n") {
		t.Errorf("without the right to list chains it says\n%s", got)
	}
	w = newWorld()
	w.uninstall()
	w.denied = []string{"create customresourcedefinitions", "create clusterroles"}
	golden(t, "forbidden-install.txt", w.text(t))
}

func TestAServerThatDoesNotAnswerEndsTheCheck(t *testing.T) {
	w := newWorld()
	w.answers = errors.New("dial tcp 192.0.2.1:6443: i/o timeout")
	if r := w.run(t); len(r.Checks) != 1 || r.Err() == nil || !strings.Contains(r.Checks[0].Message, "does not answer: dial tcp") {
		t.Errorf("it is told %+v, %v", r, r.Err())
	}
}

// A large cluster is told in few lines.
func TestManyNodesAndChainsAreSummedUp(t *testing.T) {
	w := newWorld()
	faults["hugepages: none"](w)
	for k := range 50 {
		n := w.nodes[0].DeepCopy()
		n.Name = fmt.Sprintf("worker-%02d", k)
		c := w.chain.DeepCopy()
		c.Name, c.Status.Conditions[0].Status = fmt.Sprintf("edge-%02d", k), metav1.ConditionFalse
		c.Spec.Interfaces[0].NetworkRef.Name = fmt.Sprintf("net-%02d", k)
		w.more = append(w.more, n, c)
	}
	got := w.text(t)
	for _, want := range []string{"and 43 more", "and 40 more are not ready", "50 NetworkAttachmentDefinitions"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines > 60 {
		t.Errorf("it has %d lines", lines)
	}
}

// A node is judged by the chains that may run on it.
func TestNodesOfChainsAreThoseThatTheySelect(t *testing.T) {
	w := newWorld()
	w.nodes[1].Labels["nfv"] = "yes"
	w.nodes[1].Spec.Taints = []corev1.Taint{{Key: "nfv", Effect: corev1.TaintEffectNoSchedule}}
	w.nodes[0].Status.Allocatable = nil
	w.chain.Spec.Placement = v1alpha1.Placement{NodeSelector: map[string]string{"nfv": "yes"}, Tolerations: []corev1.Toleration{{Key: "nfv", Operator: corev1.TolerationOpExists}}}
	report := w.run(t)
	if report.Errors > 0 || !slices.ContainsFunc(report.Checks, func(l Line) bool {
		return strings.HasPrefix(l.Message, "1 node may run chains, not node-0 (no chain selects it)")
	}) {
		t.Errorf("it is told %+v", report)
	}
}

// The command line does not import the operator, so it names some of its reasons by itself.
func TestReasonsAreThoseOfTheOperator(t *testing.T) {
	for _, r := range []placement.Reason{placement.TooFewHugepages, placement.TooFewDevices, placement.CPUManagerNotStatic, placement.TooFewCores, placement.TooFewFreeCores} {
		if remedies[string(r)] == "" {
			t.Errorf("no remedy for %s", r)
		}
	}
}

func TestTheOldestKubernetesIsThatOfTheChart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "charts", "sinter", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ KubeVersion string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	if want := ">=" + oldest + "-0"; chart.KubeVersion != want {
		t.Errorf("the chart wants Kubernetes %s, the check %s", chart.KubeVersion, want)
	}
}
