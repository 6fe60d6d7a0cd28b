package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Labels of what the operator makes.
const (
	// LabelChain is the chain that an object belongs to.
	LabelChain = "nfv.sinter.dev/chain"
	// LabelComponent tells data-plane pods from others.
	LabelComponent = "app.kubernetes.io/component"
	// ContainerEngine is the engine's container in them.
	ContainerEngine = "engine"
	// ContainerAgent is the agent's container in them.
	ContainerAgent = "agent"
	// ContainerWires is the container in them that makes the devices between the engine and functions in other containers.
	ContainerWires = "wires"
	// ComponentDataPlane is the component of data-plane pods.
	ComponentDataPlane = "dataplane"
)

// Labels by which an administrator tells of a node's kubelet what the API does not.
const (
	// LabelCPUManager has the kubelet's cpuManagerPolicy.
	LabelCPUManager = "nfv.sinter.dev/cpu-manager-policy"
	// LabelTopologyManager has the kubelet's topologyManagerPolicy.
	LabelTopologyManager = "nfv.sinter.dev/topology-manager-policy"
)

// AnnotationPodHash on a pod is the hash of what the operator made it from; a pod
// with another hash is replaced.
const AnnotationPodHash = "nfv.sinter.dev/pod-hash"

// DataPlaneName names what all instances of a chain share: account, role binding,
// disruption budget.
func DataPlaneName(chain string) string { return chain + "-dataplane" }

// ChainSecretName names the secret of a chain that shares its state. One that is recreated under its name has another
// secret: that of before goes with the chain of before, whenever that may be.
func ChainSecretName(chain string, uid types.UID) string {
	return DataPlaneName(chain) + "-" + string(uid)
}

// ChainSecretKey is the key, within the secret of a chain that shares its state, of what its pods know each other by.
const ChainSecretKey = "secret"

// Ports of agents.
const (
	// MetricsPort is where they serve metrics.
	MetricsPort = 9090
	// PeersPort is where they take shards of other pods.
	PeersPort = 9443
)
