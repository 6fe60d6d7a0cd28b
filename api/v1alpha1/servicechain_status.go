package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a ServiceChain. On a ChainInstance the operator sets Ready, Placed and FunctionsRunning, and the
// agent sets Programmed, HardwareDispatch, FunctionsUp, FunctionsAsDeclared and Balanced.
const (
	// ConditionReady: every instance runs what the spec says.
	ConditionReady = "Ready"
	// ConditionSynthesized: the spec compiles to a program.
	ConditionSynthesized = "Synthesized"
	// ConditionPlaced: every instance has a pod that runs on a node.
	ConditionPlaced = "Placed"
	// ConditionProgrammed: every instance runs the wanted program.
	ConditionProgrammed = "Programmed"
	// ConditionHardwareDispatch: network cards deliver each packet to the core that owns its shard.
	ConditionHardwareDispatch = "HardwareDispatch"
	// ConditionFunctionsRunning: the containers of blackboxes run. It is there if the chain has some with an image.
	ConditionFunctionsRunning = "FunctionsRunning"
	// ConditionFunctionsUp: the blackboxes answer probes, and those that are hosts ARP. It is there if the chain has some with whenDown, or hosts.
	ConditionFunctionsUp = "FunctionsUp"
	// ConditionFunctionsAsDeclared: the blackboxes do what their behavior says, as far as packets are checked. It is there if the chain has some.
	ConditionFunctionsAsDeclared = "FunctionsAsDeclared"
	// ConditionScaled: as many cores work as the load needs.
	ConditionScaled = "Scaled"
	// ConditionBalanced, of a ChainInstance: its load is divided among its cores as evenly as
	// shards allow.
	ConditionBalanced = "Balanced"
)

// Reasons of Ready. If Ready is not true, it has the reason of the first other condition that is
// not true.
const (
	ReasonForwarding    = "Forwarding"
	ReasonPodNotReady   = "PodNotReady"   // a container of the pod fails its probe
	ReasonAgentNotReady = "AgentNotReady" // the agent does, or does not run; the engine forwards, and keeps its shards. Also of Programmed
)

// Reasons of Synthesized.
const (
	ReasonCompiled        = "Compiled"        // the newest spec compiles
	ReasonCompiling       = "Compiling"       // it is being compiled, or waits for its turn
	ReasonInvalid         = "Invalid"         // the message has the findings; the last program keeps running
	ReasonSynthesisFailed = "SynthesisFailed" // the chain exceeds what a program can express
	ReasonTooLarge        = "TooLarge"        // the program does not fit into an object of the cluster
)

// Reasons of Placed. Where no node fits, the reason is the nodes' own: TooFewCores,
// TooFewHugepages, CPUManagerNotStatic and so on; NoNodeFits if they have several.
const (
	ReasonPlaced           = "Placed"
	ReasonWaitingForPods   = "WaitingForPods"   // pods are being made or started
	ReasonUnschedulable    = "Unschedulable"    // the scheduler found no node; the message quotes it
	ReasonInterfaceUnbound = "InterfaceUnbound" // an interface names neither network nor device
	ReasonNameTaken        = "NameTaken"        // an object that the chain needs is there and is somebody else's
	ReasonPodRefused       = "PodRefused"       // by quota, Pod Security or an admission webhook; the message quotes it. Or the cluster has no DRA for its claims
	ReasonAdmissionFailed  = "AdmissionFailed"  // a node refused a pod, which is replaced
	ReasonContainerFailed  = "ContainerFailed"  // a container does not start, or has ended; the message has its last words. Also of Programmed and Ready
)

// Reasons of Programmed.
const (
	ReasonApplied     = "Applied"
	ReasonNoProgram   = "NoProgram"   // nothing has compiled yet
	ReasonRollingOut  = "RollingOut"  // instances follow one by one
	ReasonRolledBack  = "RolledBack"  // the newest program was rolled back; the message says why
	ReasonLoadFailed  = "LoadFailed"  // an engine refused its program
	ReasonNotReported = "NotReported" // an instance has not reported what it runs
	ReasonClockSkew   = "ClockSkew"   // it cannot report, as the clock of its node is wrong. Also of Ready
	ReasonPinned      = "Pinned"      // rollbackTo is set
	ReasonUnknownPin  = "UnknownPin"  // rollbackTo names no program of this chain
	ReasonEngineDown  = "EngineDown"  // the engine does not answer its agent
)

// Reasons of HardwareDispatch.
const (
	ReasonInForce          = "InForce"
	ReasonSoftwareDispatch = "SoftwareDispatch" // by the engine itself: slower, otherwise the same
)

