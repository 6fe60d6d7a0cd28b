package v1alpha1

// Side is a port of a function with two sides.
// +kubebuilder:validation:Enum=Inside;Outside
type Side string

// Sides of a function.
const (
	SideInside  Side = "Inside"
	SideOutside Side = "Outside"
)

// Action is what a firewall does with a packet. Reject drops it and tells the sender: TCP by a reset, the
// rest by ICMP "communication administratively prohibited".
// +kubebuilder:validation:Enum=Accept;Drop;Reject
type Action string

// Actions of a firewall.
const (
	ActionAccept Action = "Accept"
	ActionDrop   Action = "Drop"
	ActionReject Action = "Reject"
)

// FlowState is what a stateful firewall knows of a packet's flow. New: none is known, and the packet may begin one. Established: it is
// known. Related: the packet is an ICMP error about a known one. Invalid: none is known that the packet could be of, nor can it begin one.
// +kubebuilder:validation:Enum=New;Established;Related;Invalid
type FlowState string

// States of a packet's flow.
const (
	StateNew         FlowState = "New"
	StateEstablished FlowState = "Established"
	StateRelated     FlowState = "Related"
	StateInvalid     FlowState = "Invalid"
)

// Firewall filters packets between its ports `inside` and `outside`. The first
// rule that matches decides. Unless it is stateful, replies need a rule of their own.
// +kubebuilder:validation:XValidation:rule="!has(self.tracking) || has(self.stateful) && self.stateful",message="tracking is for stateful firewalls: set stateful: true, or leave it out"
type Firewall struct {
	// Stateful has the firewall follow flows. Rules decide which may begin; replies and related ICMP errors then pass without rules of their own.
	// +optional
	// +kubebuilder:default=false
	Stateful bool `json:"stateful,omitempty"`

	// Tracking is how a stateful firewall follows flows.
	// +optional
	Tracking *Tracking `json:"tracking,omitempty"`

	// Rules in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Rules []FirewallRule `json:"rules,omitempty"`

	// RulesFrom reads further rules from a file or a ConfigMap; they come after `rules`.
	// +optional
	RulesFrom *RulesFrom `json:"rulesFrom,omitempty"`

	// Default is for packets that no rule matches.
	// +optional
	// +kubebuilder:default=Drop
	Default Action `json:"default,omitempty"`

	// CountRules counts packets and bytes of every rule.
	// +optional
	// +kubebuilder:default=false
	CountRules bool `json:"countRules,omitempty"`
}

// FirewallRule is one rule.
type FirewallRule struct {
	// Name of the rule in counters, warnings and explanations; absent: "rule-<n>".
	// +optional
	Name RuleName `json:"name,omitempty"`

	// From is the side by which the packet came in; absent: both.
	// +optional
	From Side `json:"from,omitempty"`

	Match `json:",inline"`

	// State of the packet's flow, in a stateful firewall; absent: New.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	State []FlowState `json:"state,omitempty"`

	// Action for packets that match.
	// +required
	Action Action `json:"action,omitempty"`
}

// Tracking is how a stateful firewall follows flows.
type Tracking struct {
	// Timeouts after which an idle flow is forgotten.
	// +optional
	// +kubebuilder:default={}
	Timeouts TrackingTimeouts `json:"timeouts,omitempty,omitzero"`

	// MaxFlows is the maximum number of flows at the same time.
	// +optional
	// +kubebuilder:default=1000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxFlows int32 `json:"maxFlows,omitempty"`

	// PickUp takes a TCP segment with ACK of an unknown flow for the beginning of one (state New). That lets connections go on which the
	// firewall did not see open: after a restart, or where their packets came another way before.
	// +optional
	// +kubebuilder:default=false
	PickUp bool `json:"pickUp,omitempty"`

	// MaxHalfOpen bounds the TCP flows whose opening is not over, about: above it the one ends that is opening for longest. Absent: only
	// maxFlows does.
	// +optional
	// +kubebuilder:validation:Minimum=2048
	// +kubebuilder:validation:Maximum=16777216
	MaxHalfOpen int32 `json:"maxHalfOpen,omitempty"`

	// Strict has TCP segments of known flows checked by their sequence and acknowledgment numbers and the windows of both ends (RFC 9293
	// section 3.10.7.4). Those that do not fit are Invalid. Connections that were picked up are not checked.
	// +optional
	// +kubebuilder:default=false
	Strict bool `json:"strict,omitempty"`
}

