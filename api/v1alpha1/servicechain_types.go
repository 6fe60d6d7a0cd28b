package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServiceChain is a chain of network functions between interfaces. It is
// compiled as a whole into one packet program.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.scaling.instances,statuspath=.status.desiredInstances,selectorpath=.status.selector
// +kubebuilder:resource:shortName=chain,categories=sinter
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.desiredInstances`
// +kubebuilder:printcolumn:name="Instances",type=integer,JSONPath=`.status.instances`
// +kubebuilder:printcolumn:name="Cores",type=integer,JSONPath=`.status.cores`
// +kubebuilder:printcolumn:name="Classes",type=integer,JSONPath=`.status.classes`
// +kubebuilder:printcolumn:name="Mpps",type=string,JSONPath=`.status.mpps`
// +kubebuilder:printcolumn:name="Drops/s",type=integer,JSONPath=`.status.dropRate`
// +kubebuilder:printcolumn:name="Program",type=string,priority=1,JSONPath=`.status.program`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="the chain's name must have at most 52 characters: programs, instances and pods are named after it"
type ServiceChain struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// Spec is the desired chain.
	// +required
	Spec ServiceChainSpec `json:"spec"`

	// Status is what the operator observed.
	// +optional
	Status ServiceChainStatus `json:"status,omitempty,omitzero"`
}

// ServiceChainList is a list of chains.
//
// +kubebuilder:object:root=true
type ServiceChainList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +required
	Items []ServiceChain `json:"items"`
}

// ServiceChainSpec is a chain: interfaces, functions, and how they are wired.
// +kubebuilder:validation:XValidation:rule="has(self.path) || has(self.links)",message="set path or links, else no packet gets anywhere"
type ServiceChainSpec struct {
	// Interfaces are the chain's links to the outside world.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Interfaces []Interface `json:"interfaces,omitempty"`

	// Functions are the chain's network functions, in any order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Functions []Function `json:"functions,omitempty"`

	// Path is the short form for functions in a row: each is entered by its port
	// `inside` and left by its port `outside`, and wired in both directions. The
	// first and the last entry may be an interface, or name a port ("rt.zone1").
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=66
	Path []Endpoint `json:"path,omitempty"`

	// Links wire ports one by one, in addition to the path.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Links []Link `json:"links,omitempty"`

	// Scaling is how many instances and cores the chain has.
	// +optional
	// +kubebuilder:default={}
	Scaling Scaling `json:"scaling,omitempty,omitzero"`

	// Placement is where the instances may run.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`

	// Resources of each instance in addition to its cores.
	// +optional
	// +kubebuilder:default={}
	Resources Resources `json:"resources,omitempty,omitzero"`

	// Rollout is how the instances get a new program.
	// +optional
	// +kubebuilder:default={}
	Rollout Rollout `json:"rollout,omitempty,omitzero"`

	// RollbackTo names a ChainProgram of this chain. The instances run it instead of what the rest
	// of the spec compiles to, until the field is removed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RollbackTo string `json:"rollbackTo,omitempty"`
}

// ReversePath is how the source addresses of packets are checked (reverse path filter, RFC 3704).
// +kubebuilder:validation:Enum=Strict;Loose;Off
type ReversePath string

// Modes of the reverse path filter.
const (
	ReversePathStrict ReversePath = "Strict"
	ReversePathLoose  ReversePath = "Loose"
	ReversePathOff    ReversePath = "Off"
)

