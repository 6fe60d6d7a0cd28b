package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// LoadBalancer spreads the flows to virtual addresses over backends. Clients are on its port `outside`, backends on its port
// `inside`. A new flow gets its backend by a Maglev table (Eisenbud et al., NSDI 2016); a known one stays where it is as long as
// its backend is listed.
// +kubebuilder:validation:XValidation:rule="!has(self.stateless) || !self.stateless || has(self.mode) && self.mode == 'DSR'",message="stateless needs mode: DSR, as what a backend sends back is told from other packets by its session"
// +kubebuilder:validation:XValidation:rule="has(self.backends) != has(self.backendsFrom)",message="set exactly one of backends, backendsFrom"
type LoadBalancer struct {
	// Virtual services, to which clients send.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Virtual []VirtualService `json:"virtual,omitempty"`

	// Backends, to which the flows of all virtual services go.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Backends []Backend `json:"backends,omitempty"`

	// BackendsFrom takes them from a Kubernetes Service, in place of `backends`. For clusters; on a host there are none.
	// +optional
	BackendsFrom *BackendsFrom `json:"backendsFrom,omitempty"`

	// Mode is how packets get to their backend. NAT: it becomes their destination, and what it sends back passes the chain. DSR: they keep
	// all addresses and go to its MAC address, as they came; it answers clients itself, past the chain (direct server return).
	// +optional
	// +kubebuilder:default=NAT
	Mode BalancerMode `json:"mode,omitempty"`

	// Stateless has the Maglev table alone tell the backend of each packet, without sessions. It needs mode DSR. Where backends
	// change, flows may change with them.
	// +optional
	// +kubebuilder:default=false
	Stateless bool `json:"stateless,omitempty"`

	// Affinity chooses what tells the backend of a new flow: the whole flow, or the address of its client, so that a client's
	// flows go to one backend as long as the backends stay.
	// +optional
	// +kubebuilder:default=None
	Affinity Affinity `json:"affinity,omitempty"`

	// HealthCheck has backends checked from outside: by the agent of each pod, or by `sinterctl run`. Absent: all are taken for healthy.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// SlowStart is the time in which a backend that is healthy again, or new in the list, gets its weight, in ten steps; absent: at once.
	// +optional
	SlowStart Duration `json:"slowStart,omitempty"`

	// Timeouts after which an idle session ends.
	// +optional
	// +kubebuilder:default={}
	Timeouts LoadBalancerTimeouts `json:"timeouts,omitempty,omitzero"`

	// MaxSessions is the maximum number of sessions at the same time.
	// +optional
	// +kubebuilder:default=262144
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8000000
	MaxSessions int32 `json:"maxSessions,omitempty"`
}

// VirtualService is where clients find a service.
type VirtualService struct {
	// Name of the service in statistics and explanations; absent: "virtual-<n>".
	// +optional
	Name RuleName `json:"name,omitempty"`

	// Addresses of the service. Interfaces answer ARP requests for those within their prefixes.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Addresses []Address `json:"addresses,omitempty"`

	// Protocol of the service.
	// +optional
	// +kubebuilder:default=TCP
	Protocol ServiceProtocol `json:"protocol,omitempty"`

	// Ports of the service: ports and ranges ("8000-8099").
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:MaxLength=11
	// +kubebuilder:validation:items:Pattern=`^[0-9]{1,5}(-[0-9]{1,5})?$`
	Ports []intstr.IntOrString `json:"ports,omitempty"`
}

// ServiceProtocol is a protocol that is balanced.
// +kubebuilder:validation:Enum=TCP;UDP
type ServiceProtocol string

// Protocols that are balanced.
const (
	ServiceTCP ServiceProtocol = "TCP"
	ServiceUDP ServiceProtocol = "UDP"
)

// BackendsFrom is where backends come from.
type BackendsFrom struct {
	// ServiceRef has the IPv4 endpoints of a Service as backends, as its EndpointSlices have them: those that are ready with weight 1, and those
	// that end but serve still with weight 0. They follow as endpoints come and go.
	// +required
	ServiceRef *ServiceRef `json:"serviceRef,omitempty"`
}

// ServiceRef is a port of a Service in the chain's namespace.
type ServiceRef struct {
	// Name of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// Port is the name of the Service's port; absent: the Service has one port only.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Port string `json:"port,omitempty"`
}

// BalancerMode is how packets get to their backend.
// +kubebuilder:validation:Enum=NAT;DSR
type BalancerMode string

// How packets get to their backend.
const (
	BalancerNAT BalancerMode = "NAT"
	BalancerDSR BalancerMode = "DSR"
)

// Affinity is what tells the backend of a new flow.
// +kubebuilder:validation:Enum=None;Client
type Affinity string

// Ways to choose the backend of a new flow.
const (
	AffinityNone   Affinity = "None"
	AffinityClient Affinity = "Client"
)

// Backend is a server.
type Backend struct {
	// Address of the server.
	// +required
	Address Address `json:"address,omitempty"`

	// Port of the server; absent: the one to which the client sends.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// Weight is the server's share of new flows, in proportion to the others'. 0 drains it: it gets no new flow, known ones stay.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=256
	Weight *int32 `json:"weight,omitempty"`
}

// HealthCheck is how backends are checked. One that fails gets no new flow, and its sessions count no longer: their flows get other backends.
// +kubebuilder:validation:XValidation:rule="has(self.http) != has(self.tcp)",message="set exactly one of http, tcp"
type HealthCheck struct {
	// HTTP asks for a path. Status codes from 200 to 399 are healthy.
	// +optional
	HTTP *HTTPCheck `json:"http,omitempty"`

	// TCP opens a connection, and closes it.
	// +optional
	TCP *TCPCheck `json:"tcp,omitempty"`

	// Interval between two checks of a backend.
	// +optional
	// +kubebuilder:default="2s"
	Interval Duration `json:"interval,omitempty"`

	// Timeout of a check.
	// +optional
	// +kubebuilder:default="1s"
	Timeout Duration `json:"timeout,omitempty"`

	// UnhealthyThreshold is how many checks in a row fail before a backend counts as down.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	UnhealthyThreshold int32 `json:"unhealthyThreshold,omitempty"`

	// HealthyThreshold is how many checks in a row succeed before it counts as up again.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HealthyThreshold int32 `json:"healthyThreshold,omitempty"`
}

// HTTPCheck is a request by HTTP/1.1.
type HTTPCheck struct {
	// Path that is asked for, which begins with "/".
	// +optional
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`

	// Port that is asked; absent: the backend's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// TCPCheck is a connection.
type TCPCheck struct {
	// Port to which it is opened; absent: the backend's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// LoadBalancerTimeouts are idle timeouts.
type LoadBalancerTimeouts struct {
	// TCP connections that are established.
	// +optional
	// +kubebuilder:default="2h4m"
	TCP Duration `json:"tcp,omitempty"`

	// TCPTransitory is for TCP connections that are being opened or closed.
	// +optional
	// +kubebuilder:default="4m"
	TCPTransitory Duration `json:"tcpTransitory,omitempty"`

	// UDP flows.
	// +optional
	// +kubebuilder:default="5m"
	UDP Duration `json:"udp,omitempty"`
}
