package v1alpha1

// ConnectionLimiter bounds the connections that each host at its port `inside` has at the same time. A packet from inside that would begin
// one too many is dropped as "<function>/limit"; packets of known connections pass, and so do those that begin none: what comes from
// outside, fragments, ICMP errors, and TCP segments of connections whose opening was not seen.
type ConnectionLimiter struct {
	// MaxPerHost is the maximum number of connections of one host at the same time.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxPerHost int32 `json:"maxPerHost,omitempty"`

	// PrefixLength of a host's addresses: with less than 32, hosts that share such a prefix share the connections.
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	PrefixLength int32 `json:"prefixLength,omitempty"`

	// MaxConnections is the maximum number of connections of all hosts at the same time. A packet that would begin one more is dropped as
	// "<function>/full".
	// +optional
	// +kubebuilder:default=1000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxConnections int32 `json:"maxConnections,omitempty"`

	// Timeouts after which an idle connection is forgotten.
	// +optional
	// +kubebuilder:default={}
	Timeouts ConnectionTimeouts `json:"timeouts,omitempty,omitzero"`
}

// ConnectionTimeouts are idle timeouts of connections that are counted.
type ConnectionTimeouts struct {
	// TCP connections that are established (RFC 5382 section 5).
	// +optional
	// +kubebuilder:default="2h4m"
	TCP Duration `json:"tcp,omitempty"`

	// TCPTransitory is for TCP connections that are being opened.
	// +optional
	// +kubebuilder:default="4m"
	TCPTransitory Duration `json:"tcpTransitory,omitempty"`

	// TCPClosing is for TCP connections of which a FIN or RST was seen. Their packets pass after that, too; but until then a connection counts.
	// +optional
	// +kubebuilder:default="1s"
	TCPClosing Duration `json:"tcpClosing,omitempty"`

	// UDP flows, and those of protocols without ports (RFC 4787 section 4.3).
	// +optional
	// +kubebuilder:default="5m"
	UDP Duration `json:"udp,omitempty"`

	// ICMP queries (RFC 5508 section 3.2).
	// +optional
	// +kubebuilder:default="60s"
	ICMP Duration `json:"icmp,omitempty"`
}
