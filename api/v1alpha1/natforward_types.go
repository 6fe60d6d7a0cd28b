package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// PortForward gives a host inside ports of an outside address, without state: packets from outside to these ports go to the host, and what
// the host sends from its own ports leaves from them.
type PortForward struct {
	// Protocol of the ports.
	// +optional
	// +kubebuilder:default=TCP
	Protocol ServiceProtocol `json:"protocol,omitempty"`

	// Outside address. Absent: that of the pool, or of the interface with `masquerade`, if it is one.
	// +optional
	Outside Address `json:"outside,omitempty"`

	// OutsidePorts is a port or a range of ports ("8000-8099").
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:Pattern=`^[0-9]{1,5}(-[0-9]{1,5})?$`
	OutsidePorts *intstr.IntOrString `json:"outsidePorts,omitempty"`

	// Inside address of the host.
	// +required
	Inside Address `json:"inside,omitempty"`

	// InsidePorts is as many ports of the host. Absent: those outside.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:Pattern=`^[0-9]{1,5}(-[0-9]{1,5})?$`
	InsidePorts *intstr.IntOrString `json:"insidePorts,omitempty"`
}

// StaticTranslation gives inside addresses outside addresses of their own, one for each, for all protocols and without state.
type StaticTranslation struct {
	// Inside address or prefix.
	// +required
	Inside AddressSet `json:"inside,omitempty"`

	// Outside address, or prefix of the same length.
	// +required
	Outside AddressSet `json:"outside,omitempty"`
}

// Hairpinning is which outside addresses and ports hosts inside reach other hosts inside by (RFC 4787 section 6).
// +kubebuilder:validation:Enum=None;Fixed;All
type Hairpinning string

// Addresses by which hosts inside reach others.
const (
	// HairpinNone: packets to outside addresses leave.
	HairpinNone Hairpinning = "None"
	// HairpinFixed: by `portForwards` and `static`.
	HairpinFixed Hairpinning = "Fixed"
	// HairpinAll: by ports of the pool, too.
	HairpinAll Hairpinning = "All"
)
