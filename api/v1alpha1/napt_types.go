package v1alpha1

import "time"

// Duration is a time span ("2h4m") from one second to a week.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="must be from 1s to 168h"
type Duration string

// Parse is the duration as a number.
func (d Duration) Parse() (time.Duration, error) { return time.ParseDuration(string(d)) }

// EndpointDependence is what of a remote endpoint the behavior of a NAPT depends on (RFC 4787 sections 4.1 and 5).
// +kubebuilder:validation:Enum=EndpointIndependent;AddressDependent;AddressAndPortDependent
type EndpointDependence string

// Dependences of a mapping or a filter.
const (
	EndpointIndependent     EndpointDependence = "EndpointIndependent"
	AddressDependent        EndpointDependence = "AddressDependent"
	AddressAndPortDependent EndpointDependence = "AddressAndPortDependent"
)

// AddressPooling is how a NAPT chooses addresses of its pool.
// +kubebuilder:validation:Enum=Paired;Arbitrary
type AddressPooling string

// The ways to choose an address.
const (
	PoolingPaired    AddressPooling = "Paired"
	PoolingArbitrary AddressPooling = "Arbitrary"
)

// NAPT translates the source address and port of packets from its port `inside`
// to its port `outside`, and back (RFC 3022, RFC 4787, RFC 5382, RFC 5508).
// +kubebuilder:validation:XValidation:rule="!has(self.filtering) || self.filtering == 'AddressAndPortDependent' || has(self.mapping) && (self.mapping == 'EndpointIndependent' || self.mapping == self.filtering)",message="filtering must not depend on less than mapping: give EndpointIndependent mapping, or stricter filtering"
// +kubebuilder:validation:XValidation:rule="has(self.pool) || has(self.static) || has(self.masquerade) && self.masquerade",message="give outside addresses: a pool, masquerade, or static translations"
// +kubebuilder:validation:XValidation:rule="!has(self.pool) || !has(self.masquerade) || !self.masquerade",message="give a pool or masquerade, not both"
type NAPT struct {
	// Pool is the outside addresses: addresses, prefixes or ranges, at most 4096
	// addresses in all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Pool []AddressSet `json:"pool,omitempty"`

	// Masquerade has the address of the interface outside as pool.
	// +optional
	Masquerade bool `json:"masquerade,omitempty"`

	// PortForwards are services of hosts inside.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	PortForwards []PortForward `json:"portForwards,omitempty"`

	// Static translations are for addresses with outside addresses of their own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Static []StaticTranslation `json:"static,omitempty"`

	// Hairpinning says by which outside addresses and ports hosts inside reach each other: by those of `portForwards` and `static`
	// (Fixed), also by those of the pool (All), or by none.
	// +optional
	// +kubebuilder:default=Fixed
	Hairpinning Hairpinning `json:"hairpinning,omitempty"`

	// Ports (and ICMP identifiers) used on each address.
	// +optional
	// +kubebuilder:default={min: 1024, max: 65535}
	Ports NAPTPorts `json:"ports,omitempty,omitzero"`

	// Timeouts after which an idle session ends.
	// +optional
	// +kubebuilder:default={}
	Timeouts NAPTTimeouts `json:"timeouts,omitempty,omitzero"`

	// Mapping says which sessions of an inside address and port share an outside address and port: all
	// (EndpointIndependent), those with one remote address (AddressDependent), or none
	// (AddressAndPortDependent), where each session takes a port of the pool.
	// +optional
	// +kubebuilder:default=AddressAndPortDependent
	Mapping EndpointDependence `json:"mapping,omitempty"`

	// Filtering says who may begin a TCP or UDP session from outside, to an outside port in use: anyone
	// (EndpointIndependent), an address with which there is a session (AddressDependent), or nobody
	// (AddressAndPortDependent). It must not depend on less than mapping does.
	// +optional
	// +kubebuilder:default=AddressAndPortDependent
	Filtering EndpointDependence `json:"filtering,omitempty"`

	// Exempt packets pass as they are, in both directions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Exempt []NAPTExemption `json:"exempt,omitempty"`

	// MaxSessions is the maximum number of sessions at the same time.
	// +optional
	// +kubebuilder:default=1000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	MaxSessions int32 `json:"maxSessions,omitempty"`

	// Pooling says whether all flows of an inside address leave by one address of the pool (Paired, RFC 4787 REQ-2), or by
	// any (Arbitrary), which uses a pool up to its last port.
	// +optional
	// +kubebuilder:default=Arbitrary
	Pooling AddressPooling `json:"pooling,omitempty"`

	// PortQuarantine is for how long an outside port rests after its last session ended, before another one gets it
	// (RFC 6888 REQ-8 recommends 120s). Absent: the port that has rested longest is next, however long that is.
	// +optional
	PortQuarantine Duration `json:"portQuarantine,omitempty"`

	// Limits of each subscriber. What is absent is a quarter of what all may have, and at least 1024.
	// +optional
	Limits NAPTLimits `json:"limits,omitempty,omitzero"`
}

// NAPTLimits are what one subscriber may have at the same time (RFC 6888 section 3).
type NAPTLimits struct {
	// PrefixLength says which inside addresses are one subscriber: those that share so many leading bits.
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=32
	PrefixLength int32 `json:"prefixLength,omitempty"`

	// MaxSessions is the maximum number of sessions of all protocols (RFC 6888 REQ-5).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	MaxSessions int32 `json:"maxSessions,omitempty"`

	// MaxPorts is the maximum number of outside ports of each protocol: of TCP, of UDP, and identifiers of ICMP
	// (RFC 6888 REQ-4).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	MaxPorts int32 `json:"maxPorts,omitempty"`
}

// NAPTExemption selects packets that are not translated, such as those between two sites that know each other's addresses: from inside
// those from `source` to `destination`, from outside those from `destination` to `source`.
type NAPTExemption struct {
	// Source addresses inside: addresses, prefixes or ranges. Absent: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Source []AddressSet `json:"source,omitempty"`

	// Destination addresses outside: addresses, prefixes or ranges.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Destination []AddressSet `json:"destination,omitempty"`
}

// NAPTPorts is a range of ports.
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="the range is reversed: min must not be above max"
type NAPTPorts struct {
	// Min is the lowest port.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Min int32 `json:"min,omitempty"`

	// Max is the highest port.
	// +optional
	// +kubebuilder:default=65535
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Max int32 `json:"max,omitempty"`
}

// NAPTTimeouts are idle timeouts.
type NAPTTimeouts struct {
	// TCP connections that are established (RFC 5382 section 5).
	// +optional
	// +kubebuilder:default="2h4m"
	TCP Duration `json:"tcp,omitempty"`

	// TCPTransitory is for TCP connections that are being opened or closed.
	// +optional
	// +kubebuilder:default="4m"
	TCPTransitory Duration `json:"tcpTransitory,omitempty"`

	// UDP flows (RFC 4787 section 4.3).
	// +optional
	// +kubebuilder:default="5m"
	UDP Duration `json:"udp,omitempty"`

	// ICMP queries (RFC 5508 section 3.2).
	// +optional
	// +kubebuilder:default="60s"
	ICMP Duration `json:"icmp,omitempty"`
}