// Interface is a chain's link to the outside world.
// +kubebuilder:validation:XValidation:rule="!(has(self.resourceName) && has(self.resourceClaimTemplateName))",message="set resourceName (device plugin) or resourceClaimTemplateName (DRA), not both"
// +kubebuilder:validation:XValidation:rule="!has(self.driver) || self.driver != 'VFIO' || has(self.resourceName) || has(self.resourceClaimTemplateName)",message="VFIO needs a device: set resourceName or resourceClaimTemplateName"
// +kubebuilder:validation:XValidation:rule="!has(self.resourceClaimTemplateName) || !has(self.networkRef)",message="a device of a claim has no NetworkAttachmentDefinition; leave networkRef out"
// +kubebuilder:validation:XValidation:rule="has(self.address) != (has(self.wire) && self.wire)",message="set address, or wire: true for a side of a blackbox"
type Interface struct {
	// Name of the interface, unique among interfaces and functions.
	// +required
	Name Name `json:"name,omitempty"`

	// Address of the interface and its on-link prefix ("192.0.2.1/24"). The
	// interface answers ping, and ICMP errors come from this address.
	// +optional
	Address Prefix `json:"address,omitempty"`

	// Wire makes the interface a side of a blackbox, which names it. A wire has no addresses and answers nothing: packets
	// leave by it for the blackbox alone, with MAC addresses by which the chain knows them again.
	// +optional
	Wire bool `json:"wire,omitempty"`

	// Addresses are more addresses of the interface, inside its prefix or not. The interface
	// replies to ARP requests and pings for them, from every side. If the chain translates to one
	// of them (it is in a NAT's pool, or a SetField writes it as source), all other packets to it
	// enter the chain.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Addresses []Address `json:"addresses,omitempty"`

	// VLANs are the identifiers (1 to 4094), and ranges of them ("100-199"), of tagged frames that
	// this interface receives and sends. All other tagged frames are dropped; untagged frames
	// always pass. The interface has its addresses in each VLAN.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:MaxLength=9
	// +kubebuilder:validation:items:Pattern=`^[0-9]{1,4}(-[0-9]{1,4})?$`
	VLANs []intstr.IntOrString `json:"vlans,omitempty"`

	// MTU is the size in bytes of the largest IP packet that leaves.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=68
	// +kubebuilder:validation:Maximum=9216
	MTU int32 `json:"mtu,omitempty"`

	// Gateway is the next hop for packets whose destination is not on-link and
	// for which no route names another.
	// +optional
	Gateway Address `json:"gateway,omitempty"`

	// ReversePath drops packets whose source address cannot be behind this interface, judged by the
	// prefixes of the interfaces (RFC 3704). Strict drops sources in another interface's prefix; if
	// neither a gateway nor a route leads to this interface, it also drops sources outside of its
	// prefix. Loose drops sources that no interface leads to. Off drops none.
	// +optional
	// +kubebuilder:default=Strict
	ReversePath ReversePath `json:"reversePath,omitempty"`

	// Neighbors are static neighbours; all others are resolved by ARP.
	// +optional
	// +listType=map
	// +listMapKey=address
	// +listMapKey=vlan
	// +kubebuilder:validation:MaxItems=1024
	Neighbors []Neighbor `json:"neighbors,omitempty"`

	// MAC is the interface's Ethernet address; absent: the device's.
	// +optional
	MAC MACAddress `json:"mac,omitempty"`

	// Device is what the interface is bound to if no other field says so: a kernel interface, a PCI
	// address, or a DPDK device string.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Device string `json:"device,omitempty"`

	// NetworkRef is the NetworkAttachmentDefinition by which pods are attached.
	// +optional
	NetworkRef *NetworkRef `json:"networkRef,omitempty"`

	// ResourceName is the extended resource of a device plugin that grants an SR-IOV
	// virtual function ("intel.com/sriov_netdevice").
	// +optional
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	ResourceName string `json:"resourceName,omitempty"`

	// ResourceClaimTemplateName is the ResourceClaimTemplate by which the device is
	// claimed where devices are allocated dynamically (DRA).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ResourceClaimTemplateName string `json:"resourceClaimTemplateName,omitempty"`

	// Driver attaches the engine; absent: VFIO with a resource or claim, else AFPacket.
	// +optional
	// +kubebuilder:validation:Enum=VFIO;AFXDP;AFPacket
	Driver Driver `json:"driver,omitempty"`
}

// Driver is the way in which the engine attaches to an interface.
type Driver string

// Drivers.
const (
	// DriverVFIO polls a PCI device that is bound to vfio-pci.
	DriverVFIO Driver = "VFIO"
	// DriverAFXDP takes the packets of a kernel interface by AF_XDP.
	DriverAFXDP Driver = "AFXDP"
	// DriverAFPacket takes the packets of a kernel interface by AF_PACKET.
	DriverAFPacket Driver = "AFPacket"
	// DriverMemif shares memory with a container of the pod. A blackbox says it, and no interface.
	DriverMemif Driver = "Memif"
)

// NetworkRef refers to a NetworkAttachmentDefinition.
type NetworkRef struct {
	// Name of the NetworkAttachmentDefinition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// Namespace of the NetworkAttachmentDefinition; absent: the chain's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
}

// Neighbor is a static neighbour.
type Neighbor struct {
	// Address of the neighbour, within the interface's prefix.
	// +required
	Address Address `json:"address,omitempty"`

	// MAC is the neighbour's Ethernet address.
	// +required
	MAC MACAddress `json:"mac,omitempty"`

	// VLAN of the interface in which the neighbour is; 0: none, frames are untagged.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	VLAN int32 `json:"vlan,omitempty"`
}

// Function is a network function of the chain: written here, or by reference.
// +kubebuilder:validation:XValidation:rule="[has(self.firewall), has(self.router), has(self.napt), has(self.monitor), has(self.rateLimiter), has(self.connectionLimiter), has(self.loadBalancer), has(self.inspect), has(self.blackbox), has(self.elements), has(self.click), has(self.functionRef)].filter(x, x).size() == 1",message="set exactly one of firewall, router, napt, monitor, rateLimiter, connectionLimiter, loadBalancer, inspect, blackbox, elements, click, functionRef"
type Function struct {
	// Name of the function, unique among interfaces and functions.
	// +required
	Name Name `json:"name,omitempty"`

	FunctionKinds `json:",inline"`

	// FunctionRef takes the function from a NetworkFunction of the same namespace
	// (or among the same files).
	// +optional
	FunctionRef *FunctionRef `json:"functionRef,omitempty"`
}

// FunctionRef refers to a NetworkFunction.
type FunctionRef struct {
	// Name of the NetworkFunction.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// LinkDirection says which way packets go on a link.
// +kubebuilder:validation:Enum=Both;Forward
type LinkDirection string

// Directions of links.
const (
	LinkBoth    LinkDirection = "Both"
	LinkForward LinkDirection = "Forward"
)

// Link wires two ports. The links, seen from `from` to `to`, must not form a loop.
type Link struct {
	// From is an interface ("inside") or a function's port ("fw.outside").
	// +required
	From Endpoint `json:"from,omitempty"`

	// To is an interface or a function's port.
	// +required
	To Endpoint `json:"to,omitempty"`

	// Direction: Both wires both ways, Forward only what goes from `from` to `to`.
	// +optional
	// +kubebuilder:default=Both
	Direction LinkDirection `json:"direction,omitempty"`
}
