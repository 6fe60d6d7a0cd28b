package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// TCPFlag is a flag of the TCP header (RFC 9293 section 3.1).
// +kubebuilder:validation:Enum=FIN;SYN;RST;PSH;ACK;URG;ECE;CWR
type TCPFlag string

// Match selects the packets that match every given field. A packet that lacks a field (ports of an
// ICMP packet or of a later fragment) does not match a condition on it.
// +kubebuilder:validation:XValidation:rule="!has(self.icmpCode) || has(self.icmpType)",message="icmpCode needs icmpType: a code means nothing without its type"
type Match struct {
	// Source addresses: addresses, prefixes or ranges of one family.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Source []AddressSet `json:"source,omitempty"`

	// Destination addresses: addresses, prefixes or ranges of one family.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Destination []AddressSet `json:"destination,omitempty"`

	// Protocol is a number (0 to 255) or one of icmp, igmp, ipip, tcp, udp, gre,
	// esp, ah, ospf, sctp.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]+$`
	Protocol *intstr.IntOrString `json:"protocol,omitempty"`

	// SourcePorts of TCP and UDP: ports and ranges ("1000-2000").
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:MaxLength=11
	// +kubebuilder:validation:items:Pattern=`^[0-9]{1,5}(-[0-9]{1,5})?$`
	SourcePorts []intstr.IntOrString `json:"sourcePorts,omitempty"`

	// DestinationPorts of TCP and UDP: ports and ranges ("1000-2000").
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:MaxLength=11
	// +kubebuilder:validation:items:Pattern=`^[0-9]{1,5}(-[0-9]{1,5})?$`
	DestinationPorts []intstr.IntOrString `json:"destinationPorts,omitempty"`

	// TCPFlags that must be set or clear. Implies TCP.
	// +optional
	TCPFlags *TCPFlags `json:"tcpFlags,omitempty"`

	// ICMPType is the type of the ICMP message. Implies ICMP.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	ICMPType *int32 `json:"icmpType,omitempty"`

	// ICMPCode is the code of the ICMP message.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	ICMPCode *int32 `json:"icmpCode,omitempty"`

	// DSCP is the differentiated services code point (RFC 2474).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	DSCP *int32 `json:"dscp,omitempty"`

	// VLAN is the VLAN identifier (1 to 4094) of the packet's tag, or "None" for
	// untagged packets.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^([0-9]{1,4}|None)$`
	VLAN *intstr.IntOrString `json:"vlan,omitempty"`
}

// TCPFlags is a condition on the flags of the TCP header.
// +kubebuilder:validation:XValidation:rule="has(self.set) || has(self.clear)",message="name flags that must be set or clear"
type TCPFlags struct {
	// Set are flags that must be set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Set []TCPFlag `json:"set,omitempty"`

	// Clear are flags that must not be set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Clear []TCPFlag `json:"clear,omitempty"`
}
