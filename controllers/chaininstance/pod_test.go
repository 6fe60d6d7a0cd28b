package chaininstance

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
)

func instanceWith(interfaces ...v1alpha1.InterfaceBinding) *v1alpha1.ChainInstance {
	return &v1alpha1.ChainInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "nfv", Name: "edge-0", UID: "u", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindServiceChain, Name: "edge", UID: "c", Controller: new(true)},
		}},
		Spec: v1alpha1.ChainInstanceSpec{
			Chain: "edge", Program: "edge-1", Cores: 2, Interfaces: interfaces,
			Resources: v1alpha1.Resources{Hugepages: resource.MustParse("1Gi"), Memory: resource.MustParse("256Mi")},
		},
	}
}

func TestThePodAsksForWhatItsInterfacesNeed(t *testing.T) {
	for name, test := range podsOf {
		t.Run(name, func(t *testing.T) {
			pod := newPod(instanceWith(test.interfaces...), PodOptions{Image: "x"}, nil)
			engine := pod.Spec.Containers[0]
			var added []string
			for _, c := range engine.SecurityContext.Capabilities.Add {
				added = append(added, string(c))
			}
			if got := strings.Join(added, " "); got != test.capabilities {
				t.Errorf("capabilities are %s, wanted %s", got, test.capabilities)
			}
			if got := pod.Annotations[networksAnnotation]; got != test.networks {
				t.Errorf("networks are %s, wanted %s", got, test.networks)
			}
			if got := strings.Join(engine.Args, " "); !strings.Contains(got, test.arguments) {
				t.Errorf("arguments are %s, without %s", got, test.arguments)
			}
			vfs := engine.Resources.Limits["intel.com/vf"]
			if vfs.Value() != test.devices {
				t.Errorf("%d virtual functions, wanted %d", vfs.Value(), test.devices)
			}
			if len(pod.Spec.ResourceClaims) != test.claims || len(engine.Resources.Claims) != test.claims {
				t.Errorf("claims are %v, wanted %d", pod.Spec.ResourceClaims, test.claims)
			}
		})
	}
}

// podsOf are what pods ask for by their interfaces.
var podsOf = map[string]struct {
	interfaces   []v1alpha1.InterfaceBinding
	capabilities string
	networks     string
	arguments    string
	devices      int64 // of intel.com/vf
	claims       int
}{
	"a kernel interface by packet sockets": {
		interfaces:   []v1alpha1.InterfaceBinding{{Name: "inside", Driver: v1alpha1.DriverAFPacket, Device: "net1", Network: "nfv/lan"}},
		capabilities: "IPC_LOCK SYS_NICE NET_RAW NET_ADMIN", networks: `[{"name":"lan","namespace":"nfv","interface":"net1"}]`,
		arguments: "--interface inside,network=nfv/lan,driver=AFPacket,device=net1",
	},
	"a kernel interface by AF_XDP": {
		interfaces:   []v1alpha1.InterfaceBinding{{Name: "inside", Driver: v1alpha1.DriverAFXDP, Device: "net1", Network: "nfv/lan"}},
		capabilities: "IPC_LOCK SYS_NICE NET_RAW NET_ADMIN BPF", networks: `[{"name":"lan","namespace":"nfv","interface":"net1"}]`,
		arguments: "--interface inside,network=nfv/lan,driver=AFXDP,device=net1",
	},
	"a network of jumbo frames": {
		interfaces: []v1alpha1.InterfaceBinding{
			{Name: "inside", Driver: v1alpha1.DriverAFPacket, Device: "net1", Network: "nfv/lan", MTU: 9000},
			{Name: "outside", Driver: v1alpha1.DriverAFPacket, Device: "eth0"},
		},
		capabilities: "IPC_LOCK SYS_NICE NET_RAW NET_ADMIN", networks: `[{"name":"lan","namespace":"nfv","interface":"net1"}]`,
		arguments: "-- sinter-engine --mtu 9000",
	},
	"two virtual functions of a resource": {
		interfaces: []v1alpha1.InterfaceBinding{
			{Name: "inside", Driver: v1alpha1.DriverVFIO, Device: "net1", Network: "nfv/lan", ResourceName: "intel.com/vf"},
			{Name: "outside", Driver: v1alpha1.DriverVFIO, ResourceName: "intel.com/vf"},
		},
		capabilities: "IPC_LOCK SYS_NICE", networks: `[{"name":"lan","namespace":"nfv","interface":"net1"}]`, devices: 2,
		arguments: "--interface outside,resource=intel.com/vf,driver=VFIO",
	},
	"a claim": {
		interfaces:   []v1alpha1.InterfaceBinding{{Name: "inside", Driver: v1alpha1.DriverVFIO, ResourceClaimTemplateName: "vf"}},
		capabilities: "IPC_LOCK SYS_NICE", claims: 1, arguments: "--interface inside,claim=inside,driver=VFIO",
	},
}

