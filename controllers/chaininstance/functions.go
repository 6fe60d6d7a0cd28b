package chaininstance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/cause"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/binding"
)

// drainSeconds is longer than an engine forwards whose pod ends (sinter-agent drain).
const drainSeconds = 22

// wiresContainer makes the devices between engine and functions before either starts. Each carries what the engine's largest interface does: the engine
// wants that of all its kernel interfaces. NET_ADMIN reaches no further than the pod's network namespace.
func wiresContainer(spec *v1alpha1.ChainInstanceSpec, o PodOptions) []corev1.Container {
	args := []string{"wires"}
	for i := range spec.Functions {
		if sharesMemory(&spec.Functions[i]) {
			continue
		}
		for _, name := range spec.Functions[i].Wires() {
			if k := slices.IndexFunc(spec.Interfaces, func(n v1alpha1.InterfaceBinding) bool { return n.Name == name }); k >= 0 {
				n := &spec.Interfaces[k]
				args = append(args, binding.Wire{Engine: n.Device, Function: string(n.Name), MTU: int(mtuOf(spec))}.String())
			}
		}
	}
	if len(args) == 1 {
		return nil
	}
	return []corev1.Container{{
		Name: v1alpha1.ContainerWires, Image: o.Image, ImagePullPolicy: o.PullPolicy, Command: []string{"sinter-agent"}, Args: args,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                corev1.ResourceRequirements{Requests: agentResources, Limits: agentResources},
		SecurityContext:          security("NET_ADMIN"),
	}}
}

// sharesMemory tells whether a function has sockets in v1alpha1.MemifFolder in place of network devices.
func sharesMemory(f *v1alpha1.InstanceFunction) bool { return f.Transport == v1alpha1.BlackboxMemif }

// memifVolume has the sockets of all functions that share memory with the engine, and is mounted by these and the engine alone. Functions only connect, but DPDK's
// driver refuses a folder that it may not write to, so the mount is not read-only. It is memory, which takes no more than its limit: from a disk the kubelet would
// evict the pod, and the chain with it, for what a function writes.
func memifVolume(functions []v1alpha1.InstanceFunction) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	if !slices.ContainsFunc(functions, func(f v1alpha1.InstanceFunction) bool { return sharesMemory(&f) }) {
		return nil, nil
	}
	limit := resource.MustParse("1Mi")
	return []corev1.Volume{{Name: "memif", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &limit}}}},
		[]corev1.VolumeMount{{Name: "memif", MountPath: v1alpha1.MemifFolder}}
}

// functionContainers are those of functions that someone else made. Their root file system and user are as the image has them, and they keep the
// capabilities that the node gives every container: what was made for containers runs. They get no token, no volume of the engine's, and no privilege.
func functionContainers(spec *v1alpha1.ChainInstanceSpec) (list []corev1.Container) {
	off := false
	for i := range spec.Functions {
		f := &spec.Functions[i]
		var env []corev1.EnvVar
		for side, wire := range f.Wires() {
			value := string(wire)
			if sharesMemory(f) {
				value = v1alpha1.MemifSocket(wire)
			}
			env = append(env, corev1.EnvVar{Name: []string{"SINTER_INSIDE", "SINTER_OUTSIDE"}[side], Value: value})
		}
		for _, e := range f.Env {
			env = append(env, corev1.EnvVar{Name: e.Name, Value: e.Value})
		}
		s := &corev1.SecurityContext{Privileged: &off, AllowPrivilegeEscalation: &off}
		if len(f.Capabilities) > 0 {
			s.Capabilities = &corev1.Capabilities{}
			for _, c := range f.Capabilities {
				s.Capabilities.Add = append(s.Capabilities.Add, corev1.Capability(c))
			}
		}
		r := functionResources(f)
		_, mounts := memifVolume(spec.Functions[i : i+1])
		list = append(list, corev1.Container{
			Name: string(f.Name), Image: f.Image, Command: f.Command, Args: f.Args, Env: env,
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			Resources:                corev1.ResourceRequirements{Requests: r, Limits: r}, // else the pod is not of the class Guaranteed
			SecurityContext:          s,
			VolumeMounts:             mounts,
			// Until the engine has no more packets for it. The image may have no program that waits; the kubelet does (Kubernetes 1.30).
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drainSeconds}}},
		})
	}
	return list
}

func functionResources(f *v1alpha1.InstanceFunction) corev1.ResourceList {
	cpu, memory := f.Resources.Most()
	return corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}
}

// functionNeeds are the CPUs that functions have to themselves, and the memory of all.
func functionNeeds(spec *v1alpha1.ChainInstanceSpec) (cores int, memory resource.Quantity) {
	for i := range spec.Functions {
		r := functionResources(&spec.Functions[i])
		if cpu := r[corev1.ResourceCPU]; cpu.MilliValue()%1000 == 0 {
			cores += int(cpu.Value())
		}
		memory.Add(r[corev1.ResourceMemory])
	}
	return cores, memory
}

// functionsOf says whether the containers of functions run; without any there is no such condition.
func functionsOf(pod *corev1.Pod, i *v1alpha1.ChainInstance) (v verdict) {
	if len(i.Spec.Functions) == 0 || pod == nil || pod.Spec.NodeName == "" {
		return v
	}
	if !pod.DeletionTimestamp.IsZero() {
		return no(v1alpha1.ReasonWaitingForPods, "the previous pod is terminating")
	}
	waits := ""
	for _, f := range i.Spec.Functions {
		name := string(f.Name)
		if why := cause.Of(pod, name); why != "" {
			return no(v1alpha1.ReasonContainerFailed, "%s", why)
		}
		if waits == "" && !cause.IsReady(pod, name) {
			waits = name
		}
	}
	if waits != "" {
		return no(v1alpha1.ReasonWaitingForPods, "container %s is starting", waits)
	}
	return verdict{metav1.ConditionTrue, v1alpha1.ReasonContainersRunning, "all run"}
}
