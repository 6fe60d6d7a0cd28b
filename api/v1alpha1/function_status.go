package v1alpha1

// FunctionStatus is what is seen of a blackbox, over both of its ways and the last five seconds.
type FunctionStatus struct {
	// Name of the function.
	// +required
	Name Name `json:"name,omitempty"`

	// Ready: it, or one of its replicas, answers probes, if it gets some, or ARP, if it is a host that is watched, and was not contradicted within the last minute. A Tap gets none, so it is always ready: the condition
	// FunctionsRunning says whether its container runs.
	// +optional
	Ready bool `json:"ready"`

	// SentRate is the number of packets per second that leave for it: of a Tap, copies; of a host (attachment Routed or Service), all packets that leave by
	// its interfaces.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SentRate int64 `json:"sentRate"`

	// FullRate is the number of packets per second for it that are lost, as its wires take no more: dropped as <function>/full. Absent: none. What the kernel
	// loses behind a wire is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FullRate int64 `json:"fullRate,omitempty"`

	// ReturnedRate is the number of packets per second that come from it: those that it lets through, and those that it makes.
	// None comes from a Tap. Of a host they are all packets that come in by its interfaces.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReturnedRate int64 `json:"returnedRate"`

	// PastRate is the number of packets per second that go past it: of flows of which it has let enough packets through (bypass), and all of them while it is
	// down and open.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PastRate int64 `json:"pastRate"`

	// LatencyMedianMicroseconds is the time that packets take through it, by those that are checked. Absent: none came back.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LatencyMedianMicroseconds int64 `json:"latencyMedianMicroseconds,omitempty"`

	// LatencyP99Microseconds is the time within which 99 of 100 of them come back.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LatencyP99Microseconds int64 `json:"latencyP99Microseconds,omitempty"`

	// UtilizationPercent is how much of its capacity (scaling.capacity) its busiest container is given, of all instances. Absent: no capacity is known,
	// or it is given nothing. Instances do not report it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UtilizationPercent int32 `json:"utilizationPercent,omitempty"`

	// Contradictions are what it did within the last minute against its declaration: header fields that it changed, as behavior.writes names them;
	// what no function may change, Protocol and TTLRaised; and Dropped, Resized, Originated and Reordered.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	Contradictions []string `json:"contradictions,omitempty"`

	// Replicas are those of the function, if it has some.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Replicas []ReplicaStatus `json:"replicas,omitempty"`
}

// ReplicaStatus is what is seen of one of a blackbox's replicas.
type ReplicaStatus struct {
	// Name of its wire inside.
	// +required
	Name Name `json:"name,omitempty"`

	// Ready: it answers probes in both directions.
	// +optional
	Ready bool `json:"ready"`

	// SentRate is the number of packets per second that leave for it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SentRate int64 `json:"sentRate"`

	// FullRate is the number of packets per second for it that are lost, as its wires take no more. Absent: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FullRate int64 `json:"fullRate,omitempty"`

	// Flows that belong to it. One that is draining may be taken out when there are none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Flows int64 `json:"flows"`
}
