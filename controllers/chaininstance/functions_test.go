package chaininstance

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// inspected is an instance with a container of somebody else's.
func inspected() *v1alpha1.ChainInstance {
	wire := func(name v1alpha1.Name, device string, mtu int32) v1alpha1.InterfaceBinding {
		return v1alpha1.InterfaceBinding{Name: name, Driver: v1alpha1.DriverAFPacket, Device: device, MTU: mtu}
	}
	i := instanceWith(v1alpha1.InterfaceBinding{Name: "inside", Driver: v1alpha1.DriverVFIO, ResourceName: "intel.com/vf"}, wire("ips-inside", "wire1", 0), wire("ips-outside", "wire2", 9000))
	i.Spec.Functions = []v1alpha1.InstanceFunction{{Name: "ips", Inside: "ips-inside", Outside: "ips-outside", BlackboxContainer: v1alpha1.BlackboxContainer{
		Image: "registry.example/suricata:7", Command: []string{"suricata"}, Args: []string{"--af-packet"}, Env: []v1alpha1.BlackboxEnv{{Name: "RULES", Value: "all"}},
		Capabilities: []v1alpha1.BlackboxCapability{"NET_ADMIN"}, Resources: v1alpha1.BlackboxResources{CPU: resource.MustParse("2")},
	}}}
	return i
}

func TestAFunctionIsAContainerBehindWiresThatAreThereBeforeIt(t *testing.T) {
	pod := newPod(inspected(), PodOptions{Image: "x"}, nil)
	if n := len(pod.Spec.InitContainers); n != 1 {
		t.Fatalf("%d containers come first, want the one that makes wires", n)
	}
	first := pod.Spec.InitContainers[0]
	if got := strings.Join(append(first.Command, first.Args...), " "); got != "sinter-agent wires wire1=ips-inside,mtu=9000 wire2=ips-outside,mtu=9000" || first.Image != "x" {
		t.Errorf("first comes %s of image %s", got, first.Image)
	}
	plain := inspected()
	plain.Spec.Interfaces[2].MTU = 0
	if got := newPod(plain, PodOptions{}, nil).Spec.InitContainers[0].Args; !reflect.DeepEqual(got, []string{"wires", "wire1=ips-inside", "wire2=ips-outside"}) {
		t.Errorf("wires of a usual MTU are made by %v", got)
	}
	if add := first.SecurityContext.Capabilities.Add; !reflect.DeepEqual(add, []corev1.Capability{"NET_ADMIN"}) {
		t.Errorf("it has the capabilities %v", add)
	}
	engine, f := pod.Spec.Containers[0], pod.Spec.Containers[len(pod.Spec.Containers)-1]
	if args := strings.Join(engine.Args, " "); !strings.Contains(args, "--interface ips-inside,driver=AFPacket,device=wire1 ") {
		t.Errorf("the engine has %s", args)
	}
	env := []corev1.EnvVar{{Name: "SINTER_INSIDE", Value: "ips-inside"}, {Name: "SINTER_OUTSIDE", Value: "ips-outside"}, {Name: "RULES", Value: "all"}}
	if f.Name != "ips" || f.Image != "registry.example/suricata:7" || f.Command[0] != "suricata" || f.Args[0] != "--af-packet" || !reflect.DeepEqual(f.Env, env) {
		t.Errorf("the function is %+v", f)
	}
	if stop := f.Lifecycle.PreStop.Sleep; stop == nil || stop.Seconds < 20 || stop.Seconds >= *pod.Spec.TerminationGracePeriodSeconds {
		t.Errorf("when its pod ends the function ends after %v, want that it outlives the drain of its engine, and no longer than the pod may take", stop)
	}
	for _, c := range append(pod.Spec.Containers, first) {
		for name, q := range c.Resources.Limits {
			if r := c.Resources.Requests[name]; r.Cmp(q) != 0 {
				t.Errorf("container %s asks for %s of %s and may use %s: the pod is not Guaranteed", c.Name, r.String(), name, q.String())
			}
		}
		if c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("container %s has no limits, so the pod is not Guaranteed", c.Name)
		}
	}
	if cpu, memory := f.Resources.Limits.Cpu(), f.Resources.Limits.Memory(); cpu.String() != "2" || memory.String() != "512Mi" {
		t.Errorf("the function may use %s CPUs and %s", cpu, memory)
	}
}

