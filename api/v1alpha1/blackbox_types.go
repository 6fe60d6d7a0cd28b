package v1alpha1

// Blackbox is a function that someone else runs, such as an intrusion prevention system or a traffic shaper. It forwards frames between two
// interfaces of the chain as a bridge does: MAC addresses stay as they are. All functions before it are one look-up, and so are all functions behind it.
// +kubebuilder:validation:XValidation:rule="!has(self.whenDown) || self.whenDown != 'Open' || !has(self.behavior) || !has(self.behavior.writes) || size(self.behavior.writes) == 0",message="whenDown: Open needs a function that writes nothing, as what it writes would be missing: set Closed, or leave behavior.writes out"
type Blackbox struct {
	// Attachment is how the function is in the way of packets. Wire: what comes in by one side leaves by the other, or not at all.
	// +optional
	// +kubebuilder:default=Wire
	Attachment BlackboxAttachment `json:"attachment,omitempty"`

	// Inside is the interface of the chain (wire: true) by which packets that come in at port `inside` leave for the function.
	// +required
	Inside Name `json:"inside,omitempty"`

	// Outside is the interface of the chain (wire: true) by which packets that come in at port `outside` leave for the function.
	// +required
	Outside Name `json:"outside,omitempty"`

	// Behavior is what the function may do to packets. Packets are compared with it as they leave and as they come back.
	// +optional
	Behavior BlackboxBehavior `json:"behavior,omitempty,omitzero"`

	// WhenDown is what becomes of packets while the function is down: while probes that the chain sends through it do not come back. Closed: they are
	// dropped. Open: they go on behind it at once, which is not for a function that writes header fields. Without whenDown the function is not watched:
	// packets leave for it, whatever becomes of them.
	// +optional
	WhenDown BlackboxWhenDown `json:"whenDown,omitempty"`
}

// BlackboxAttachment is how a blackbox is in the way of packets.
// +kubebuilder:validation:Enum=Wire
type BlackboxAttachment string

// BlackboxWire is a blackbox through which packets go from side to side.
const BlackboxWire BlackboxAttachment = "Wire"

// BlackboxWhenDown is what becomes of packets while a blackbox is down.
// +kubebuilder:validation:Enum=Open;Closed
type BlackboxWhenDown string

// Fates of packets while a blackbox is down.
const (
	BlackboxOpen   BlackboxWhenDown = "Open"
	BlackboxClosed BlackboxWhenDown = "Closed"
)

// BlackboxBehavior is what a blackbox may do to packets.
type BlackboxBehavior struct {
	// Writes are the header fields that it may write.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Writes []HeaderField `json:"writes,omitempty"`

	// Drops false says that the function lets every packet through. Absent: it may drop some.
	// +optional
	Drops *bool `json:"drops,omitempty"`

	// Resizes false says that the function changes the length of no packet. Absent: it may.
	// +optional
	Resizes *bool `json:"resizes,omitempty"`

	// Originates false says that the function sends no packets of its own, and none twice. Absent: it may.
	// +optional
	Originates *bool `json:"originates,omitempty"`
}