// ReasonContainersRunning is the reason of FunctionsRunning that is good; else it is ContainerFailed or WaitingForPods.
const ReasonContainersRunning = "ContainersRunning"

// Reasons of FunctionsUp; EngineDown while nothing is known.
const (
	ReasonAnswering        = "Answering"
	ReasonFunctionDown     = "FunctionDown"     // packets for it are dropped; the message names it. Also of Ready
	ReasonFunctionBypassed = "FunctionBypassed" // packets go past it
	ReasonReplicaDown      = "ReplicaDown"      // its flows go to another replica
)

// Reasons of FunctionsAsDeclared; EngineDown while nothing is known.
const (
	ReasonAsDeclared   = "AsDeclared"
	ReasonNotChecked   = "NotChecked"   // no packet has come back that was checked
	ReasonContradicted = "Contradicted" // by packets within the last minute; the message names the fields
)

// Reasons of Balanced; EngineDown while nothing is known.
const (
	ReasonBalancing     = "Balancing"     // shards move by load
	ReasonOneCore       = "OneCore"       // there is nothing to balance
	ReasonNoState       = "NoState"       // no shards, as the chain keeps no state
	ReasonOneShard      = "OneShard"      // the chain's state cannot be divided
	ReasonShardTooHeavy = "ShardTooHeavy" // a shard needs more than one core; the message names it
	ReasonMovesFail     = "MovesFail"     // shards do not move between cores, or to their pods; the message says why
	ReasonBalancingOff  = "BalancingOff"  // the agent was told not to
)

// Reasons of Scaled, in addition to those of Balanced that make more cores useless.
const (
	ReasonWithinBounds    = "WithinBounds"    // between minCores and maxCores, instances and maxInstances
	ReasonFixed           = "Fixed"           // minCores is maxCores, and instances are not added
	ReasonAtMaximum       = "AtMaximum"       // the load needs more than maxCores or maxInstances
	ReasonHeadroomLacking = "HeadroomLacking" // the remaining instances could not take the load if nodeFailures nodes failed
)

// ServiceChainStatus is what the operator observed.
type ServiceChainStatus struct {
	Status `json:",inline"`

	// Classes is the number of traffic classes of the program that runs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Classes int32 `json:"classes,omitempty"`

	// StateMemory is the memory that sessions, flows and subscribers of the program that runs may take
	// in each instance, however they come. It is a part of the memory of the instance's engine.
	// +optional
	StateMemory resource.Quantity `json:"stateMemory,omitempty,omitzero"`

	// Cores is the number of cores that the instances own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cores int32 `json:"cores,omitempty"`

	// DesiredInstances is the number of data-plane pods that there should be: what the spec asks for, or with maxInstances, what the load needs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DesiredInstances int32 `json:"desiredInstances"`

	// Instances is the number of data-plane pods that run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Instances int32 `json:"instances"`

	// Selector is the label selector of the data-plane pods, as text; the scale subresource has it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Selector string `json:"selector,omitempty"`

	// Program is the ChainProgram that all instances run.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Program string `json:"program,omitempty"`

	// PacketRate is the number of packets that all instances receive per second.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PacketRate int64 `json:"packetRate,omitempty"`

	// Mpps is the packet rate in millions per second, as text.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Mpps string `json:"mpps,omitempty"`

	// DropRate is the number of packets dropped per second, for all reasons.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DropRate int64 `json:"dropRate"`

	// Functions are the chain's blackboxes: what all instances see together, and the longest latency of an instance.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Functions []FunctionStatus `json:"functions,omitempty"`

	// LostSessions counts the sessions that were lost when engines died or pods were replaced.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LostSessions int64 `json:"lostSessions,omitempty"`

	// Front is the instance that replies to ARP requests for the chain's addresses, so that all
	// packets come to it. It is set if instances share the chain's state.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Front string `json:"front,omitempty"`

	// Rollout is the rollout in progress.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
}

// RolloutStatus is a rollout in progress.
type RolloutStatus struct {
	// Program that the instances get.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Program string `json:"program,omitempty"`

	// Updated is the number of instances that run it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Updated int32 `json:"updated"`

	// Instance that is being updated or observed.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Instance string `json:"instance,omitempty"`

	// Since is when the update of this instance started.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// AppliedTime is when the instance was first seen to run the program.
	// +optional
	AppliedTime metav1.Time `json:"appliedTime,omitempty,omitzero"`

	// LossPerMille is how many of a thousand packets this instance lost before the update.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	LossPerMille int32 `json:"lossPerMille,omitempty"`
}