// DefaultTracking is that of a firewall which does not say how it follows flows.
func DefaultTracking() Tracking {
	return Tracking{Timeouts: TrackingTimeouts{TCP: "2h4m", TCPTransitory: "4m", UDP: "5m", ICMP: "60s"}, MaxFlows: 1_000_000}
}

// TrackingTimeouts are idle timeouts of flows.
type TrackingTimeouts struct {
	// TCP connections that are established (RFC 5382 section 5).
	// +optional
	// +kubebuilder:default="2h4m"
	TCP Duration `json:"tcp,omitempty"`

	// TCPTransitory is for TCP connections that are being opened or closed.
	// +optional
	// +kubebuilder:default="4m"
	TCPTransitory Duration `json:"tcpTransitory,omitempty"`

	// UDP flows, and those of protocols without ports (RFC 4787 section 4.3).
	// +optional
	// +kubebuilder:default="5m"
	UDP Duration `json:"udp,omitempty"`

	// ICMP queries (RFC 5508 section 3.2).
	// +optional
	// +kubebuilder:default="60s"
	ICMP Duration `json:"icmp,omitempty"`
}

// RuleFormat is the format of a file of rules.
// +kubebuilder:validation:Enum=ClassBench;CSV
type RuleFormat string

// Formats of files of rules.
const (
	FormatClassBench RuleFormat = "ClassBench"
	FormatCSV        RuleFormat = "CSV"
)

// RuleActions gives actions to the rules of a format that has none.
// +kubebuilder:validation:Enum=OddAcceptEvenDrop;Accept;Drop;Reject
type RuleActions string

// Actions for rules of files in ClassBench format.
const (
	ActionsOddAcceptEvenDrop RuleActions = "OddAcceptEvenDrop"
	ActionsAccept            RuleActions = "Accept"
	ActionsDrop              RuleActions = "Drop"
	ActionsReject            RuleActions = "Reject"
)

// RulesFrom is a text of rules.
// +kubebuilder:validation:XValidation:rule="has(self.file) != has(self.configMapRef)",message="set exactly one of file, configMapRef"
// +kubebuilder:validation:XValidation:rule="self.format == 'ClassBench' ? has(self.actions) : !has(self.actions)",message="set actions for ClassBench files, which have none, and only for them"
// +kubebuilder:validation:XValidation:rule="self.format != 'CSV' || !has(self.from)",message="CSV files say it in their column from"
type RulesFrom struct {
	// File with the rules, relative to the file that names it; may end in .gz. Files
	// are for sinterctl; in a cluster the text comes from a ConfigMap.
	// +optional
	File FilePath `json:"file,omitempty"`

	// ConfigMapRef is the ConfigMap's key with the rules; binary data may be gzipped.
	// +optional
	ConfigMapRef *ConfigMapKeyRef `json:"configMapRef,omitempty"`

	// Format of the text. ClassBench: filters as the ClassBench generator writes
	// them. CSV: a header line naming the columns (action, from, source,
	// destination, protocol, sourcePorts, destinationPorts, tcpFlags, icmpType, icmpCode,
	// dscp, vlan, name), then one rule per line; lists are separated by spaces.
	// +required
	Format RuleFormat `json:"format,omitempty"`

	// From is the side by which packets came in, for ClassBench; absent: both.
	// +optional
	From Side `json:"from,omitempty"`

	// Actions of the rules of a ClassBench file; lines are counted from 1.
	// +optional
	Actions RuleActions `json:"actions,omitempty"`
}

// Name names the text in messages and among the files that were read.
func (r *RulesFrom) Name() string { return r.Text().Name() }

// Text is where the rules are.
func (r *RulesFrom) Text() TextSource { return TextSource{File: r.File, ConfigMapRef: r.ConfigMapRef} }
