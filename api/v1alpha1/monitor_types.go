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
