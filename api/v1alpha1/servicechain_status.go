package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a ServiceChain. A ChainInstance has Ready and Placed, which the operator
// sets, and Programmed, HardwareDispatch and Balanced, which its agent sets.
const (
	// ConditionReady: what the spec says is in force on every instance.
	ConditionReady = "Ready"
	// ConditionSynthesized: the spec compiles to a program.
	ConditionSynthesized = "Synthesized"
	// ConditionPlaced: every instance has a pod that runs on a node.
	ConditionPlaced = "Placed"
	// ConditionProgrammed: every instance runs the wanted program.
	ConditionProgrammed = "Programmed"
	// ConditionHardwareDispatch: network cards give each packet to the core that it belongs to.
	ConditionHardwareDispatch = "HardwareDispatch"
	// ConditionScaled: as many cores work as the load wants.
	ConditionScaled = "Scaled"
	// ConditionBalanced, of a ChainInstance: the load lies on its cores as evenly as shards allow.
	ConditionBalanced = "Balanced"
)

// Reasons of Ready. When it is not true, its reason is that of the first other
// condition that is not.
const (
	ReasonForwarding  = "Forwarding"
	ReasonPodNotReady = "PodNotReady" // of the pod's containers one does not answer its probe
)

// Reasons of Synthesized.
const (
	ReasonCompiled        = "Compiled"        // the newest spec is a program
	ReasonInvalid         = "Invalid"         // the message has the findings; the last program goes on
	ReasonSynthesisFailed = "SynthesisFailed" // the chain needs more than a program can say
	ReasonTooLarge        = "TooLarge"        // the program does not fit into an object of the cluster
)

// Reasons of Placed. Where no node fits, the reason is the nodes' own: TooFewCores,
// TooFewHugepages, CPUManagerNotStatic and so on; NoNodeFits if they have several.
const (
	ReasonPlaced           = "Placed"
	ReasonWaitingForPods   = "WaitingForPods"   // pods are being made or started
	ReasonUnschedulable    = "Unschedulable"    // the scheduler found no node; the message has its words
	ReasonInterfaceUnbound = "InterfaceUnbound" // an interface says neither network nor device
	ReasonPodRefused       = "PodRefused"       // by quota, Pod Security or an admission webhook, in whose words the message is
	ReasonAdmissionFailed  = "AdmissionFailed"  // a node refused a pod, which is replaced
)

// Reasons of Programmed.
const (
	ReasonApplied     = "Applied"
	ReasonNoProgram   = "NoProgram"   // nothing was ever compiled
	ReasonRollingOut  = "RollingOut"  // instances follow one by one
	ReasonRolledBack  = "RolledBack"  // the newest program was taken back; the message says why
	ReasonLoadFailed  = "LoadFailed"  // an engine refused its program
	ReasonNotReported = "NotReported" // an instance has not said what it runs
	ReasonPinned      = "Pinned"      // rollbackTo is in force
	ReasonUnknownPin  = "UnknownPin"  // rollbackTo names no program of this chain
	ReasonEngineDown  = "EngineDown"  // the engine does not answer its agent
)

// Reasons of HardwareDispatch.
const (
	ReasonInForce          = "InForce"
	ReasonSoftwareDispatch = "SoftwareDispatch" // by the engine itself: slower, otherwise the same
)

// Reasons of Balanced; EngineDown while nothing is known.
const (
	ReasonBalancing     = "Balancing"     // shards move by load
	ReasonOneCore       = "OneCore"       // there is nothing to balance
	ReasonNoState       = "NoState"       // no shards, as the chain keeps no state
	ReasonOneShard      = "OneShard"      // the chain's state cannot be divided
	ReasonShardTooHeavy = "ShardTooHeavy" // a shard wants more than a core has; the message names it
	ReasonMovesFail     = "MovesFail"     // shards do not move between cores, or to their pods; the message has why
	ReasonBalancingOff  = "BalancingOff"  // the agent was told not to
)

// Reasons of Scaled, beside those of Balanced that keep cores from being of use.
const (
	ReasonWithinBounds    = "WithinBounds"    // between minCores and maxCores, instances and maxInstances
	ReasonFixed           = "Fixed"           // minCores is maxCores, and instances are not added
	ReasonAtMaximum       = "AtMaximum"       // more would be wanted than maxCores or maxInstances
	ReasonHeadroomLacking = "HeadroomLacking" // the loss of nodeFailures nodes would not be borne
)

// ServiceChainStatus is what the operator has seen.
type ServiceChainStatus struct {
	Status `json:",inline"`

	// Classes is the number of traffic classes of the program in force.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Classes int32 `json:"classes,omitempty"`

	// Cores is the number of cores that the instances own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cores int32 `json:"cores,omitempty"`

	// Instances is the number of data-plane pods that run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Instances int32 `json:"instances,omitempty"`

	// Program is the ChainProgram in force.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Program string `json:"program,omitempty"`

	// PacketRate is the packets per second of all instances.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PacketRate int64 `json:"packetRate,omitempty"`

	// Mpps is the packet rate in millions per second, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Mpps string `json:"mpps,omitempty"`

	// DropRate is the packets per second that are dropped, for whatever reason.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DropRate int64 `json:"dropRate"`

	// LostSessions is how many sessions ended with engines that died and pods that were replaced.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LostSessions int64 `json:"lostSessions,omitempty"`

	// Front is the instance to which the networks send, of those that share the chain's state: it answers ARP for the
	// chain's addresses.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Front string `json:"front,omitempty"`

	// Groups of traffic classes, and where they are worked on.
	// +optional
	// +listType=map
	// +listMapKey=instance
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	Groups []GroupPlace `json:"groups,omitempty"`

	// Rollout is the bringing of a new program to the instances that goes on.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
}

// RolloutStatus is a rollout that goes on.
type RolloutStatus struct {
	// Program that is brought to the instances.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Program string `json:"program,omitempty"`

	// Updated is the number of instances that run it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Updated int32 `json:"updated"`

	// Instance that is being brought to it or watched.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Instance string `json:"instance,omitempty"`

	// Since when it is being brought to the program.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// AppliedTime is when it was seen to run the program.
	// +optional
	AppliedTime metav1.Time `json:"appliedTime,omitempty,omitzero"`

	// LossPerMille is what this instance lost before, of a thousand packets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	LossPerMille int32 `json:"lossPerMille,omitempty"`
}

// GroupPlace is a group of traffic classes on an instance.
type GroupPlace struct {
	// Instance that works on the group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Instance string `json:"instance,omitempty"`

	// Name of the group.
	// +required
	Name Name `json:"name,omitempty"`

	// Shards of the group that the instance owns.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Shards []ShardRange `json:"shards,omitempty"`

	// Node of the instance.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// Cores are the CPUs of the node that may work on the group.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=0
	Cores []int32 `json:"cores,omitempty"`

	// LoadPercent is the load of the busiest of these cores. It is updated when it has
	// changed by ten points.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	LoadPercent int32 `json:"loadPercent"`

	// Owners are the cores that own shards of the group, with loads as steady as
	// loadPercent.
	// +optional
	// +listType=map
	// +listMapKey=lcore
	// +kubebuilder:validation:MaxItems=64
	Owners []CoreShards `json:"owners,omitempty"`
}
