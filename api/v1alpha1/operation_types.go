package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Scaling says how many instances and cores a chain has. The cores of an instance
// are exclusive and cannot be changed while it runs, so an instance owns the most
// that it may come to use.
// +kubebuilder:validation:XValidation:rule="!has(self.maxCores) || self.minCores <= self.maxCores",message="minCores must not be larger than maxCores"
// +kubebuilder:validation:XValidation:rule="!has(self.maxInstances) || self.instances <= self.maxInstances",message="instances must not be larger than maxInstances"
// +kubebuilder:validation:XValidation:rule="!has(self.nodeFailures) || self.nodeFailures == 0 || has(self.maxInstances)",message="nodeFailures needs maxInstances: only instances that share the chain's state take over from each other"
type Scaling struct {
	// Instances is the number of data-plane pods, at least where maxInstances is set. More than one needs a network that
	// divides the flows among them.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Instances int32 `json:"instances,omitempty"`

	// MaxInstances is the number of data-plane pods at most. With it they share the chain's state, its shards move between
	// them, and there are as many as the load wants. Absent: instances, each with state of its own.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MaxInstances int32 `json:"maxInstances,omitempty"`

	// NodeFailures is how many nodes, those with most of the chain's instances, may be lost without the others wanting for cores.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	NodeFailures int32 `json:"nodeFailures,omitempty"`

	// MinCores is the number of cores per instance that work at least.
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

	// TargetUtilization is the load of a core, in percent, above which another one is put to work.
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

// Spread says how the instances of a chain lie apart.
// +kubebuilder:validation:Enum=None;Nodes;Zones
type Spread string

// Spreads.
const (
	// SpreadNone lets instances share a node.
	SpreadNone Spread = "None"
	// SpreadNodes puts instances on different nodes as far as there are any.
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

	// Spread says how the instances lie apart; absent: Nodes.
	// +optional
	Spread Spread `json:"spread,omitempty"`
}

// Resources of an instance beside its cores.
type Resources struct {
	// Hugepages of 2 MiB for packet buffers, tables and sessions.
	// +optional
	// +kubebuilder:default="512Mi"
	Hugepages HugepagesSize `json:"hugepages,omitempty"`

	// Memory for all else.
	// +optional
	// +kubebuilder:default="256Mi"
	Memory MemorySize `json:"memory,omitempty"`
}

// MemorySize is an amount of memory ("256Mi", "1Gi").
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=7
// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,4}(Mi|Gi)$`
type MemorySize string

// HugepagesSize is an amount of memory in whole pages of 2 MiB ("512Mi", "1Gi").
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=7
// +kubebuilder:validation:Pattern=`^([1-9][0-9]{0,2}Gi|([2468]|[1-9][0-9]{0,3}[02468])Mi)$`
type HugepagesSize string

// Rollout says how a new program is brought to the instances, one after the other.
type Rollout struct {
	// PauseOnDropsPercent stops a rollout, and takes the old program back, when an
	// instance that has the new one loses this much more of its packets than before, in
	// percent. Packets that functions of the chain drop do not count.
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
