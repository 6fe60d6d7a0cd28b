package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ChainProgram is one revision of a chain's packet program. It never changes. It is to a
// ServiceChain as a ReplicaSet is to a Deployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=cp,categories=sinter
// +kubebuilder:printcolumn:name="Chain",type=string,JSONPath=`.spec.chain`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name="Classes",type=integer,JSONPath=`.spec.classes`
// +kubebuilder:printcolumn:name="Refused",type=string,JSONPath=`.status.conditions[?(@.type=="Refused")].status`
// +kubebuilder:printcolumn:name="Hash",type=string,priority=1,JSONPath=`.spec.hash`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ChainProgram struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// Spec is the program.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a program never changes; make another revision"
	Spec ChainProgramSpec `json:"spec,omitempty,omitzero"`

	// Status is what the operator has seen of it.
	// +optional
	Status Status `json:"status,omitempty,omitzero"`
}

// ConditionRefused of a ChainProgram: instances failed to run it, or lost packets with it. It is
// not tried again.
const ConditionRefused = "Refused"

// Reasons of Refused.
const (
	ReasonDropsJumped    = "DropsJumped"    // an instance lost more packets than before
	ReasonDeadlinePassed = "DeadlinePassed" // an instance never reported it
)

// MaxProgramBytes bounds the packed program, so that object and request stay well
// under what etcd takes (1.5 MiB, and base64 adds a third).
const MaxProgramBytes = 1 << 20

// ProgramEncoding is how a program is packed.
// +kubebuilder:validation:Enum=gzip
type ProgramEncoding string

// EncodingGzip is the encoded program as a gzip stream.
const EncodingGzip ProgramEncoding = "gzip"

// ChainProgramSpec is a packet program and its identity.
type ChainProgramSpec struct {
	// Chain that the program was compiled from, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Chain string `json:"chain,omitempty"`

	// Revision counts the chain's programs.
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision,omitempty"`

	// Hash is the SHA-256 of the encoded program before it is packed; the object's name
	// ends in its first ten digits.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Hash string `json:"hash,omitempty"`

	// Schema that the program is written in.
	// +required
	// +kubebuilder:validation:Minimum=1
	Schema int32 `json:"schema,omitempty"`

	// Encoding of the program.
	// +required
	Encoding ProgramEncoding `json:"encoding,omitempty"`

	// Program is the packed program, in base64. It has no format in the schema: the API
	// server's rules cannot read base64 with a slash as `byte`.
	// +required
	// +kubebuilder:validation:Format=""
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1398104
	Program []byte `json:"program,omitempty"`

	// Classes is its number of traffic classes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Classes int32 `json:"classes,omitempty"`

	// TableMemoryMiB is the memory in MiB that an agent needs to build the tables of routes of which the
	// program has the hashes, from texts of stores.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	TableMemoryMiB int32 `json:"tableMemoryMiB,omitempty"`

	// FlowMemoryMiB is the memory in MiB that an agent needs to gather records of flows for a
	// collector.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	FlowMemoryMiB int32 `json:"flowMemoryMiB,omitempty"`

	// EngineMemoryMiB is the memory in MiB that an engine needs at most for the program, beside
	// hugepages and what each core needs; absent: it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	EngineMemoryMiB int32 `json:"engineMemoryMiB,omitempty"`

	// CoreMemoryMiB is the memory in MiB that an engine needs for each of its cores.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	CoreMemoryMiB int32 `json:"coreMemoryMiB,omitempty"`

	// StateMemoryMiB is the part of EngineMemoryMiB that the program's sessions, flows and subscribers
	// may take.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	StateMemoryMiB int32 `json:"stateMemoryMiB,omitempty"`

	// Interfaces of the program, in its order. Each instance binds them to its devices.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Interfaces []Name `json:"interfaces,omitempty"`
}

// EngineMemory is the memory of an engine of so many cores that runs the program. It grows in steps, as a change replaces pods.
func (s *ChainProgramSpec) EngineMemory(cores int32) resource.Quantity {
	return MemoryFor(int64(s.EngineMemoryMiB) + int64(cores)*int64(s.CoreMemoryMiB))
}

// MemoryFor is the memory that engines get which need so many MiB: 256Mi, 384Mi, 512Mi, 768Mi, and so on.
func MemoryFor(mib int64) resource.Quantity {
	step := int64(256)
	for step*3/2 < mib {
		step *= 2
	}
	if step < mib {
		step = step * 3 / 2
	}
	return *resource.NewQuantity(step<<20, resource.BinarySI)
}

// ChainProgramList is a list of programs.
//
// +kubebuilder:object:root=true
type ChainProgramList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +required
	Items []ChainProgram `json:"items"`
}
