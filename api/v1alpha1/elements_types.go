package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Elements is a function built from elements. Packets that enter the function by a
// port come out of the link from that port; a link to a port leaves the function.
type Elements struct {
	// Ports of the function; absent: inside, outside.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Ports []Name `json:"ports,omitempty"`

	// Elements of the function.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Elements []Element `json:"elements,omitempty"`

	// Links between elements and the function's ports.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Links []ElementLink `json:"links,omitempty"`
}

// ElementLink leads packets from an output to an input.
type ElementLink struct {
	// From is an element's output ("cls.web"; "ttl" if it has one only), or a port
	// of the function: packets that enter by it.
	// +required
	From Endpoint `json:"from,omitempty"`

	// To is an element ("nat.inside" if it has several inputs), or a port of the
	// function: packets leave by it.
	// +required
	To Endpoint `json:"to,omitempty"`
}

// ElementKind is a kind of element.
// +kubebuilder:validation:Enum=classifier;filter;lookup;dec-ttl;ttl-guard;set-field;check-ip-header;counter;tee;discard;icmp-error;echo-responder;napt;meter
type ElementKind string

// Kinds of elements.
const (
	ElementClassifier    ElementKind = "classifier"
	ElementFilter        ElementKind = "filter"
	ElementLookup        ElementKind = "lookup"
	ElementDecTTL        ElementKind = "dec-ttl"
	ElementTTLGuard      ElementKind = "ttl-guard"
	ElementSetField      ElementKind = "set-field"
	ElementCheckIPHeader ElementKind = "check-ip-header"
	ElementCounter       ElementKind = "counter"
	ElementTee           ElementKind = "tee"
	ElementDiscard       ElementKind = "discard"
	ElementICMPError     ElementKind = "icmp-error"
	ElementEchoResponder ElementKind = "echo-responder"
	ElementNAPT          ElementKind = "napt"
	ElementMeter         ElementKind = "meter"
)

// Element is one element. Its parameters, if its kind has any, are in the member
// of that name.
// +kubebuilder:validation:XValidation:rule="has(self.classifier) == (self.kind == 'classifier')",message="set classifier if kind is classifier, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.filter) == (self.kind == 'filter')",message="set filter if kind is filter, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.lookup) == (self.kind == 'lookup')",message="set lookup if kind is lookup, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.ttlGuard) == (self.kind == 'ttl-guard')",message="set ttlGuard if kind is ttl-guard, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.setField) == (self.kind == 'set-field')",message="set setField if kind is set-field, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.tee) == (self.kind == 'tee')",message="set tee if kind is tee, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.discard) || self.kind == 'discard'",message="set discard only if kind is discard"
// +kubebuilder:validation:XValidation:rule="has(self.icmpError) == (self.kind == 'icmp-error')",message="set icmpError if kind is icmp-error, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.napt) == (self.kind == 'napt')",message="set napt if kind is napt, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.meter) == (self.kind == 'meter')",message="set meter if kind is meter, and only then"
type Element struct {
	// Name of the element, unique among the function's elements and ports.
	// +required
	Name Name `json:"name,omitempty"`

	// Kind of the element. Outputs: dec-ttl has alive and expired, ttl-guard pass
	// and fail, check-ip-header good and bad, filter pass and drop, napt inside
	// and outside (and inputs of the same names); classifier, lookup and tee have
	// those that their parameters name; the others have one, discard none. Packets
	// that leave by expired, fail, bad or drop are dropped unless these are linked.
	// +required
	Kind ElementKind `json:"kind,omitempty"`

	// Classifier sends packets by ordered rules to outputs.
	// +optional
	Classifier *ClassifierElement `json:"classifier,omitempty"`

	// Filter passes the packets that match.
	// +optional
	Filter *FilterElement `json:"filter,omitempty"`

	// Lookup sends packets by longest prefix match to outputs.
	// +optional
	Lookup *LookupElement `json:"lookup,omitempty"`

	// TTLGuard lets packets pass whose TTL is high enough (RFC 5082).
	// +optional
	TTLGuard *TTLGuardElement `json:"ttlGuard,omitempty"`

	// SetField writes a constant to a header field.
	// +optional
	SetField *SetFieldElement `json:"setField,omitempty"`

	// Tee copies packets to all its outputs.
	// +optional
	Tee *TeeElement `json:"tee,omitempty"`

	// Discard drops packets.
	// +optional
	Discard *DiscardElement `json:"discard,omitempty"`

	// ICMPError replies to packets with an ICMP error.
	// +optional
	ICMPError *ICMPErrorElement `json:"icmpError,omitempty"`

	// NAPT translates addresses and ports.
	// +optional
	NAPT *NAPT `json:"napt,omitempty"`

	// Meter limits rates by token buckets.
	// +optional
	Meter *Meter `json:"meter,omitempty"`
}

