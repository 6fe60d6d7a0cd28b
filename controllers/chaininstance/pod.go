package chaininstance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/binding"
)

// PodOptions are the operator's part of a pod.
type PodOptions struct {
	Image         string
	PullPolicy    corev1.PullPolicy
	PriorityClass string
}

// The agent's share. It works on the node's shared CPUs, so that the engine has its own
// to itself; requests equal limits for the pod to be of the class Guaranteed.
var agentResources = corev1.ResourceList{
	corev1.ResourceCPU:    resource.MustParse("50m"),
	corev1.ResourceMemory: resource.MustParse("96Mi"),
}

// agentResourcesOf is the agent's share of an instance. One that builds tables of routes has a text, its prefixes, and what they say in memory, and
// what it sends to the engine. One that exports flows has those that wait.
func agentResourcesOf(spec *v1alpha1.ChainInstanceSpec) corev1.ResourceList {
	list := agentResources.DeepCopy()
	if more := spec.TableMemoryMiB + spec.FlowMemoryMiB; more > 0 {
		list[corev1.ResourceCPU] = resource.MustParse("200m")
		list[corev1.ResourceMemory] = resource.MustParse(fmt.Sprintf("%dMi", 96+more))
	}
	return list
}

const (
	containerEngine = v1alpha1.ContainerEngine
	containerAgent  = v1alpha1.ContainerAgent

	volumeShared = "sinter"
	volumeInfo   = "podinfo"
	volumeToken  = "api-access"
	volumePages  = "hugepages"
	volumeSecret = "chain-secret"

	// secretFolder has the secret by which the pods of a chain know each other.
	secretFolder = "/etc/sinter/chain"

	// sharedFolder has control socket, last good programs, and DPDK's files.
	sharedFolder = "/run/sinter"

	portProbes = 8081

	// An engine that answers late is not dead: it builds a program, or tries a device. So a probe waits, longer in all than agent.LongestSilence;
	// an engine that is gone, or has a core that does no rounds, fails it at once.
	probeSeconds  = 60
	probeFailures = 5

	// graceSeconds is longer than what a drain takes.
	graceSeconds = 40

	networksAnnotation      = "k8s.v1.cni.cncf.io/networks"
	networkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status"
)

// podHash identifies what a pod is made from. The program is not part of it, as it is
// loaded in place; neither is the image: an upgrade of the operator takes no packets
// away. To move to the new engine, delete the pod.
func podHash(spec *v1alpha1.ChainInstanceSpec) string {
	parts := []any{spec.Chain, spec.Cores, spec.Interfaces, spec.Placement, spec.Resources}
	if spec.Shared {
		parts = append(parts, "shared")
	}
	if spec.TableMemoryMiB > 0 {
		parts = append(parts, "tables", spec.TableMemoryMiB)
	}
	if spec.FlowMemoryMiB > 0 {
		parts = append(parts, "flows", spec.FlowMemoryMiB)
	}
	if len(spec.Functions) > 0 {
		parts = append(parts, "functions", spec.Functions)
	}
	data, err := json.Marshal(parts)
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// newPod is the data-plane pod of an instance.
func newPod(i *v1alpha1.ChainInstance, o PodOptions, affinity *corev1.NodeAffinity) *corev1.Pod {
	spec := &i.Spec
	off := false
	grace := int64(graceSeconds)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: i.Namespace, Name: i.Name,
			Labels: map[string]string{
				v1alpha1.LabelChain: spec.Chain, v1alpha1.LabelComponent: v1alpha1.ComponentDataPlane,
				"app.kubernetes.io/name": "sinter", "app.kubernetes.io/managed-by": "sinter-operator",
			},
			Annotations:     map[string]string{v1alpha1.AnnotationPodHash: podHash(spec), "kubectl.kubernetes.io/default-container": containerEngine},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(i, v1alpha1.GroupVersion.WithKind(v1alpha1.KindChainInstance))},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: v1alpha1.DataPlaneName(spec.Chain),
			// Only the agent has a token, by a volume of its own.
			AutomountServiceAccountToken:  &off,
			EnableServiceLinks:            &off,
			PriorityClassName:             o.PriorityClass,
			TerminationGracePeriodSeconds: &grace,
			NodeSelector:                  spec.Placement.NodeSelector,
			Tolerations:                   spec.Placement.Tolerations,
			TopologySpreadConstraints:     spread(spec),
			SecurityContext:               &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers:                    []corev1.Container{engineContainer(spec, o), agentContainer(spec, o)},
			Volumes:                       volumes(i),
		},
	}
	if len(spec.Functions) > 0 {
		pod.Spec.InitContainers = wiresContainer(spec, o)
		pod.Spec.Containers = append(pod.Spec.Containers, functionContainers(spec)...)
		memif, mounts := memifVolume(spec.Functions)
		pod.Spec.Volumes = append(pod.Spec.Volumes, memif...)
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, mounts...)
	}
	if affinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: affinity}
	}
	if networks := networksOf(spec); networks != "" {
		pod.Annotations[networksAnnotation] = networks
	}
	for _, n := range spec.Interfaces {
		if n.ResourceClaimTemplateName != "" {
			template := n.ResourceClaimTemplateName
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: string(n.Name), ResourceClaimTemplateName: &template})
		}
	}
	return pod
}