func TestAFunctionHasNoRightsButThoseOfAnyContainerAndItsOwn(t *testing.T) {
	f := newPod(inspected(), PodOptions{Image: "x"}, nil).Spec.Containers[2]
	s := f.SecurityContext
	if *s.Privileged || *s.AllowPrivilegeEscalation || !reflect.DeepEqual(s.Capabilities, &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}) {
		t.Errorf("it has the rights %+v", s)
	}
	if len(f.VolumeMounts) > 0 {
		t.Errorf("it sees volumes of others: %v", f.VolumeMounts)
	}
	i := inspected()
	i.Spec.Functions[0].Capabilities = nil
	if s := newPod(i, PodOptions{}, nil).Spec.Containers[2].SecurityContext; s.Capabilities != nil {
		t.Errorf("one that asks for none has %+v", s.Capabilities)
	}
}

func TestAnotherFunctionIsAnotherPod(t *testing.T) {
	without := inspected()
	without.Spec.Functions = nil
	other := inspected()
	other.Spec.Functions[0].Image = "registry.example/suricata:8"
	if a, b, c := podHash(&inspected().Spec), podHash(&without.Spec), podHash(&other.Spec); a == b || a == c {
		t.Errorf("hashes are %s, without the function %s, with another image %s", a, b, c)
	}
}

func TestANodeNeedsRoomForFunctions(t *testing.T) {
	r := requestOf(inspected(), nil)
	if want := int64(256+96+512) << 20; r.Cores != 4 || r.Memory != want {
		t.Errorf("wanted are %d cores and %d bytes, want the engine's two cores and the function's, and %d", r.Cores, r.Memory, want)
	}
	part := inspected()
	part.Spec.Functions[0].Resources.CPU = resource.MustParse("1500m") // shares CPUs with others
	if r := requestOf(part, nil); r.Cores != 2 {
		t.Errorf("wanted are %d cores, want the engine's", r.Cores)
	}
}

// states are those of a pod's containers by the kubelet's word.
func states(pod *corev1.Pod, function corev1.ContainerStatus) *corev1.Pod {
	pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodRunning
	function.Name = "ips"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: containerEngine, Ready: true}, {Name: containerAgent, Ready: true}, function}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: containersNotReady}
	if function.Ready {
		ready.Status, ready.Reason = corev1.ConditionTrue, ""
	}
	pod.Status.Conditions = []corev1.PodCondition{ready}
	return pod
}

func TestAFunctionThatFailsIsToldAndItsInstanceGoesOn(t *testing.T) {
	i := inspected()
	for name, test := range map[string]struct {
		is      corev1.ContainerStatus
		pending bool
		want    verdict
	}{
		"it runs": {is: corev1.ContainerStatus{Ready: true}, want: verdict{metav1.ConditionTrue, v1alpha1.ReasonContainersRunning, "all run"}},
		"it starts": {
			is: corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}, pending: true,
			want: verdict{metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, "container ips is starting"},
		},
		"its image is not there": {
			is: corev1.ContainerStatus{Image: "registry.example/suricata:7", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}}, pending: true,
			want: verdict{metav1.ConditionFalse, v1alpha1.ReasonContainerFailed, "container ips: image registry.example/suricata:7 cannot be pulled (ErrImagePull); " +
				"have the node's registry offer it, give the ServiceAccount imagePullSecrets, or correct its name (the chart's image values, or a function's image): not found"},
		},
		"it was killed": {
			is:   corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}}},
			want: verdict{metav1.ConditionFalse, v1alpha1.ReasonContainerFailed, "container ips ended by signal 9 and was started again"},
		},
		"it ends": {
			is:   corev1.ContainerStatus{RestartCount: 3, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "no rules"}}},
			want: verdict{metav1.ConditionFalse, v1alpha1.ReasonContainerFailed, "container ips ended with exit code 1 (3 restarts): no rules"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := states(newPod(i, PodOptions{Image: "x"}, nil), test.is)
			if test.pending {
				pod.Status.Phase = corev1.PodPending // until each container was started once
			}
			if got := functionsOf(pod, i); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if !podIsReady(pod) || placedOf(pod, i).status != metav1.ConditionTrue || failing(pod) != "" {
				t.Errorf("the instance is given up: ready %t, placed %+v, failing %q", podIsReady(pod), placedOf(pod, i), failing(pod))
			}
			pod.DeletionTimestamp = new(metav1.Now())
			if got := functionsOf(pod, i); got.reason != v1alpha1.ReasonWaitingForPods {
				t.Errorf("as its pod ends: got %+v", got)
			}
			pod.Status.ContainerStatuses[1].Ready = false
			if pod.Status.Conditions[0].Status, pod.Status.Conditions[0].Reason = corev1.ConditionFalse, containersNotReady; podIsReady(pod) {
				t.Error("the pod is ready without its agent")
			}
		})
	}
	if got := functionsOf(newPod(instanceWith(), PodOptions{}, nil), instanceWith()); got.reason != "" {
		t.Errorf("without functions: got %+v", got)
	}
}

