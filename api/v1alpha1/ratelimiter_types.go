package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// RateLimiter limits the rates of packets between its ports `inside` and `outside` by token buckets (RFC 2697, RFC 2698).
// The first limit that matches a packet decides; packets that none matches pass.
type RateLimiter struct {
	// Limits in order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Limits []RateLimit `json:"limits,omitempty"`
}

// RateLimit limits the packets that match.
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !(self.name in ['inside', 'outside'])",message="inside and outside are the ports; take another name"
type RateLimit struct {
	// Name of the limit in statistics and explanations; absent: "limit-<n>".
	// +optional
	Name RuleName `json:"name,omitempty"`

	// From is the side by which the packet came in; absent: both, which share the buckets.
	// +optional
	From Side `json:"from,omitempty"`

	Match `json:",inline"`

	Meter `json:",inline"`
}

// Rate is a number with a unit: bit/s, kbit/s, Mbit/s, Gbit/s, or pps, kpps, Mpps. Bits are those of IP
// packets, header included.
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)? ?([kMG]?bit/s|[kM]?pps)$`
type Rate string

// Meter measures packets by token buckets, and colours them green, yellow or red. Green packets pass.
// +kubebuilder:validation:XValidation:rule="!has(self.peakBurst) || has(self.peakRate)",message="peakBurst needs peakRate"
// +kubebuilder:validation:XValidation:rule="!has(self.excessBurst) || !has(self.peakRate)",message="set excessBurst (RFC 2697) or peakRate (RFC 2698), not both"
type Meter struct {
	// Rate from 1 kbit/s to 1000 Gbit/s, or from 1 pps to 1000 Mpps: the committed information rate.
	// +required
	Rate Rate `json:"rate,omitempty"`

	// Burst that may pass at once after a pause, in bytes, or in packets if the rate is in packets: a number, with
	// k, M, G, Ki, Mi or Gi behind it. Absent: 50 ms of the rate, and at least 10 packets (of 1500 bytes).
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(k|Ki|[MG]i?)?$`
	Burst *intstr.IntOrString `json:"burst,omitempty"`

	// ExcessBurst that passes as yellow when the burst is used up; it refills when the burst is full (RFC 2697).
	// Absent: no packet is yellow.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(k|Ki|[MG]i?)?$`
	ExcessBurst *intstr.IntOrString `json:"excessBurst,omitempty"`

	// PeakRate up to which packets above the rate are yellow (RFC 2698). Its unit is the rate's, or a multiple.
	// +optional
	PeakRate Rate `json:"peakRate,omitempty"`

	// PeakBurst is the burst of the peak rate. Absent: as for `burst`.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(k|Ki|[MG]i?)?$`
	PeakBurst *intstr.IntOrString `json:"peakBurst,omitempty"`

	// ColorAware names the DSCPs of packets that were coloured before. Absent: no packet was.
	// +optional
	ColorAware *ColorAware `json:"colorAware,omitempty"`

	// PerSubscriber gives each subscriber buckets of its own. Absent: all packets of the limit share them.
	// +optional
	PerSubscriber *PerSubscriber `json:"perSubscriber,omitempty"`

	// Yellow is what becomes of yellow packets; absent: they pass.
	// +optional
	Yellow *ColorAction `json:"yellow,omitempty"`

	// Red is what becomes of red packets; absent: they are dropped as "<function>/exceeded".
	// +optional
	Red *ColorAction `json:"red,omitempty"`
}

// ColorAware are the DSCPs (0 to 63) by which packets come as yellow or red.
// +kubebuilder:validation:XValidation:rule="has(self.yellow) || has(self.red)",message="name DSCPs of yellow or red packets"
type ColorAware struct {
	// Yellow packets come with one of these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=63
	Yellow []int32 `json:"yellow,omitempty"`

	// Red packets come with one of these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=63
	Red []int32 `json:"red,omitempty"`
}

// SubscriberAddress is an address of a packet.
// +kubebuilder:validation:Enum=Source;Destination
type SubscriberAddress string

// Addresses that tell subscribers.
const (
	SubscriberSource      SubscriberAddress = "Source"
	SubscriberDestination SubscriberAddress = "Destination"
)

// PerSubscriber says what a subscriber is: a prefix of an address.
type PerSubscriber struct {
	// Address that tells the subscriber.
	// +required
	Address SubscriberAddress `json:"address,omitempty"`

	// PrefixLength of a subscriber's addresses.
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	PrefixLength int32 `json:"prefixLength,omitempty"`

	// Max is how many subscribers there are at a time at most. A further one takes the place of one
	// that was idle for long, which begins with full buckets when it comes again.
	// +optional
	// +kubebuilder:default=65536
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Max int32 `json:"max,omitempty"`
}

// MeterAction is what a meter does with packets of a colour. Drop counts them as "<function>/exceeded".
// +kubebuilder:validation:Enum=Pass;Drop
type MeterAction string

// Actions of a meter.
const (
	MeterPass MeterAction = "Pass"
	MeterDrop MeterAction = "Drop"
)

// ColorAction is what becomes of packets of a colour.
// +kubebuilder:validation:XValidation:rule="has(self.action) != has(self.dscp)",message="set exactly one of action, dscp"
type ColorAction struct {
	// Action for the packets.
	// +optional
	Action MeterAction `json:"action,omitempty"`

	// DSCP that they get; they pass.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	DSCP *int32 `json:"dscp,omitempty"`
}