func engineContainer(spec *v1alpha1.ChainInstanceSpec, o PodOptions) corev1.Container {
	args := []string{"exec-engine", "--workers", fmt.Sprint(spec.Cores), "--network-status", "/etc/podinfo/network-status"}
	for _, n := range spec.Interfaces {
		args = append(args, "--interface", bindingOf(&n).String())
	}
	engine := []string{"--", "sinter-engine"}
	if mtu := mtuOf(spec); mtu > 0 {
		engine = append(engine, "--mtu", fmt.Sprint(mtu))
	}
	if spec.Shared {
		engine = append(engine, "--no-shards")
	}
	probe := func(args ...string) corev1.ProbeHandler {
		return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: append([]string{"sinter-agent", "probe"}, args...)}}
	}
	resources := engineResources(spec)
	return corev1.Container{
		Name:            containerEngine,
		Image:           o.Image,
		ImagePullPolicy: o.PullPolicy,
		Command:         []string{"sinter-agent"},
		Args:            append(args, engine...),
		// Its last words become the reason of the chain's condition.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		// Where DPDK keeps what other processes of its may read: the root file system is read-only.
		Env:             []corev1.EnvVar{{Name: "RUNTIME_DIRECTORY", Value: sharedFolder}},
		Resources:       resources,
		SecurityContext: security(EngineCapabilities(spec)...),
		// Multus may be slow with the networks' status, and drivers with their devices.
		StartupProbe: &corev1.Probe{ProbeHandler: probe(), PeriodSeconds: 1, FailureThreshold: 240, TimeoutSeconds: 6},
		// The engine is asked itself: an agent that is down must not take it with it.
		LivenessProbe: &corev1.Probe{
			ProbeHandler:  probe(fmt.Sprintf("--timeout=%ds", probeSeconds)),
			PeriodSeconds: 10, FailureThreshold: probeFailures, TimeoutSeconds: probeSeconds + 2,
		},
		Lifecycle: drained(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeShared, MountPath: sharedFolder},
			{Name: volumeInfo, MountPath: "/etc/podinfo", ReadOnly: true},
			{Name: volumePages, MountPath: "/dev/hugepages"},
		},
	}
}