func TestAPodOnALostNodeIsNotReady(t *testing.T) {
	pod := states(newPod(inspected(), PodOptions{Image: "x"}, nil), corev1.ContainerStatus{Ready: true})
	pod.Status.Conditions[0].Status = corev1.ConditionFalse // by the node's controller; the kubelet's words on containers stay
	if podIsReady(pod) {
		t.Error("it is ready by what the kubelet said last")
	}
}

func TestWiresThatCannotBeMadeAreTold(t *testing.T) {
	i := inspected()
	pod := newPod(i, PodOptions{Image: "x"}, nil)
	pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodPending
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: v1alpha1.ContainerWires, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "sinter-agent: wire wire1=ips-inside: make the pair: operation not permitted"},
	}}}
	want := verdict{metav1.ConditionFalse, v1alpha1.ReasonContainerFailed, "container wires ended with exit code 1: wire wire1=ips-inside: make the pair: operation not permitted"}
	if got := placedOf(pod, i); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAFunctionThatGetsCopiesMayHaveOneDevice(t *testing.T) {
	i := inspected()
	i.Spec.Functions[0].Outside = ""
	pod := newPod(i, PodOptions{Image: "x"}, nil)
	if got := pod.Spec.InitContainers[0].Args; !reflect.DeepEqual(got, []string{"wires", "wire1=ips-inside,mtu=9000"}) {
		t.Errorf("wires are made by %v, want one", got)
	}
	env := pod.Spec.Containers[len(pod.Spec.Containers)-1].Env
	if !reflect.DeepEqual(env, []corev1.EnvVar{{Name: "SINTER_INSIDE", Value: "ips-inside"}, {Name: "RULES", Value: "all"}}) {
		t.Errorf("the function is told %v, want its one device", env)
	}
}

func TestAFunctionThatSharesMemoryHasSocketsInPlaceOfDevices(t *testing.T) {
	i := inspected()
	i.Spec.Functions[0].Transport = v1alpha1.BlackboxMemif
	for k := range i.Spec.Interfaces[1:] {
		n := &i.Spec.Interfaces[1+k]
		n.Driver, n.Device, n.MTU = v1alpha1.DriverMemif, v1alpha1.MemifSocket(n.Name), 0
	}
	pod := newPod(i, PodOptions{Image: "x"}, nil)
	if len(pod.Spec.InitContainers) > 0 {
		t.Errorf("there are network devices to be made: %v", pod.Spec.InitContainers)
	}
	engine, agent, f := pod.Spec.Containers[0], pod.Spec.Containers[1], pod.Spec.Containers[2]
	if args := strings.Join(engine.Args, " "); !strings.Contains(args, "--interface ips-inside,driver=Memif,device=/run/memif/ips-inside.sock ") {
		t.Errorf("the engine has %s", args)
	}
	if add := engine.SecurityContext.Capabilities.Add; !reflect.DeepEqual(add, []corev1.Capability{"IPC_LOCK", "SYS_NICE"}) {
		t.Errorf("the engine has the capabilities %v, want none for kernel interfaces: there is no such one", add)
	}
	if f.Env[0].Value != "/run/memif/ips-inside.sock" || f.Env[1].Value != "/run/memif/ips-outside.sock" {
		t.Errorf("the function is told %v", f.Env)
	}
	sees := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == v1alpha1.MemifFolder })
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == "memif" && (v.EmptyDir.Medium != corev1.StorageMediumMemory || v.EmptyDir.SizeLimit.String() != "1Mi") {
			t.Errorf("the sockets are in %v, want at most 1Mi of memory: the kubelet evicts pods that write more to a disk", v.EmptyDir)
		}
	}
	if !sees(engine) || sees(agent) || !sees(f) || len(f.VolumeMounts) != 1 {
		t.Errorf("the sockets are seen by engine: %t, agent: %t, function: %t; want engine and function, which sees nothing else: %v", sees(engine), sees(agent), sees(f), f.VolumeMounts)
	}
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == f.VolumeMounts[0].Name && v.EmptyDir != nil }) {
		t.Errorf("the volume of the sockets is not there: %v", pod.Spec.Volumes)
	}
}
