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
// +kubebuilder:validation:Enum=Classifier;Filter;Lookup;DecTTL;TTLGuard;SetField;CheckIPHeader;Counter;Tee;Discard;ICMPError;EchoResponder;NAPT;Meter
type ElementKind string

// Kinds of elements.
const (
	ElementClassifier    ElementKind = "Classifier"
	ElementFilter        ElementKind = "Filter"
	ElementLookup        ElementKind = "Lookup"
	ElementDecTTL        ElementKind = "DecTTL"
	ElementTTLGuard      ElementKind = "TTLGuard"
	ElementSetField      ElementKind = "SetField"
	ElementCheckIPHeader ElementKind = "CheckIPHeader"
	ElementCounter       ElementKind = "Counter"
	ElementTee           ElementKind = "Tee"
	ElementDiscard       ElementKind = "Discard"
	ElementICMPError     ElementKind = "ICMPError"
	ElementEchoResponder ElementKind = "EchoResponder"
	ElementNAPT          ElementKind = "NAPT"
	ElementMeter         ElementKind = "Meter"
)

// Element is one element. Its parameters, if its kind has any, are in the member
// of that name.
// +kubebuilder:validation:XValidation:rule="has(self.classifier) == (self.kind == 'Classifier')",message="set classifier if kind is Classifier, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.filter) == (self.kind == 'Filter')",message="set filter if kind is Filter, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.lookup) == (self.kind == 'Lookup')",message="set lookup if kind is Lookup, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.ttlGuard) == (self.kind == 'TTLGuard')",message="set ttlGuard if kind is TTLGuard, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.setField) == (self.kind == 'SetField')",message="set setField if kind is SetField, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.tee) == (self.kind == 'Tee')",message="set tee if kind is Tee, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.discard) || self.kind == 'Discard'",message="set discard only if kind is Discard"
// +kubebuilder:validation:XValidation:rule="has(self.icmpError) == (self.kind == 'ICMPError')",message="set icmpError if kind is ICMPError, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.napt) == (self.kind == 'NAPT')",message="set napt if kind is NAPT, and only then"
// +kubebuilder:validation:XValidation:rule="has(self.meter) == (self.kind == 'Meter')",message="set meter if kind is Meter, and only then"
type Element struct {
	// Name of the element, unique among the function's elements and ports.
	// +required
	Name Name `json:"name,omitempty"`

	// Kind of the element. Outputs: DecTTL has alive and expired, TTLGuard pass
	// and fail, CheckIPHeader good and bad, Filter pass and drop, NAPT inside
	// and outside (and inputs of the same names); Classifier, Lookup and Tee have
	// those that their parameters name; the others have one, Discard none. Packets
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

// HeaderField is a header field that an element writes.
// +kubebuilder:validation:Enum=VLAN;Source;Destination;DSCP;TTL;SourcePort;DestinationPort
type HeaderField string

// Header fields.
const (
	FieldVLAN            HeaderField = "VLAN"
	FieldSource          HeaderField = "Source"
	FieldDestination     HeaderField = "Destination"
	FieldDSCP            HeaderField = "DSCP"
	FieldTTL             HeaderField = "TTL"
	FieldSourcePort      HeaderField = "SourcePort"
	FieldDestinationPort HeaderField = "DestinationPort"
)

// SetFieldElement writes a constant to a header field.
type SetFieldElement struct {
	// Field to write.
	// +required
	Field HeaderField `json:"field,omitempty"`

	// Value to write: an address for Source and Destination, else a number; "None" for
	// VLAN strips the tag.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:Pattern=`^(None|[0-9a-fA-F.:]+)$`
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