func agentContainer(spec *v1alpha1.ChainInstanceSpec, o PodOptions) corev1.Container {
	http := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(portProbes)}}
	}
	env := func(name, field string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
	}
	c := corev1.Container{
		Name:            containerAgent,
		Image:           o.Image,
		ImagePullPolicy: o.PullPolicy,
		Command:         []string{"sinter-agent"},
		Args:            []string{"run"},

		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Env: []corev1.EnvVar{
			env("POD_NAME", "metadata.name"), env("POD_NAMESPACE", "metadata.namespace"), env("NODE_NAME", "spec.nodeName"),
			env("POD_IPS", "status.podIPs"), // its ports are for the cluster, and not for the chain's networks
		},
		Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: v1alpha1.MetricsPort, Protocol: corev1.ProtocolTCP},
			{Name: "probes", ContainerPort: portProbes, Protocol: corev1.ProtocolTCP},
		},
		Resources:       corev1.ResourceRequirements{Requests: agentResourcesOf(spec), Limits: agentResourcesOf(spec)},
		SecurityContext: security(),
		// With its small share of a CPU, a slow machine takes its time to start it.
		StartupProbe:   &corev1.Probe{ProbeHandler: http("/livez"), PeriodSeconds: 1, FailureThreshold: 240, TimeoutSeconds: 5},
		LivenessProbe:  &corev1.Probe{ProbeHandler: http("/livez"), PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 5},
		ReadinessProbe: &corev1.Probe{ProbeHandler: http("/readyz"), PeriodSeconds: 2, FailureThreshold: 3, TimeoutSeconds: 5},
		Lifecycle:      drained(), // it tells the cluster to the end
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeShared, MountPath: sharedFolder},
			{Name: volumeToken, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
	}
	if spec.TableMemoryMiB+spec.FlowMemoryMiB > 0 { // the collector works harder near the limit instead of being killed at it
		c.Env = append(c.Env, corev1.EnvVar{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}})
	}
	if spec.Shared {
		c.Args = append(c.Args, "--chain-secret", secretFolder+"/"+v1alpha1.ChainSecretKey, "--peers-bind", fmt.Sprintf(":%d", v1alpha1.PeersPort))
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: "peers", ContainerPort: v1alpha1.PeersPort, Protocol: corev1.ProtocolTCP})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeSecret, MountPath: secretFolder, ReadOnly: true})
	}
	return c
}

// drained keeps a container until no more packets come.
func drained() *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sinter-agent", "drain"}}}}
}

// mtuOf is the largest IP packet that any device must carry, or 0: no more than on plain Ethernet.
func mtuOf(spec *v1alpha1.ChainInstanceSpec) (largest int32) {
	for _, n := range spec.Interfaces {
		largest = max(largest, n.MTU)
	}
	return largest
}

// engineResources: requests equal limits and CPUs are whole, so that the kubelet's static
// CPU manager gives the engine CPUs that nothing else runs on.
func engineResources(spec *v1alpha1.ChainInstanceSpec) corev1.ResourceRequirements {
	list := corev1.ResourceList{
		corev1.ResourceCPU:                     *resource.NewQuantity(int64(spec.Cores), resource.DecimalSI),
		corev1.ResourceMemory:                  spec.Resources.EngineMemory(),
		corev1.ResourceHugePagesPrefix + "2Mi": spec.Resources.EngineHugepages(),
	}
	r := corev1.ResourceRequirements{Requests: list}
	for _, n := range spec.Interfaces {
		if n.ResourceName != "" {
			q := list[corev1.ResourceName(n.ResourceName)]
			q.Add(*resource.NewQuantity(1, resource.DecimalSI))
			list[corev1.ResourceName(n.ResourceName)] = q
		}
		if n.ResourceClaimTemplateName != "" {
			r.Claims = append(r.Claims, corev1.ResourceClaim{Name: string(n.Name)})
		}
	}
	r.Limits = list.DeepCopy()
	return r
}

