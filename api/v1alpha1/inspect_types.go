package v1alpha1

// Inspect looks into packets between its ports `inside` and `outside`: it matches the payloads of UDP datagrams, the first bytes of TCP
// streams, put together in order, and TCP packets one by one, with texts, regular expressions, names that DNS queries ask for, and rules in a
// subset of Suricata's language.
// +kubebuilder:validation:XValidation:rule="has(self.patterns) || has(self.regex) || has(self.dns) || has(self.sni) || has(self.httpHost) || has(self.rulesFrom)",message="name what to look for: patterns, regex, dns, sni, httpHost or rulesFrom"
// +kubebuilder:validation:XValidation:rule="(has(self.action) && self.action == 'Mark') == has(self.mark)",message="mark goes with action Mark: set both, or neither"
type Inspect struct {
	// From is the side by which the packet came in; absent: both.
	// +optional
	From Side `json:"from,omitempty"`

	// Match says which packets are inspected for what is named here. Its protocol is udp, tcp, or absent for udp. Rules of rulesFrom have a
	// match of their own.
	Match `json:",inline"`

	// Patterns are texts; a packet matches that has one of them in its payload.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Patterns []InspectPattern `json:"patterns,omitempty"`

	// Regex are regular expressions (RE2 over bytes); a packet matches that has a match of one in its payload.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Regex []InspectRegex `json:"regex,omitempty"`

	// DNS are names; a DNS query matches that asks for one of them. "*.example.com" is all names below example.com.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4096
	DNS []InspectName `json:"dns,omitempty"`

	// SNI are names of servers; a TCP stream matches whose TLS ClientHello asks for one of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4096
	SNI []InspectName `json:"sni,omitempty"`

	// HTTPHost are names of hosts; a TCP stream matches whose first HTTP request is for one of them, whatever the port.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4096
	HTTPHost []InspectName `json:"httpHost,omitempty"`

	// RulesFrom reads rules in a subset of Suricata's language from a file or a ConfigMap. Their actions are their own.
	// +optional
	RulesFrom *InspectRulesFrom `json:"rulesFrom,omitempty"`

	// Action for packets that match patterns, regex, dns, sni or httpHost.
	// +optional
	// +kubebuilder:default=Drop
	Action InspectAction `json:"action,omitempty"`

	// Mark is the DSCP that packets get with action Mark.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	Mark *int32 `json:"mark,omitempty"`

	// Streams says how far TCP streams are looked at.
	// +optional
	Streams *InspectStreams `json:"streams,omitempty"`

	// Fragments is what becomes of fragments, in which a sender could hide what a rule drops: Drop drops those that may be of packets that
	// a rule may drop.
	// +optional
	// +kubebuilder:default=Drop
	Fragments InspectFragments `json:"fragments,omitempty"`
}

// InspectStreams says how far TCP streams are looked at. A stream is a direction of a connection.
type InspectStreams struct {
	// Depth is how many bytes of a stream are looked at, from its beginning. What is behind them passes.
	// +optional
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	Depth int32 `json:"depth,omitempty"`

	// Max is of how many streams bytes are kept at a time: of those that are not at their end, and of which fewer than depth came. Packets of
	// further ones are dropped as "<function>/full", to be sent again later. Sixteen times as many are known.
	// +optional
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Max int32 `json:"max,omitempty"`

	// Timeout after which an idle stream is forgotten.
	// +optional
	// +kubebuilder:default="2m"
	Timeout Duration `json:"timeout,omitempty"`
}

// DefaultInspectStreams are those of an inspection that does not say how far it looks.
func DefaultInspectStreams() InspectStreams {
	return InspectStreams{Depth: 4096, Max: 4096, Timeout: "2m"}
}

// InspectPattern is a text as Suricata's content has it: bytes may be written in hexadecimal between bars, as in "GET |0d 0a|". A bar,
// a backslash, a quote, a colon or a semicolon that is meant itself has a backslash before it.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type InspectPattern string

// InspectRegex is a regular expression.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type InspectRegex string

// InspectName is a name of the DNS, or "*." and a name for all below it.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type InspectName string

// InspectAction is what becomes of a packet that matches. All of them count it. Drop drops it as "<function>/matched"; Mark gives it a DSCP.
// +kubebuilder:validation:Enum=Drop;Mark;Count
type InspectAction string

// Actions of an inspection.
const (
	InspectDrop  InspectAction = "Drop"
	InspectMark  InspectAction = "Mark"
	InspectCount InspectAction = "Count"
)

// InspectFragments is what becomes of fragments.
// +kubebuilder:validation:Enum=Drop;Pass
type InspectFragments string

// Ways to treat fragments.
const (
	FragmentsDrop InspectFragments = "Drop"
	FragmentsPass InspectFragments = "Pass"
)

// InspectRulesFrom is a text of rules in a subset of Suricata's language.
// +kubebuilder:validation:XValidation:rule="has(self.file) != has(self.configMapRef)",message="set exactly one of file, configMapRef"
type InspectRulesFrom struct {
	// File with the rules, relative to the file that names it; may end in .gz. Files
	// are for sinterctl; in a cluster the text comes from a ConfigMap.
	// +optional
	File FilePath `json:"file,omitempty"`

	// ConfigMapRef is the ConfigMap's key with the rules; binary data may be gzipped.
	// +optional
	ConfigMapRef *ConfigMapKeyRef `json:"configMapRef,omitempty"`
}

// Name names the text in messages and among the files that were read.
func (r *InspectRulesFrom) Name() string { return r.Text().Name() }

// Text is where the text is.
func (r *InspectRulesFrom) Text() TextSource {
	return TextSource{File: r.File, ConfigMapRef: r.ConfigMapRef}
}