// ClassifierElement sends a packet out of the first matching rule's output.
type ClassifierElement struct {
	// Rules in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Rules []ClassifierRule `json:"rules,omitempty"`

	// Default is the output for packets that no rule matches; absent: they are dropped.
	// +optional
	Default Name `json:"default,omitempty"`
}

// ClassifierRule sends packets that match to an output.
type ClassifierRule struct {
	// Name of the rule in counters, warnings and explanations.
	// +optional
	Name RuleName `json:"name,omitempty"`

	Match `json:",inline"`

	// Output that the packets leave by.
	// +required
	Output Name `json:"output,omitempty"`

	// Count counts the packets and bytes of the rule.
	// +optional
	Count bool `json:"count,omitempty"`
}

// FilterElement lets packets that match any of its entries leave by `pass`, and
// the others by `drop`, which drops them unless it is linked.
type FilterElement struct {
	// Match lists what passes.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Match []Match `json:"match,omitempty"`
}

// LookupElement sends packets by longest prefix match to outputs.
type LookupElement struct {
	// Routes in any order.
	// +required
	// +listType=map
	// +listMapKey=prefix
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4096
	Routes []LookupRoute `json:"routes,omitempty"`

	// NoRoute is the output for packets without a route; absent: they are dropped.
	// +optional
	NoRoute Name `json:"noRoute,omitempty"`
}

// LookupRoute sends a prefix to an output.
type LookupRoute struct {
	// Prefix of destinations.
	// +required
	Prefix Prefix `json:"prefix,omitempty"`

	// Output that the packets leave by.
	// +required
	Output Name `json:"output,omitempty"`

	// Via is the next hop; absent: the destination itself, else the gateway.
	// +optional
	Via Address `json:"via,omitempty"`
}

// TTLGuardElement checks the TTL (RFC 5082). Packets with at least the TTL `min` crossed only few
// routers and leave by `pass`. The others leave by `fail`, which drops them unless it is linked.
type TTLGuardElement struct {
	// Min is the smallest TTL that passes: 255 less the routers that may lie between.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=255
	Min *int32 `json:"min,omitempty"`
}

// SetFieldElement writes a constant to a header field.
type SetFieldElement struct {
	// Field to write.
	// +required
	// +kubebuilder:validation:Enum=vlan;src;dst;dscp;ttl;sport;dport
	Field string `json:"field,omitempty"`

	// Value to write: an address for src and dst, else a number; "none" for vlan
	// strips the tag.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-Fno.:]+$`
	Value intstr.IntOrString `json:"value"`
}

// TeeElement copies packets to all its outputs.
type TeeElement struct {
	// Outputs in order.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Outputs []Name `json:"outputs,omitempty"`
}

// DiscardElement drops packets.
type DiscardElement struct {
	// Reason under which the drops are counted; absent: "<function>/<element>".
	// +optional
	Reason RuleName `json:"reason,omitempty"`
}

// ICMPErrorElement replies to packets with an ICMP error (RFC 792).
type ICMPErrorElement struct {
	// Type of the message.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	Type *int32 `json:"type,omitempty"`

	// Code of the message.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	Code *int32 `json:"code,omitempty"`

	// Source address of the reply; absent: the address of the interface by which the packet
	// entered.
	// +optional
	Source Address `json:"source,omitempty"`
}