// EngineCapabilities are what the engine of an instance needs beyond none.
func EngineCapabilities(spec *v1alpha1.ChainInstanceSpec) []corev1.Capability {
	// DPDK locks its memory: the device writes packets to fixed physical addresses. It says on which
	// NUMA node each page must be, which the runtime's seccomp profile ties to SYS_NICE; refused, it would have no memory.
	list := []corev1.Capability{"IPC_LOCK", "SYS_NICE"}
	kernel, xdp := false, false
	for _, n := range spec.Interfaces {
		kernel = kernel || n.Driver == v1alpha1.DriverAFPacket || n.Driver == v1alpha1.DriverAFXDP
		xdp = xdp || n.Driver == v1alpha1.DriverAFXDP
	}
	if kernel {
		// A packet socket is a raw socket (NET_RAW); the driver sets the interface up and its
		// promiscuous flag when it starts (NET_ADMIN). Both reach no further than the pod's network namespace.
		list = append(list, "NET_RAW", "NET_ADMIN")
	}
	if xdp {
		// AF_XDP puts a small program before the interface; NET_ADMIN attaches it.
		list = append(list, "BPF")
	}
	return list
}

// security is the restricted profile, save for capabilities and the user: a capability
// takes effect for root only, as Kubernetes has no ambient ones; and the engine's
// control socket admits its own user alone, so that the agent is root as well, without any capability.
func security(add ...corev1.Capability) *corev1.SecurityContext {
	off, on, root := false, true, int64(0)
	return &corev1.SecurityContext{
		RunAsUser: &root, RunAsGroup: &root,
		Privileged: &off, AllowPrivilegeEscalation: &off, ReadOnlyRootFilesystem: &on,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: add},
	}
}

func volumes(i *v1alpha1.ChainInstance) []corev1.Volume {
	limit := resource.MustParse(fmt.Sprintf("%dMi", 64+i.Spec.TableMemoryMiB/4)) // of each table there may be three versions
	expires := int64(3607)
	field := func(path, name string) corev1.DownwardAPIVolumeFile {
		return corev1.DownwardAPIVolumeFile{Path: path, FieldRef: &corev1.ObjectFieldSelector{FieldPath: name}}
	}
	list := []corev1.Volume{
		// Control socket and last good programs: lives as long as the pod.
		{Name: volumeShared, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}},
		{Name: volumePages, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumHugePages}}},
		{Name: volumeInfo, VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			field("network-status", "metadata.annotations['"+networkStatusAnnotation+"']"),
		}}}},
		{Name: volumeToken, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &expires}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{field("namespace", "metadata.namespace")}}},
		}}}},
	}
	if chain := metav1.GetControllerOf(i); i.Spec.Shared && chain != nil {
		mode := int32(0o400)
		list = append(list, corev1.Volume{Name: volumeSecret, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: v1alpha1.ChainSecretName(i.Spec.Chain, chain.UID), DefaultMode: &mode,
		}}})
	}
	return list
}

func spread(spec *v1alpha1.ChainInstanceSpec) []corev1.TopologySpreadConstraint {
	over := func(key string) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelChain: spec.Chain}},
		}
	}
	switch spec.Placement.Spread {
	case v1alpha1.SpreadNone:
		return nil
	case v1alpha1.SpreadZones:
		return []corev1.TopologySpreadConstraint{over(corev1.LabelTopologyZone), over(corev1.LabelHostname)}
	default:
		return []corev1.TopologySpreadConstraint{over(corev1.LabelHostname)}
	}
}

// networksOf is Multus' annotation.
func networksOf(spec *v1alpha1.ChainInstanceSpec) string {
	type selection struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Interface string `json:"interface"`
	}
	var list []selection
	for _, n := range spec.Interfaces {
		if n.Network != "" {
			namespace, name, _ := strings.Cut(n.Network, "/")
			list = append(list, selection{name, namespace, n.Device})
		}
	}
	if list == nil {
		return ""
	}
	data, err := json.Marshal(list)
	if err != nil {
		panic(err) // plain data
	}
	return string(data)
}

// bindingOf is the interface as the engine's container is told.
func bindingOf(n *v1alpha1.InterfaceBinding) binding.Interface {
	out := binding.Interface{
		Name: string(n.Name), Network: n.Network, Resource: n.ResourceName, Driver: binding.Driver(n.Driver), Device: n.Device,
	}
	if n.ResourceClaimTemplateName != "" {
		out.Claim = string(n.Name)
	}
	return out
}
