package v1alpha1

// Labels of what the operator makes.
const (
	// LabelChain is the chain that an object belongs to.
	LabelChain = "nfv.sinter.dev/chain"
	// LabelComponent tells data-plane pods from others.
	LabelComponent = "app.kubernetes.io/component"
	// ContainerAgent is the agent's container in them.
	ContainerAgent = "agent"
	// ComponentDataPlane is the component of data-plane pods.
	ComponentDataPlane = "dataplane"
)

// AnnotationPodHash on a pod is the hash of what the operator made it from; a pod
// with another hash is replaced.
const AnnotationPodHash = "nfv.sinter.dev/pod-hash"

// DataPlaneName names what all instances of a chain share: account, role binding,
// disruption budget, and the secret where they share state.
func DataPlaneName(chain string) string { return chain + "-dataplane" }

// ChainSecretKey is the key, within the secret of a chain that shares its state, of what its pods know each other by.
const ChainSecretKey = "secret"

// PeersPort is where agents take shards of other pods.
const PeersPort = 9443
