package v1alpha1

// Monitor counts packets and bytes per class, separately for each direction, and lets everything
// pass between its ports `inside` and `outside`. Copies of classes leave by further ports.
type Monitor struct {
	// Classes in order; the first that matches counts. What matches none is
	// counted as "other".
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	Classes []MonitorClass `json:"classes,omitempty"`

	// Top lists the heaviest flows, hosts or prefixes. Absent: it does not. One monitor of a chain
	// at most has `top` or `export`.
	// +optional
	Top *MonitorTop `json:"top,omitempty"`

	// Export sends records of flows to a collector (IPFIX, RFC 7011). Absent: it does not.
	// +optional
	Export *FlowExport `json:"export,omitempty"`
}

// MonitorClass is a class of packets that are counted together.
// +kubebuilder:validation:XValidation:rule="self.name != 'other'",message="other counts what no class matches; take another name"
type MonitorClass struct {
	// Name of the class.
	// +required
	Name RuleName `json:"name,omitempty"`

	Match `json:",inline"`

	// Mirror sends copies of the packets to another port. Absent: it does not.
	// +optional
	Mirror *Mirror `json:"mirror,omitempty"`
}

// Mirror says where copies of packets go.
type Mirror struct {
	// To is the name of a port that the monitor then has, beside `inside` and `outside`. Link it to
	// an interface, with `direction: Forward`.
	// +required
	// +kubebuilder:validation:XValidation:rule="!(self in ['inside', 'outside'])",message="inside and outside are the monitor's sides; take another name"
	To Name `json:"to,omitempty"`
}

// TopBy is what packets have in common that are weighed together.
// +kubebuilder:validation:Enum=Flow;Source;Destination;SourcePrefix;DestinationPrefix
type TopBy string

// Lists that a monitor may keep.
const (
	TopFlow              TopBy = "Flow"
	TopSource            TopBy = "Source"
	TopDestination       TopBy = "Destination"
	TopSourcePrefix      TopBy = "SourcePrefix"
	TopDestinationPrefix TopBy = "DestinationPrefix"
)

// MonitorTop lists what is heaviest, by bytes of IP packets, in bounded memory (Space-Saving).
type MonitorTop struct {
	// By says what is listed, a list for each.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	By []TopBy `json:"by,omitempty"`

	// PrefixLength of SourcePrefix and DestinationPrefix.
	// +optional
	// +kubebuilder:default=24
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31
	PrefixLength int32 `json:"prefixLength,omitempty"`

	// Entries of each list on each core. What has more than 1/entries of a core's bytes is listed
	// for certain, and the bytes of no entry are wrong by more than that.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=16384
	Entries int32 `json:"entries,omitempty"`

	// Interval in which is counted; lists begin again after it. From 1s to 1h.
	// +optional
	// +kubebuilder:default="60s"
	Interval Duration `json:"interval,omitempty"`
}

// FlowExport says where records of flows go, and when.
type FlowExport struct {
	// Collector takes IPFIX over UDP. Records are sent from the pod's own network, not through the chain.
	// +required
	Collector Collector `json:"collector,omitzero"`

	// Sampling: one in so many packets is exported, and the collector is told.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Sampling int32 `json:"sampling,omitempty"`

	// ActiveTimeout is after how long a flow that lives is reported. From 1s to 1h.
	// +optional
	// +kubebuilder:default="60s"
	ActiveTimeout Duration `json:"activeTimeout,omitempty"`

	// IdleTimeout is after how long without packets a flow is reported as ended. From 1s to 1h.
	// +optional
	// +kubebuilder:default="15s"
	IdleTimeout Duration `json:"idleTimeout,omitempty"`
}

// Collector is a host that takes IPFIX over UDP.
type Collector struct {
	// Address of the host.
	// +required
	Address Address `json:"address,omitempty"`

	// Port of UDP.
	// +optional
	// +kubebuilder:default=4739
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}
