package cause

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Ends of logs as engine and agent write them.
const (
	noHugepages = `EAL: Detected CPU lcores: 8
TELEMETRY: No legacy callbacks, legacy socket not created
EAL: Not enough memory available! Requested: 1024MB, available: 0MB
EAL: FATAL: Cannot init memory
EAL: Cannot init memory
error EAL does not start: Cannot allocate memory (the lines above say why)
`
	wrongDriver = `TELEMETRY: No legacy callbacks, legacy socket not created
EAL: Cannot find device (0000:03:00.1)
EAL: Failed to attach device on primary process
error interface outside: no Ethernet device at 0000:03:00.1 (No such device): bind it to vfio-pci (dpdk-devbind.py -b vfio-pci 0000:03:00.1) and see that its driver is installed
`
	sharedGroup = `TELEMETRY: No legacy callbacks, legacy socket not created
EAL:   0000:03:00.1 VFIO group is not viable! Not all devices in IOMMU group bound to VFIO or unbound
EAL: Driver cannot attach the device (0000:03:00.1)
EAL: Failed to attach device on primary process
error interface outside: no Ethernet device at 0000:03:00.1 (Operation not permitted)
`
	noNetwork  = "sinter-agent: interface inside: network nfv/lan is not attached to the pod, or has no interface there (network-status has: none): is Multus installed?\n"
	agentError = `{"time":"2026-11-27T15:00:00Z","level":"INFO","msg":"started"}
{"time":"2026-11-27T15:00:01Z","level":"ERROR","msg":"no report","err":"tls: certificate has expired or is not yet valid: current time is before 2026-11-27"}
{"time":"2026-11-27T15:00:02Z","level":"INFO","msg":"stopping"}
`
	goPanic = "{\"level\":\"INFO\",\"msg\":\"started\"}\npanic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:12 +0x1d\n"
)

func terminated(code int32, reason, message string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}
}

var (
	crash = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container"}}
	runs  = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
)

// causes are by what is wrong with a pod.
var causes = map[string]struct {
	engine, agent corev1.ContainerStatus
	want, not     string // empty: nothing fails
}{
	"both run": {corev1.ContainerStatus{State: runs, Ready: true}, corev1.ContainerStatus{State: runs, Ready: true}, "", ""},
	"both run, after the engine ended once": {
		corev1.ContainerStatus{State: runs, Ready: true, LastTerminationState: corev1.ContainerState{Terminated: terminated(1, "Error", noHugepages)}},
		corev1.ContainerStatus{State: runs, Ready: true},
		"", "",
	},
	"they are being created": {
		corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
		corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
		"", "",
	},
	"no hugepages": {
		corev1.ContainerStatus{State: crash, RestartCount: 4, LastTerminationState: corev1.ContainerState{Terminated: terminated(1, "Error", noHugepages)}},
		corev1.ContainerStatus{State: runs},
		"container engine ended with exit code 1 (4 restarts): EAL: Not enough memory available! Requested: 1024MB, available: 0MB; EAL: FATAL: Cannot init memory; " +
			"EAL: Cannot init memory; EAL does not start: Cannot allocate memory (the lines above say why)", "back-off",
	},
	"wrong driver": {
		corev1.ContainerStatus{State: corev1.ContainerState{Terminated: terminated(1, "Error", wrongDriver)}},
		corev1.ContainerStatus{State: runs},
		"bind it to vfio-pci (dpdk-devbind.py -b vfio-pci 0000:03:00.1)", "TELEMETRY",
	},
	"an IOMMU group that is shared": {
		corev1.ContainerStatus{State: corev1.ContainerState{Terminated: terminated(1, "Error", sharedGroup)}},
		corev1.ContainerStatus{State: runs},
		"EAL:   0000:03:00.1 VFIO group is not viable! Not all devices in IOMMU group bound to VFIO or unbound; EAL: Driver", "TELEMETRY",
	},
	"no Multus": {
		corev1.ContainerStatus{State: crash, RestartCount: 1, LastTerminationState: corev1.ContainerState{Terminated: terminated(1, "Error", noNetwork)}},
		corev1.ContainerStatus{State: runs},
		"container engine ended with exit code 1: interface inside: network nfv/lan is not attached to the pod, or has no interface there (network-status has: none): is Multus installed?", "restarts",
	},
	"the engine has been started again": {
		corev1.ContainerStatus{State: runs, LastTerminationState: corev1.ContainerState{Terminated: terminated(139, "Error", "")}},
		corev1.ContainerStatus{State: runs, Ready: true},
		"container engine ended by signal 11 and was started again", "exit code",
	},
	"the engine has too little memory": {
		corev1.ContainerStatus{State: crash, LastTerminationState: corev1.ContainerState{Terminated: terminated(137, "OOMKilled", "")}},
		corev1.ContainerStatus{State: runs},
		"container engine was killed: it needed more memory than its limit of 256Mi; raise spec.resources.memory", "probe",
	},
	"the engine hung": {
		corev1.ContainerStatus{State: crash, LastTerminationState: corev1.ContainerState{Terminated: terminated(137, "Error", "")}},
		corev1.ContainerStatus{State: runs},
		"container engine was killed, most likely as it did not answer its liveness probe", "memory",
	},
	"the clock is wrong": {
		corev1.ContainerStatus{State: runs, Ready: true},
		corev1.ContainerStatus{State: crash, LastTerminationState: corev1.ContainerState{Terminated: terminated(2, "Error", agentError)}},
		"container agent ended with exit code 2: no report: tls: certificate has expired or is not yet valid: current time is before 2026-11-27", "stopping",
	},
	"the agent panics": {
		corev1.ContainerStatus{State: runs, Ready: true},
		corev1.ContainerStatus{State: crash, LastTerminationState: corev1.ContainerState{Terminated: terminated(2, "Error", goPanic)}},
		"container agent ended with exit code 2: panic: runtime error: index out of range [3] with length 3", "goroutine",
	},
	"an image that is nowhere": {
		corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: `Back-off pulling image "r.example/d:1"`}}},
		corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
		"container engine: image r.example/d:1 cannot be pulled (ImagePullBackOff); ", "agent",
	},
	"a container that cannot be made": {
		corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `secret "x" not found`}}},
		corev1.ContainerStatus{State: runs},
		`container engine does not start: CreateContainerConfigError secret "x" not found`, "pulled",
	},
	"both": {
		corev1.ContainerStatus{State: crash, LastTerminationState: corev1.ContainerState{Terminated: terminated(1, "Error", wrongDriver)}},
		corev1.ContainerStatus{State: crash, LastTerminationState: corev1.ContainerState{Terminated: terminated(2, "Error", agentError)}},
		"container engine ended", "agent ended",
	},
}

func TestWhyAContainerDoesNotWorkIsSaidByItsCause(t *testing.T) {
	for name, c := range causes {
		t.Run(name, func(t *testing.T) {
			c.engine.Name, c.agent.Name = v1alpha1.ContainerEngine, v1alpha1.ContainerAgent
			memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: v1alpha1.ContainerEngine, Image: "r.example/d:1", Resources: corev1.ResourceRequirements{Limits: memory}}, {Name: v1alpha1.ContainerAgent},
			}}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{c.agent, c.engine} // by name, as the kubelet has them
			got := Of(pod, v1alpha1.ContainerEngine, v1alpha1.ContainerAgent)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("got %q, want %q, without %q", got, c.want, c.not)
			}
		})
	}
}
