package v1alpha1

// Blackbox is a function that someone else runs, such as an intrusion prevention system or a traffic shaper. It forwards frames between two
// interfaces of the chain as a bridge does: MAC addresses stay as they are. All functions before it are one look-up, and so are all functions behind it.
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

	// Behavior is what the function may do to packets. Any function may drop them, and send packets of its own.
	// +optional
	Behavior BlackboxBehavior `json:"behavior,omitempty,omitzero"`
}

// BlackboxAttachment is how a blackbox is in the way of packets.
// +kubebuilder:validation:Enum=Wire
type BlackboxAttachment string

// BlackboxWire is a blackbox through which packets go from side to side.
const BlackboxWire BlackboxAttachment = "Wire"

// BlackboxBehavior is what a blackbox may do to packets.
type BlackboxBehavior struct {
	// Writes are the header fields that it may write.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Writes []HeaderField `json:"writes,omitempty"`
}