// The restricted profile of Pod Security, save for user and capabilities, which pod.go argues.
func TestNoContainerHasMoreRightsThanIsArgued(t *testing.T) {
	pod := newPod(instanceWith(v1alpha1.InterfaceBinding{Name: "a", Driver: v1alpha1.DriverVFIO, ResourceName: "intel.com/vf"}), PodOptions{Image: "x"}, nil)
	if p := pod.Spec.SecurityContext.SeccompProfile; p == nil || p.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("seccomp profile is %v, wanted RuntimeDefault", p)
	}
	if pod.Spec.HostNetwork || pod.Spec.HostPID || pod.Spec.HostIPC || *pod.Spec.AutomountServiceAccountToken {
		t.Errorf("the pod shares the host's namespaces, or every container has a token")
	}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("volume %s is a folder of the host", v.Name)
		}
	}
	for _, c := range pod.Spec.Containers {
		s := c.SecurityContext
		if *s.Privileged || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("container %s: %+v", c.Name, s)
		}
		if c.Name == containerAgent && len(s.Capabilities.Add) > 0 {
			t.Errorf("the agent has capabilities %v, wanted none", s.Capabilities.Add)
		}
		for name, q := range c.Resources.Limits {
			if r := c.Resources.Requests[name]; r.Cmp(q) != 0 {
				t.Errorf("container %s asks for %s of %s and may use %s: the pod is not Guaranteed", c.Name, r.String(), name, q.String())
			}
		}
	}
}

func TestAnEngineThatAnswersLateIsNotKilled(t *testing.T) {
	i := instanceWith(v1alpha1.InterfaceBinding{Name: "inside", Driver: v1alpha1.DriverAFPacket, Device: "net1", Network: "nfv/lan"})
	live := newPod(i, PodOptions{}, nil).Spec.Containers[0].LivenessProbe
	text, given := strings.CutPrefix(live.Exec.Command[len(live.Exec.Command)-1], "--timeout=")
	waits, err := time.ParseDuration(text)
	if !given || err != nil {
		t.Fatalf("command %v: want a --timeout (%v)", live.Exec.Command, err)
	}
	if all := waits * time.Duration(live.FailureThreshold); all <= engine.LongestSilence {
		t.Errorf("%d probes wait for %s in all, and an engine may be silent for %s", live.FailureThreshold, all, engine.LongestSilence)
	}
	if kubelet := time.Duration(live.TimeoutSeconds) * time.Second; kubelet <= waits {
		t.Errorf("kubelet waits for %s, the probe for %s", kubelet, waits)
	}
	if stuck := live.FailureThreshold * live.PeriodSeconds; stuck > 60 {
		t.Errorf("a core that does no rounds is borne for %d s, want a minute at most", stuck)
	}
}

