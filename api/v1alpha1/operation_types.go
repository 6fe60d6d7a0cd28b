package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Scaling is how many instances and cores a chain has. An instance has its cores to itself, and
// their number cannot change while it runs. So it owns maxCores from the start.
// +kubebuilder:validation:XValidation:rule="!has(self.maxCores) || self.minCores <= self.maxCores",message="minCores must not be larger than maxCores"
// +kubebuilder:validation:XValidation:rule="!has(self.maxInstances) || self.instances <= self.maxInstances",message="instances must not be larger than maxInstances"
// +kubebuilder:validation:XValidation:rule="!has(self.nodeFailures) || self.nodeFailures == 0 || has(self.maxInstances)",message="nodeFailures needs maxInstances: only instances that share the chain's state take over from each other"
type Scaling struct {
	// Instances is the number of data-plane pods. It is the minimum if maxInstances is set. More
	// than one without maxInstances needs a network that divides the flows among them.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Instances int32 `json:"instances,omitempty"`

	// MaxInstances is the maximum number of data-plane pods. If it is set, pods share the chain's
	// state, shards move between them, and the load decides how many pods there are. Absent: the
	// number is fixed, and each pod has its own state.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MaxInstances int32 `json:"maxInstances,omitempty"`

	// NodeFailures is how many nodes may fail while the remaining instances still have enough cores
	// for the load. The nodes with most instances are assumed to fail.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	NodeFailures int32 `json:"nodeFailures,omitempty"`

	// MinCores is the minimum number of working cores per instance.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MinCores int32 `json:"minCores,omitempty"`

	// MaxCores is the number of cores that an instance owns; absent: minCores.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MaxCores int32 `json:"maxCores,omitempty"`

	// TargetUtilization is the load of a core, in percent, above which another core starts to work.
	// +optional
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	TargetUtilization int32 `json:"targetUtilization,omitempty"`
}

// OwnedCores is the number of cores that each instance owns.
func (s *Scaling) OwnedCores() int32 { return max(s.MinCores, s.MaxCores, 1) }

// Shared tells whether the instances share the chain's state.
func (s *Scaling) Shared() bool { return s.MaxInstances > 0 }

// Spread is how the instances of a chain are distributed.
// +kubebuilder:validation:Enum=None;Nodes;Zones
type Spread string

// Spreads.
const (
	// SpreadNone lets instances share a node.
	SpreadNone Spread = "None"
	// SpreadNodes puts instances on different nodes if there are enough.
	SpreadNodes Spread = "Nodes"
	// SpreadZones spreads instances over zones, and over nodes within them.
	SpreadZones Spread = "Zones"
)

// Placement says where instances may run.
type Placement struct {
	// NodeName is the only node to run on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// NodeSelector is labels that nodes must have.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations for tainted nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Spread is how the instances are distributed over nodes and zones; absent: Nodes.
	// +optional
	Spread Spread `json:"spread,omitempty"`
}

// Resources of an instance in addition to its cores.
type Resources struct {
	// Hugepages of 2 MiB for packet buffers, tables and sessions.
	// +optional
	// +kubebuilder:default="512Mi"
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9.]{1,15}([kMGT]|[KMGT]i)?$') && quantity(string(self)).asApproximateFloat() >= 2097152.0 && quantity(string(self)).asApproximateFloat() <= 1099511627776.0 && double(int(quantity(string(self)).asApproximateFloat()) / 2097152 * 2097152) == quantity(string(self)).asApproximateFloat()",message="must be whole pages of 2 MiB, at most 1Ti: an even number of Mi, or Gi"
	Hugepages resource.Quantity `json:"hugepages,omitempty,omitzero"`

	// Memory for everything else, most of it for sessions and flows. Absent: as much as the program's
	// state may take, see status.stateMemory. A chain whose state may take more is refused.
	// +optional
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^[0-9.]{1,15}([kMGT]|[KMGT]i)?$') && quantity(string(self)).asApproximateFloat() >= 1048576.0 && quantity(string(self)).asApproximateFloat() <= 10995116277760.0",message="must be from 1Mi to 10Ti, without exponent, like 512Mi or 2Gi"
	Memory resource.Quantity `json:"memory,omitempty,omitzero"`
}

// EngineHugepages is the hugepages of each instance; where nothing is said, the schema's default.
func (r *Resources) EngineHugepages() resource.Quantity {
	if r.Hugepages.IsZero() {
		return resource.MustParse("512Mi")
	}
	return r.Hugepages.DeepCopy()
}

// FormerMemory was the schema's default of Memory: who finds it in an object cannot tell whether somebody wrote it.
const FormerMemory = "256Mi"

// EngineMemory is the memory of each instance's engine beside its hugepages; where nothing is said, what was the default of all.
func (r *Resources) EngineMemory() resource.Quantity {
	if r.Memory.IsZero() {
		return resource.MustParse(FormerMemory)
	}
	return r.Memory.DeepCopy()
}

// Rollout is how instances get a new program, one after the other.
type Rollout struct {
	// PauseOnDropsPercent stops a rollout and returns to the old program if an instance with the
	// new program loses this much more of its packets than before, in percent. Packets that the
	// chain's rules drop do not count.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	PauseOnDropsPercent int32 `json:"pauseOnDropsPercent,omitempty"`

	// ObserveSeconds is how long an instance is watched before the next one follows.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	ObserveSeconds int32 `json:"observeSeconds,omitempty"`

	// DeadlineSeconds is how long an instance may take to report the new program.
	// +optional
	// +kubebuilder:default=120
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3600
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty"`
}
