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

// Firewall filters packets between its ports `inside` and `outside`. The first
// rule that matches decides. It keeps no state: replies need a rule of their own.
type Firewall struct {
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

	// Action for packets that match.
	// +required
	Action Action `json:"action,omitempty"`
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
func (r *RulesFrom) Name() string { return textName(r.File, r.ConfigMapRef) }
