package v1alpha1

// Monitor counts packets and bytes per class, separately for each direction, and
// lets everything pass between its ports `inside` and `outside`.
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
}