func TestThePodOfAChainThatSharesItsStateMeetsOthers(t *testing.T) {
	i := instanceWith(v1alpha1.InterfaceBinding{Name: "a", Driver: v1alpha1.DriverAFPacket, Device: "net1"})
	alone := newPod(i, PodOptions{Image: "x"}, nil)
	if args := alone.Spec.Containers[0].Args; slices.Contains(args, "--no-shards") || len(alone.Spec.Containers[1].Args) != 1 {
		t.Errorf("a pod with state of its own is started with %v and %v", args, alone.Spec.Containers[1].Args)
	}
	i.Spec.Shared = true
	pod := newPod(i, PodOptions{Image: "x"}, nil)
	engine, agent := pod.Spec.Containers[0], pod.Spec.Containers[1]
	if got := strings.Join(engine.Args, " "); !strings.HasSuffix(got, "-- sinter-engine --no-shards") {
		t.Errorf("the engine is started with %s: it is to begin without shards", got)
	}
	if got := strings.Join(agent.Args, " "); got != "run --chain-secret /etc/sinter/chain/secret --peers-bind :9443" {
		t.Errorf("the agent is started with %s", got)
	}
	for _, c := range pod.Spec.Containers {
		mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/sinter/chain" && m.ReadOnly })
		if mounted != (c.Name == containerAgent) {
			t.Errorf("container %s has the chain's secret: %t, want the agent alone to have it", c.Name, mounted)
		}
	}
	k := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })
	if k < 0 || pod.Spec.Volumes[k].Secret.SecretName != "edge-dataplane-c" || *pod.Spec.Volumes[k].Secret.DefaultMode != 0o400 {
		t.Errorf("volumes are %+v, want the chain's secret, for root alone", pod.Spec.Volumes)
	}
	if pod.Annotations[v1alpha1.AnnotationPodHash] == alone.Annotations[v1alpha1.AnnotationPodHash] {
		t.Error("a pod with state of its own is taken for one that shares it")
	}
}

func TestOnlyWhatThePodIsMadeFromReplacesIt(t *testing.T) {
	i := instanceWith(v1alpha1.InterfaceBinding{Name: "a", Driver: v1alpha1.DriverAFPacket, Device: "net1"})
	before := podHash(&i.Spec)
	i.Spec.Program = "edge-2"
	if podHash(&i.Spec) != before {
		t.Errorf("another program replaces the pod; it is to be loaded in place")
	}
	i.Spec.Cores = 3
	if podHash(&i.Spec) == before {
		t.Errorf("another number of cores leaves the pod as it is")
	}
}

func TestAnAgentThatExportsFlowsHasMore(t *testing.T) {
	i := instanceWith()
	plain := podHash(&i.Spec)
	i.Spec.FlowMemoryMiB = 96
	if podHash(&i.Spec) == plain {
		t.Error("the pod stays as it is")
	}
	pod := newPod(i, PodOptions{Image: "x"}, nil)
	agent := pod.Spec.Containers[1]
	if got := agent.Resources.Limits.Memory().String(); got != "192Mi" {
		t.Errorf("memory is %s, want 192Mi", got)
	}
	if got := agent.Resources.Limits.Cpu().String(); got != "200m" {
		t.Errorf("cpu is %s, want 200m", got)
	}
	if !slices.ContainsFunc(agent.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" }) {
		t.Error("the garbage collector does not know the limit")
	}
	if got, want := requestOf(i, nil).Memory, int64((256+192)<<20); got != want {
		t.Errorf("a node is asked for %d bytes, want %d", got, want)
	}
}

func TestAnAgentThatBuildsTablesHasMore(t *testing.T) {
	i := instanceWith()
	plain := podHash(&i.Spec)
	i.Spec.TableMemoryMiB = 512
	if podHash(&i.Spec) == plain {
		t.Error("the pod stays as it is")
	}
	pod := newPod(i, PodOptions{Image: "x"}, nil)
	agent := pod.Spec.Containers[1]
	if got, want := agent.Resources.Limits.Memory().String(), "608Mi"; got != want || !agent.Resources.Requests.Memory().Equal(*agent.Resources.Limits.Memory()) {
		t.Errorf("memory is %s of %s, want %s of both", agent.Resources.Requests.Memory(), got, want)
	}
	if got := agent.Resources.Limits.Cpu().String(); got != "200m" {
		t.Errorf("cpu is %s, want 200m", got)
	}
	if !slices.ContainsFunc(agent.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" }) {
		t.Error("the collector does not know the limit")
	}
	if got := pod.Spec.Volumes[0].EmptyDir.SizeLimit.String(); got != "192Mi" {
		t.Errorf("the folder has room for %s, want 192Mi", got)
	}
}
